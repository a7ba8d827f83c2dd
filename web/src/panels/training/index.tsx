/** Train live: the course of a run, its samples, and how attention came to be. */
import type { Run } from "../../api/types.ts";
import { PanelProblem } from "../../frame/PanelFrame.tsx";
import { address } from "../../state/store.ts";
import { Charts } from "./Charts.tsx";
import { FilmStrip } from "./FilmStrip.tsx";
import { keep } from "./keep.ts";
import { NoRun } from "./NoRun.tsx";
import { RunHead } from "./RunHead.tsx";
import { Samples } from "./Samples.tsx";
import "./training.css";
import { useCourse, useRuns } from "./useRun.ts";

export default function TrainingPanel() {
  const { runs, problem } = useRuns();
  return (
    <section class="panel" aria-labelledby="panel-title" aria-busy={runs === null}>
      <h2 id="panel-title">Train live</h2>
      <p class="panel-lead">
        A network learns from pairs of sentences by predicting each next token (section 5). Here is
        the course of a run while it trains or afterwards, what it made of the same sentences on the
        way, and how one head found where to look.
      </p>
      {problem && <PanelProblem problem={problem} />}
      {runs?.length === 0 && <NoRun />}
      {runs && runs.length > 0 && <OneRun runs={runs} />}
    </section>
  );
}

function OneRun({ runs }: { runs: Run[] }) {
  const chosen = runs.find(({ name }) => name === address.value.extra.run) ?? (runs[0] as Run);
  const { followed, problem } = useCourse(chosen.name);
  const choose = (name: string) => keep({ run: name, at: "", sample: "", frame: "" });
  return (
    <>
      <RunHead runs={runs} run={chosen} followed={followed} onChoose={choose} />
      {problem && <PanelProblem problem={problem} />}
      {followed ? (
        <>
          <Charts course={followed.course} />
          <Samples course={followed.course} />
        </>
      ) : (
        <p class="panel-waiting">Reading the course of the run …</p>
      )}
      <FilmStrip key={chosen.name} run={chosen} />
    </>
  );
}
