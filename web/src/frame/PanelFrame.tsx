/** What every panel stands in: title, a sentence that says what one sees, and the waiting states. */
import type { ComponentChildren } from "preact";
import type { Problem } from "../api/client.ts";
import type { Trace } from "../api/types.ts";
import { address, go, model, newText, retry, trace } from "../state/store.ts";
import { examplesFor } from "../translate/examples.ts";

/** What PanelFrame needs. */
interface PanelFrameProps {
  title: string;
  /** A short sentence that says what one sees, in the paper's terms. */
  lead: ComponentChildren;
  /** What stands above the panel whatever becomes of the trace. */
  above?: ComponentChildren;
  /** Drawn once a trace is here; the last one stays while the next loads. */
  children: (trace: Trace) => ComponentChildren;
}

/** The frame: it waits, tells what is wrong, or draws the panel. */
export function PanelFrame({ title, lead, above, children }: PanelFrameProps) {
  const now = trace.value;
  // What is still drawn is that of another sentence.
  const stale = now.state !== "ready" && now.value !== undefined;
  return (
    <section class="panel" aria-labelledby="panel-title" aria-busy={now.state === "loading"}>
      <PanelHead title={title} lead={lead} />
      {above}
      <TraceProblem />
      {now.value ? (
        <div class={stale ? "panel-body panel-stale" : "panel-body"}>{children(now.value)}</div>
      ) : (
        <Waiting loading={now.state === "loading"} failed={now.state === "failed"} />
      )}
    </section>
  );
}

/** The heading and its sentence. A panel that the reader goes to takes the focus to its heading. */
export function PanelHead({ title, lead }: Pick<PanelFrameProps, "title" | "lead">) {
  return (
    <div class="panel-head">
      <h2 id="panel-title" tabIndex={-1}>
        {title}
      </h2>
      <p class="panel-lead">{lead}</p>
    </div>
  );
}

/** What needs a tensor; a light trace, or a saved page, may lack it, and then this says so. */
export function Needs(props: { trace: Trace; tensor: string; children: ComponentChildren }) {
  if (props.tensor in props.trace.tensors) return <>{props.children}</>;
  return (
    <p class="saved-missing">
      These numbers are not in this trace: it is a light one, or they were left out to keep its file
      small. Start <code>translucid serve</code> to see them.
    </p>
  );
}

/** Why the sentence has no trace; nothing where it has one. */
export function TraceProblem() {
  const { state, problem } = trace.value;
  return state === "failed" && problem ? <PanelProblem problem={problem} /> : null;
}

/** What the server refused, and a button that asks it again. */
export function PanelProblem({ problem }: { problem: Problem }) {
  return (
    <div class="panel-problem" role="alert">
      <p>
        <strong>{problem.title}.</strong> {problem.detail}
      </p>
      <button type="button" class="button" onClick={retry}>
        Try again
      </button>
    </div>
  );
}

function Waiting({ loading, failed }: { loading: boolean; failed: boolean }) {
  if (failed) return null;
  if (loading || (address.value.text.trim() !== "" && !model.value)) {
    return <p class="panel-waiting">Translating, and recording every number on the way …</p>;
  }
  const examples = examplesFor(model.value, address.value.target);
  return (
    <div class="panel-waiting">
      <p>Type a sentence above to see it pass through the network.</p>
      {examples.map((example) => (
        <button type="button" class="button" key={example} onClick={() => go(newText(example))}>
          {example}
        </button>
      ))}
    </div>
  );
}
