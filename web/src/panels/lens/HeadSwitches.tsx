/** Heads switched off: what becomes of the translation, and which head matters most. */

import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, isAbort } from "../../api/client.ts";
import type { HeadId, ModelConfig, Side, Trace, TraceRequest } from "../../api/types.ts";
import { diverging, inkOn, palette } from "../../drawing/colours.ts";
import { moveCell } from "../../drawing/cursor.ts";
import { compareTexts } from "../../drawing/differences.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Marked, Num, printed } from "../../drawing/Number.tsx";
import { tell } from "../../state/notices.ts";
import { baselineRequest, traceRequest } from "../../state/requests.ts";
import { address, baseline, go, models, retries, trace as shown } from "../../state/store.ts";
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
  askWith,
  byName,
  type HeadLoss,
  largest,
  type Measuring,
  ranked,
  start,
  stop,
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
  const latest = sweep.value;
  const mine = latest?.key === sweepKey(request, before.translation) ? latest : null;
  const losses = mine?.measured.losses ?? [];
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
          <>
            <button
              type="button"
              class="button"
              disabled={off.length === 0}
              onClick={() => change([])}
            >
              All on
            </button>
            <SweepButton request={request} trace={before} running={mine?.running ?? false} />
          </>
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
        {mine && <SweepResult measured={mine.measured} running={mine.running} />}
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

function SweepButton(props: { request: TraceRequest; trace: Trace; running: boolean }) {
  if (props.running) {
    return (
      <button type="button" class="button" onClick={stop}>
        Stop
      </button>
    );
  }
  const { request, trace } = props;
  return (
    <button
      type="button"
      class="button"
      disabled={trace.translation.trim() === ""}
      onClick={() => start(request, trace.translation, trace.model)}
    >
      Which head matters most?
    </button>
  );
}

function SweepResult({ measured, running }: { measured: Measuring; running: boolean }) {
  const { losses, total, whole, translation } = measured;
  const [first] = ranked(losses);
  return (
    <div class="lens-sweep">
      {running && (
        <progress value={losses.length} max={total} aria-label="Heads tried">
          {losses.length} of {total}
        </progress>
      )}
      <p>
        {losses.length} of {total} heads tried, each switched off alone.{" "}
        {first && whole !== null && (
          <>
            {running ? "So far " : ""}
            <b data-first>{headName(first.head)}</b> matters most: without it, log P of “
            {translation}” falls from <Num value={whole} /> to <Num value={first.logProb} />, by{" "}
            <Num value={first.loss} digits={2} /> nats.
          </>
        )}
      </p>
      <p class="lens-note">
        The numbers below are such losses, all of this same translation. Below zero: without the
        head it would be likelier.
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
                {head}
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
              <th scope="row">{layer}</th>
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
                  aria-label={`all of ${side} layer ${layer}`}
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
  const told = measured ? `, loses ${printed(measured.loss, 2)} nats without it` : "";
  return (
    <button
      type="button"
      class="lens-switch"
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
 * All rows are there from the beginning: the switches below must not move under the finger.
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
      <div data-row="same">
        <dt>the first one, scored without them</dt>
        <dd>
          {off.length > 0 &&
            (right.every(({ same }) => same) && left.every(({ same }) => same)
              ? "The translation is the same."
              : "What the network without these heads gives to the full network’s translation.")}
        </dd>
        <dd class="lens-number">
          {off.length > 0 && <>log P {again === null ? "…" : <Num value={again} />}</>}
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
  const key = `${sweepKey(request, translation)} ${off.map(headName).join()}`;
  useEffect(() => {
    if (off.length === 0 || translation.trim() === "") return;
    const mine = new AbortController();
    askWith(
      request,
      translation,
      mine.signal,
    )(off).then(
      (value) => keep({ key, value }),
      (error) => isAbort(error) || tell(asProblem(error), { again: true }),
    );
    return () => mine.abort();
  }, [key, retries.value]);
  return found?.key === key ? found.value : null;
}
