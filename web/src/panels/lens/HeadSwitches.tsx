/** Heads switched off: what becomes of the translation, and which head matters most. */

import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, isAbort } from "../../api/client.ts";
import type {
  HeadId,
  HeadMargins,
  ModelConfig,
  Side,
  Trace,
  TraceRequest,
} from "../../api/types.ts";
import { diverging, inkOn, palette } from "../../drawing/colours.ts";
import { moveCell } from "../../drawing/cursor.ts";
import { compareTexts } from "../../drawing/differences.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Marked, Num, printed } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import { tell } from "../../state/notices.ts";
import * as player from "../../state/player.ts";
import { baselineRequest, traceRequest } from "../../state/requests.ts";
import {
  address,
  baseline,
  go,
  link,
  models,
  retries,
  setExtra,
  trace as shown,
} from "../../state/store.ts";
import {
  countLayers,
  headName,
  headsOfLayer,
  includes,
  layerToggled,
  SIDES,
  toggled,
} from "./headList.ts";
import {
  askLogProb,
  byName,
  type Decision,
  type HeadLoss,
  largest,
  lossesOf,
  ranked,
  start,
  sweep,
  sweepKey,
} from "./headLosses.ts";
import { switchesPicture, switchesTable } from "./pictures.ts";

/** The switches, the comparison, and the sweep over all heads. */
export function HeadSwitches({ trace }: { trace: Trace }) {
  const before = useBefore(trace);
  const request = baselineRequest(traceRequest(address.value, models.value.value));
  if (!before || !request) return <p>The translation with all heads on is on its way …</p>;
  const off = address.value.without;
  const decision = decisionOf(before);
  const latest = sweep.value;
  const mine = decision && latest?.key === sweepKey(request, decision) ? latest : null;
  const losses = mine?.found ? lossesOf(mine.found) : [];
  const change = (without: HeadId[]) => go({ without });
  return (
    <>
      <Comparison
        before={before}
        after={trace}
        request={request}
        waiting={shown.value.state === "loading"}
      />
      {address.value.prefix.length > 0 && <Forced count={address.value.prefix.length} />}
      <Figure
        name="head-switches"
        title="Every head has a switch"
        controls={
          <button
            type="button"
            class="button"
            disabled={off.length === 0}
            onClick={() => change([])}
          >
            All on
          </button>
        }
        picture={() => switchesPicture(trace.model, off, losses, palette())}
        table={() => switchesTable(trace.model, off, losses)}
        caption={
          <>
            A head that is off gives zeros to W<sup>O</sup>, as if the rows of W<sup>O</sup> that
            read it were zero (section 3.2.2). Nothing else is changed. Rows are layers, columns
            heads.
          </>
        }
      >
        {decision && (
          <Question
            trace={before}
            decision={decision}
            request={request}
            running={mine !== null && mine.found === null}
          />
        )}
        {mine?.found && <SweepResult found={mine.found} losses={losses} />}
        <Switches config={trace.model} off={off} losses={losses} onChange={change} />
      </Figure>
    </>
  );
}

/**
 * The trace with all heads on. While the store fetches it, the last one of the same sentence
 * stands in: the switches must not go away under the reader's finger.
 */
function useBefore(trace: Trace): Trace | undefined {
  const last = useRef<Trace | undefined>(undefined);
  const plain = trace.without.length === 0 && trace.prefix_length === 0 ? trace : undefined;
  const now = baseline.value.value ?? plain;
  if (now) last.current = now;
  return last.current?.source === trace.source ? last.current : undefined;
}

function Forced({ count }: { count: number }) {
  return (
    <p class="lens-note">
      {count === 1 ? "One token is" : `${count} tokens are`} forced in the translation without these
      heads, and none in the one above it.{" "}
      <button type="button" class="button" onClick={() => go({ prefix: [] })}>
        Release them
      </button>
    </p>
  );
}

