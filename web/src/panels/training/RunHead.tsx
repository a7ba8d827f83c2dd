/** Which run, its state, how far it is, and when it will be done. */
import type { Run } from "../../api/types.ts";
import { Num } from "../../drawing/Number.tsx";
import { counted } from "../../drawing/numbers.ts";
import { duration, lastStep, secondsLeft } from "./course.ts";
import type { Followed } from "./follow.ts";

const STATES: Record<Run["state"], string> = {
  training: "is training",
  finished: "has finished",
  stopped: "stands still",
};

export interface RunHeadProps {
  runs: Run[];
  run: Run;
  followed: Followed | null;
  onChoose: (name: string) => void;
}

export function RunHead({ runs, run, followed, onChoose }: RunHeadProps) {
  const state = followed?.state ?? run.state;
  const step = followed ? Math.max(run.step, lastStep(followed.course)) : run.step;
  const most = run.max_steps ?? step;
  const left = followed && state === "training" ? secondsLeft(followed.course, most) : null;
  return (
    <div class="training-head">
      <label class="field">
        Run
        <select value={run.name} onChange={(event) => onChoose(event.currentTarget.value)}>
          {runs.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <div class="training-state" data-state={state}>
        <p>
          It <b>{STATES[state]}</b>: step <span data-value={step}>{counted(step)}</span> of{" "}
          {counted(most)}
          {left !== null && <>, about {duration(left)} to go at the pace of late</>}.
        </p>
        <progress value={step} max={Math.max(1, most)} aria-label="Steps done" />
      </div>
      {followed && <Latest followed={followed} />}
    </div>
  );
}

function Latest({ followed: { course } }: { followed: Followed }) {
  const trained = course.trained.at(-1);
  const validated = course.validated.at(-1);
  if (!trained) return null;
  return (
    <dl class="training-latest">
      <Entry name="training loss" value={Math.log(trained.perplexity)} />
      {validated && (
        <>
          <Entry name="dev loss" value={validated.loss} />
          <Entry name="dev perplexity" value={validated.perplexity} digits={2} />
          <Entry name="BLEU" value={validated.bleu} digits={1} />
          <Entry name="chrF" value={validated.chrf} digits={1} />
        </>
      )}
      {course.skipped.length > 0 && (
        <Entry name="steps skipped" value={course.skipped.length} digits={0} />
      )}
    </dl>
  );
}

function Entry({ name, value, digits = 3 }: { name: string; value: number; digits?: number }) {
  return (
    <div data-entry={name}>
      <dt>{name}</dt>
      <dd>
        <Num value={value} digits={digits} />
      </dd>
    </div>
  );
}
