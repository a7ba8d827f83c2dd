import { saved } from "../../api/saved.ts";
import { NeedsServer } from "../../frame/Saved.tsx";

/** What to do when the server shows no run: two commands. */
export function NoRun() {
  if (saved) return <NeedsServer what="show how the network learned: it was saved without a run" />;
  return (
    <div class="training-none">
      <p>
        This server shows no training run. Start one, and give its folder to the server; it may be
        watched while it trains:
      </p>
      <pre>
        <code>{"translucid train DATA -o RUN\ntranslucid serve -m RUN/best --run RUN"}</code>
      </pre>
      <p class="muted">
        <code>DATA</code> is what <code>translucid prepare</code> has made of your sentence pairs;{" "}
        <code>RUN/best</code> is there from the first validation on. Without data,{" "}
        <code>translucid demo</code> trains on a built-in lesson in a few minutes; its run is{" "}
        <code>translucid-demo/run</code>.
      </p>
    </div>
  );
}