/** Which decision the heads are tried on: the present step, and a token that might have come. */
function Question(props: {
  trace: Trace;
  decision: Decision;
  request: TraceRequest;
  running: boolean;
}) {
  const { trace, decision, request, running } = props;
  const [first, second] = decision.tokens;
  const written = trace.steps[decision.step];
  if (!written) return null;
  return (
    <p class="lens-question">
      Step {decision.step + 1} writes “{plain(written.token.piece)}”, not{" "}
      <select
        aria-label="The token that might have come"
        value={String(second)}
        onChange={(event) => setExtra({ rival: event.currentTarget.value })}
      >
        {written.top
          .filter(({ id }) => id !== first)
          .map(({ id, piece }) => (
            <option key={id} value={String(id)}>
              {plain(piece)}
            </option>
          ))}
      </select>
      .{" "}
      <button
        type="button"
        class="button"
        aria-busy={running}
        disabled={running}
        onClick={() => start(request, decision)}
      >
        Which head matters most?
      </button>
    </p>
  );
}

/** The decision of the present step against the likeliest other token, or the one that was chosen. */
function decisionOf(trace: Trace): Decision | null {
  const at = Math.min(player.step.value, trace.steps.length - 1);
  const step = trace.steps[at];
  const others = step?.top.filter(({ id }) => id !== step.token.id) ?? [];
  const chosen = others.find(({ id }) => String(id) === address.value.extra.rival) ?? others[0];
  return step && chosen ? { step: at, tokens: [step.token.id, chosen.id] } : null;
}

function SweepResult({ found, losses }: { found: HeadMargins; losses: HeadLoss[] }) {
  const [first] = ranked(losses);
  const [one, other] = found.pieces.map(plain);
  const flips = losses.filter((loss) => loss.flips);
  return (
    <div class="lens-sweep">
      {first && (
        <p>
          Each head switched off alone. <b data-first>{headName(first.head)}</b> matters most:
          without it, the logit of “{one}” minus that of “{other}” falls from{" "}
          <Num value={found.margin} /> to <Num value={first.margin} />.{" "}
          <span data-flips={String(flips.length)}>
            {flips.length === 0
              ? `No single head turns the decision to “${other}”.`
              : `It turns to “${other}” without ${flips.map(({ head }) => headName(head)).join(", ")}.`}
          </span>
        </p>
      )}
      <p class="lens-note">
        The numbers below are the losses of this margin; below zero, the head stands in the way.
        They say what the sentence needs, not what makes the difference from another one: see{" "}
        <a href={link({ panel: "pair" })}>Who decides?</a>
      </p>
    </div>
  );
}

/* A switch for every head of the three attentions, in a grid for each of them. */

interface SwitchesProps {
  config: ModelConfig;
  off: HeadId[];
  /** What was measured of the heads; empty before. */
  losses: HeadLoss[];
  onChange: (off: HeadId[]) => void;
}

/** Three grids, one row per layer; Tab goes from grid to grid, arrow keys move inside. */
function Switches(props: SwitchesProps) {
  return (
    <div class="lens-switches">
      {SIDES.map(({ side, title }) => (
        <SideSwitches key={side} side={side} title={title} {...props} />
      ))}
    </div>
  );
}

