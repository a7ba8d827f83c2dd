/** The view that looks inside: panels at the side, the open one, the steps at the bottom. */
import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { saved } from "../api/saved.ts";
import type { Trace } from "../api/types.ts";
import { printed } from "../drawing/Number.tsx";
import { written } from "../drawing/pieces.ts";
import { TokenRow } from "../drawing/Tokens.tsx";
import { PANELS } from "../panels/index.ts";
import { headName } from "../panels/lens/headList.ts";
import * as player from "../state/player.ts";
import { address, baseline, go, highlight, link, trace } from "../state/store.ts";
import { reducedMotion } from "../state/theme.ts";
import { PANEL_DIGITS } from "./shortcuts.ts";

/** The view. */
export function Explore() {
  return (
    <>
      <div class="explore">
        <SideNav />
        <main id="content" tabIndex={-1}>
          <h1 class="visually-hidden">Look inside a translation</h1>
          <PanelHost />
        </main>
      </div>
      <div class="explore-foot">
        <Changes />
        <Timeline />
      </div>
    </>
  );
}

/* The panel that is open. One that breaks says so, and breaks nothing else. */

/** The open panel. */
function PanelHost() {
  const key = address.value.panel;
  const [tries, setTries] = useState(0);
  const Panel = PANELS.find((panel) => panel.key === key)?.Panel;
  // A panel that closes sees no pointer leave: what it has lit must not stay lit in the next one.
  useLayoutEffect(() => () => dimUnlessPointed(), [key]);
  return (
    <Boundary key={`${key} ${tries}`} again={() => setTries(tries + 1)}>
      {Panel && <Panel />}
    </Boundary>
  );
}

/** Take the highlight away, unless it is that of the steps at the foot of the page. */
function dimUnlessPointed(): void {
  if (!document.querySelector(".timeline button:is(:hover, :focus)")) highlight.value = null;
}

function Broken({ words, again }: { words: string; again: () => void }) {
  return (
    <div class="panel-problem" role="alert">
      <p>
        <strong>This panel could not be drawn.</strong> {words}
      </p>
      <button type="button" class="button" onClick={again}>
        Try again
      </button>
    </div>
  );
}

class Boundary extends Component<
  { children: ComponentChildren; again: () => void },
  { words: string | null }
> {
  override state = { words: null };

  static override getDerivedStateFromError(error: unknown) {
    return { words: error instanceof Error ? error.message : String(error) };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override render() {
    const { words } = this.state;
    return words === null ? this.props.children : <Broken words={words} again={this.props.again} />;
  }
}

/* The panels. On a wide screen a column; on a narrow one a row that scrolls. */

/** The list of panels. */
function SideNav() {
  const list = useRef<HTMLUListElement>(null);
  const { panel } = address.value;
  useEffect(() => {
    const row = list.current;
    const chosen = row?.querySelector<HTMLElement>("[aria-current]");
    if (!row || !chosen || row.scrollWidth <= row.clientWidth) return;
    const left = chosen.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2;
    row.scrollTo({ left, behavior: reducedMotion.peek() ? "auto" : "smooth" });
  }, [panel]);
  return (
    <nav class="panels" aria-label="Panels">
      <ul ref={list}>
        {PANELS.map((entry, index) => (
          <li key={entry.key}>
            <a
              href={link({ panel: entry.key })}
              aria-current={entry.key === panel ? "page" : undefined}
            >
              <span class="panels-number" aria-hidden="true">
                {PANEL_DIGITS[index]}
              </span>
              <span class="panels-title">{entry.title}</span>
              <span class="panels-short">{entry.short}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/* What the reader has changed in the network or in its output, and what that did. */

/**
 * Nothing is shown while nothing is changed. It stands at the foot of the window, where it does not
 * push away what the reader has just pressed.
 */
function Changes() {
  const { prefix, without } = address.value;
  if (prefix.length === 0 && without.length === 0) return null;
  const now = trace.value.value;
  const before = saved ? undefined : baseline.value.value;
  const forced = forcedPieces(prefix, now);
  const same = now !== undefined && before?.translation === now.translation;
  return (
    <aside class="changes" aria-label="Changes">
      {prefix.length > 0 && (
        <p>
          <span>
            Forced beginning: <strong>{written(forced)}</strong>
          </span>
          {!saved && (
            <button
              type="button"
              class="quiet-button"
              onClick={() => go({ prefix: [], query: null })}
            >
              Undo
            </button>
          )}
        </p>
      )}
      {without.length > 0 && (
        <p>
          <span>
            Heads off: <strong>{without.map(headName).join(", ")}</strong>
          </span>
          {!saved && (
            <button type="button" class="quiet-button" onClick={() => go({ without: [] })}>
              All on
            </button>
          )}
        </p>
      )}
      {before && (
        <p class="muted">
          {same
            ? "The translation is the same as without this."
            : `Without this: ${before.translation}`}
        </p>
      )}
    </aside>
  );
}

/** The pieces of a forced beginning; a trace that is still of another one may not know them all. */
export function forcedPieces(
  prefix: number[],
  now: Pick<Trace, "steps" | "pieces"> | undefined,
): string[] {
  return prefix.map((id, at) => {
    const token = now?.steps[at]?.token;
    return (token?.id === id ? token.piece : now?.pieces[id]) ?? ` ${id}`;
  });
}

/* The steps of decoding: what was written at each, and how to move through them. */

const SPEEDS = [0.5, 1, 1.5, 3, 6];

/** The bar at the bottom, once there is a trace. */
function Timeline() {
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
        <span class="visually-hidden">Steps per second</span>
        <select
          title="Steps per second"
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
