/** All steps at a glance: how probable what was written was, and so where the model was unsure. */

import type { Step, Trace } from "../../api/types.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Num, printed } from "../../drawing/Number.tsx";
import { plain, spoken } from "../../drawing/pieces.ts";
import { jump } from "../../state/player.ts";
import { stripPicture } from "./pictures.ts";

interface Props {
  trace: Trace;
  at: number;
  /** Steps from the first on that were forced. */
  forced: number;
}

/** A bar a step; pressing one goes there. */
export function StepStrip({ trace, at, forced }: Props) {
  return (
    <Figure
      name="step-probabilities"
      title="Where was the model unsure?"
      caption={describeLeastSure(trace.steps)}
      picture={() => stripPicture(trace, at)}
      table={() => ({
        columns: ["step", "token", "id", "log P", "probability", "rank", "entropy in nats"],
        rows: trace.steps.map(({ token, log_prob, rank, entropy }, step) => [
          step + 1,
          token.piece,
          token.id,
          log_prob,
          Math.exp(log_prob),
          rank,
          entropy,
        ]),
      })}
    >
      <ol class="output-strip" aria-label="Probability of the token written at each step">
        {trace.steps.map((step, number) => (
          <li key={number}>
            <StepButton
              step={step}
              number={number}
              current={number === at}
              forced={number < forced}
            />
          </li>
        ))}
      </ol>
    </Figure>
  );
}

interface ButtonProps {
  step: Step;
  number: number;
  current: boolean;
  forced: boolean;
}

function StepButton({ step, number, current, forced }: ButtonProps) {
  const probability = Math.exp(step.log_prob);
  const rank = step.rank === 1 ? "" : `, rank ${step.rank}`;
  const note = `step ${number + 1}, probability ${printed(probability, 3)}${rank}`;
  return (
    <button
      type="button"
      class="output-strip-step"
      data-forced={forced || undefined}
      aria-current={current ? "step" : undefined}
      aria-label={`${spoken(step.token.piece)}, ${note}${forced ? ", forced" : ""}`}
      title={`${note}, entropy ${printed(step.entropy, 2)} nats`}
      onClick={() => jump(number)}
    >
      <span class="output-strip-track" aria-hidden="true">
        <span class="output-strip-bar" style={{ height: `${100 * probability}%` }} />
      </span>
      <span class="output-strip-number">
        <Num value={probability} digits={2} />
      </span>
      <span class="output-strip-piece">{plain(step.token.piece)}</span>
    </button>
  );
}

/** Say which step was the least sure. */
function describeLeastSure(steps: Step[]): string {
  const worst = steps.reduce(
    (least, step, at) => (step.log_prob < (steps[least] as Step).log_prob ? at : least),
    0,
  );
  const step = steps[worst];
  if (step === undefined) return "";
  const told = printed(Math.exp(step.log_prob), 3);
  const better =
    step.rank > 1
      ? ` ${step.rank - 1} more probable ${step.rank === 2 ? "one was" : "ones were"} passed over.`
      : "";
  const which = `Least sure: “${plain(step.token.piece)}” at step ${worst + 1}, with ${told}.`;
  return `Height: probability of what was written. ${which}${better}`;
}