function SideSwitches(props: SwitchesProps & { side: Side; title: string }) {
  const { config, side, off, onChange } = props;
  const box = useRef<HTMLTableElement>(null);
  const layers = countLayers(config, side);
  const press = (event: KeyboardEvent): void => {
    const focused = (event.target as HTMLElement).closest("td");
    const row = (focused?.parentElement as HTMLTableRowElement | null)?.rowIndex;
    if (!focused || row === undefined) return;
    const from = { row: row - 1, column: focused.cellIndex - 1 };
    const to = moveCell(event.key, from, layers, config.heads + 1);
    if (!to) return;
    event.preventDefault();
    box.current?.rows[to.row + 1]?.cells[to.column + 1]?.querySelector("button")?.focus();
  };
  return (
    <section class="lens-side">
      <h4>{props.title}</h4>
      <table ref={box} aria-label={props.title} data-own-keys onKeyDown={press}>
        <thead>
          <tr>
            <th scope="col">layer</th>
            {headsOfLayer(config, side, 0).map(({ head }) => (
              <th key={head} scope="col">
                <span class="visually-hidden">head </span>
                {head + 1}
              </th>
            ))}
            <th scope="col">
              <span class="visually-hidden">whole layer</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: layers }, (_, layer) => (
            <tr key={layer}>
              <th scope="row">{layer + 1}</th>
              {headsOfLayer(config, side, layer).map((head) => (
                <td key={head.head}>
                  <Switch {...props} head={head} first={layer === 0 && head.head === 0} />
                </td>
              ))}
              <td>
                <button
                  type="button"
                  class="lens-layer"
                  tabIndex={-1}
                  aria-label={`all of ${side} layer ${layer + 1}`}
                  aria-pressed={headsOfLayer(config, side, layer).every(
                    (one) => !includes(off, one),
                  )}
                  onClick={() => onChange(layerToggled(off, side, layer, config))}
                >
                  all
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Switch(props: SwitchesProps & { head: HeadId; first: boolean }) {
  const { head, off, losses, config } = props;
  const isOn = !includes(off, head);
  const measured = byName(losses).get(headName(head));
  const colour = measured && diverging(measured.loss / largest(losses));
  const told = measured
    ? `, margin loses ${printed(measured.loss, 2)} without it${measured.flips ? ", and flips" : ""}`
    : "";
  return (
    <button
      type="button"
      class={measured?.flips ? "lens-switch lens-flips" : "lens-switch"}
      tabIndex={props.first ? 0 : -1}
      aria-pressed={isOn}
      aria-label={`${headName(head)}${told}`}
      title={`${headName(head)}, ${isOn ? "on" : "off"}${told}`}
      data-head={headName(head)}
      style={colour && isOn ? { backgroundColor: colour, color: inkOn(colour) } : {}}
      onClick={() => props.onChange(toggled(off, head, config))}
    >
      <span aria-hidden="true">{isOn ? "on" : "off"}</span>
      {measured && <Num value={measured.loss} digits={2} />}
    </button>
  );
}

/* The translation with all heads and with some off, side by side. */

export interface ComparisonProps {
  before: Trace;
  after: Trace;
  /** The request of `before`. */
  request: TraceRequest;
  /** Whether another translation is on its way. */
  waiting: boolean;
}

/**
 * What differs is marked; log P of each translation, and of the first one without the heads.
 *
 * Both rows are there from the beginning: the switches below must not move under the finger.
 */
export function Comparison({ before, after, request, waiting }: ComparisonProps) {
  const { before: left, after: right } = compareTexts(before.translation, after.translation);
  const off = after.without;
  const again = useGivenLogProb(request, before.translation, off);
  return (
    <dl class="lens-compare" aria-busy={waiting}>
      <div data-row="before">
        <dt>all heads on</dt>
        <dd>
          <Marked parts={left} mark="del" />
        </dd>
        <dd class="lens-number">
          log P <Num value={before.log_prob} />
          {off.length > 0 && (
            <span data-number="again">
              , without them {again === null ? "…" : <Num value={again} />}
            </span>
          )}
        </dd>
      </div>
      <div data-row="after">
        <dt>{off.length === 0 ? "no head is off" : `without ${named(off)}`}</dt>
        <dd>
          {off.length === 0 ? (
            <span class="muted">Switch a head off to see what changes.</span>
          ) : (
            <Marked parts={right} mark="ins" />
          )}
        </dd>
        <dd class="lens-number">
          {off.length > 0 && (
            <>
              log P <Num value={after.log_prob} />
            </>
          )}
        </dd>
      </div>
    </dl>
  );
}

function named(off: HeadId[]): string {
  return off.length <= 2 ? off.map(headName).join(", ") : `${off.length} heads`;
}

/** log P of a given translation with heads off; null until it is here. */
function useGivenLogProb(request: TraceRequest, translation: string, off: HeadId[]): number | null {
  const [found, keep] = useState<{ key: string; value: number } | null>(null);
  const { model, target, text } = request;
  const key = JSON.stringify([model, target, text, translation, off.map(headName)]);
  useEffect(() => {
    if (off.length === 0 || translation.trim() === "") return;
    const mine = new AbortController();
    askLogProb(request, translation, off, mine.signal).then(
      (value) => keep({ key, value }),
      (error) => isAbort(error) || tell(asProblem(error), { again: true }),
    );
    return () => mine.abort();
  }, [key, retries.value]);
  return found?.key === key ? found.value : null;
}
