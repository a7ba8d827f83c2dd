/** The steps of decoding: what was written at each, and how to move through them. */
import { useEffect, useRef } from "preact/hooks";
import { printed } from "../drawing/numbers.ts";
import { TokenRow } from "../drawing/Tokens.tsx";
import * as player from "../state/player.ts";
import { trace } from "../state/store.ts";

const SPEEDS = [0.5, 1, 1.5, 3, 6];

/** The bar at the bottom, once there is a trace. */
export function Timeline() {
  const now = trace.value.value;
  const at = player.step.value;
  const count = player.steps.value;
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = row.current;
    const chip = box?.querySelector<HTMLElement>("[aria-current]");
    if (!box || !chip) return;
    const edge = chip.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    if (edge.left < frame.left + 30) box.scrollLeft += edge.left - frame.left - 60;
    if (edge.right > frame.right - 30) box.scrollLeft += edge.right - frame.right + 60;
  }, [at, now]);
  if (!now || count === 0) return null;
  return (
    <section class="timeline" aria-label="Steps of decoding">
      <Buttons at={at} count={count} />
      <div class="timeline-tokens" ref={row}>
        <TokenRow
          label="Tokens of the translation"
          tokens={now.steps.map((step) => step.token)}
          stream="target"
          first={1}
          current={at}
          pale={at + 1}
          note={(index) => note(now, index)}
          onPick={player.jump}
        />
      </div>
      <p class="timeline-count">
        <span class="timeline-word">step </span>
        <span class="num">{at + 1}</span> of <span class="num">{count}</span>
      </p>
    </section>
  );
}

function note(now: NonNullable<typeof trace.value.value>, index: number): string {
  const step = now.steps[index];
  if (!step) return "";
  const forced = index < now.prefix_length ? ", forced" : "";
  return `step ${index + 1}, probability ${printed(Math.exp(step.log_prob), 3)}${forced}`;
}

function Buttons({ at, count }: { at: number; count: number }) {
  const playing = player.playing.value;
  return (
    <div class="timeline-buttons">
      <Step name="First step" sign="M4 3v14M17 3L7 10l10 7z" off={at === 0} act={player.first} />
      <Step name="Back" sign="M14 3L4 10l10 7z" off={at === 0} act={player.back} />
      <Step
        name={playing ? "Pause" : "Play"}
        sign={playing ? "M5 3h4v14H5zM11 3h4v14h-4z" : "M5 3l12 7-12 7z"}
        act={player.toggle}
      />
      <Step name="Forward" sign="M6 3l10 7-10 7z" off={at >= count - 1} act={player.forward} />
      <Step
        name="Last step"
        sign="M16 3v14M3 3l10 7-10 7z"
        off={at >= count - 1}
        act={player.last}
      />
      <label class="timeline-speed">
        <span class="visually-hidden">Steps a second</span>
        <select
          title="Steps a second"
          value={String(player.speed.value)}
          onChange={(event) => {
            player.speed.value = Number(event.currentTarget.value);
          }}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={String(speed)}>
              {speed}/s
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Step(props: { name: string; sign: string; off?: boolean; act: () => void }) {
  return (
    <button
      type="button"
      class="quiet-button icon-button"
      aria-label={props.name}
      title={props.name}
      aria-disabled={props.off}
      onClick={props.act}
    >
      <svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true">
        <path d={props.sign} fill="currentColor" stroke="currentColor" stroke-width="1.5" />
      </svg>
    </button>
  );
}
