/** The sheet: a row for each word that can be looked at, a column for each step. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Num } from "../../drawing/Number.tsx";
import { clampIndex } from "../../state/address.ts";
import {
  computeScores,
  DECIMALS,
  exponentialInDigits,
  exponentials,
  isBiased,
  type Numbers,
  reach,
  sumReach,
  WEIGHT_DECIMALS,
} from "./numbers.ts";
import { sheetPicture, sheetTable } from "./picture.ts";
import { Strip } from "./Strip.tsx";
import type { Stage } from "./stages.ts";

interface SheetProps {
  numbers: Numbers;
  /** The word that looks, and those it can look at. */
  query: string;
  keys: string[];
  /** The row that is worked out below. */
  chosen: number;
  dimension: number;
  /** Steps after this one are not shown yet; null: all are. */
  stage: Stage | null;
  onKey: (key: number) => void;
  /** A row is under the pointer; null: none. */
  onPoint: (key: number | null) => void;
  onDimension: (dimension: number) => void;
}

/** The table, which scrolls in its own box. */
export function Sheet(props: SheetProps) {
  const { numbers, stage } = props;
  const exps = exponentials(computeScores(numbers));
  const biased = isBiased(numbers);
  const body = useRef<HTMLTableSectionElement>(null);
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const column = box.current?.querySelector<HTMLElement>("th.steps-now");
    const names = box.current?.querySelector<HTMLElement>("tbody th");
    if (column && names && box.current) {
      box.current.scrollLeft = column.offsetLeft - names.offsetWidth;
    }
  }, [stage]);
  const keyReach = reach([numbers.q, ...numbers.k]);
  const scales = { keys: keyReach, values: reach(numbers.v), sum: sumReach(numbers) };
  const move = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = { ArrowUp: -1, ArrowDown: 1 };
    const by = steps[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const to = clampIndex(props.chosen + by, props.keys.length);
    props.onKey(to);
    body.current?.querySelectorAll<HTMLElement>("button")[to]?.focus();
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
    <section class="steps-scroll" ref={box} tabIndex={0} aria-label="The six steps as a table">
      <table class="steps-sheet">
        <Head numbers={numbers} stage={stage} biased={biased} shift={exps.shift} />
        <tbody ref={body} data-own-keys onKeyDown={move}>
          <tr class="steps-query">
            <th scope="row">q of {props.query}</th>
            <Cell at={1} stage={stage}>
              <Strip vector={numbers.q} reach={scales.keys} name={`q of ${props.query}`} />
            </Cell>
            <td colSpan={biased ? 8 : 7} class="muted">
              {numbers.q.length} numbers; blue below 0, brown above
            </td>
          </tr>
          {props.keys.map((_, key) => (
            <KeyRow
              key={key}
              {...props}
              at={key}
              exps={exps.each}
              biased={biased}
              scales={scales}
            />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Σ</th>
            <td colSpan={biased ? 5 : 4} />
            <Cell at={4} stage={stage}>
              <span class="num" data-value={exps.sum} data-sum>
                {exponentialInDigits(exps.sum)}
              </span>
            </Cell>
            <Cell at={4} stage={stage}>
              <Num value={numbers.weights.reduce((sum, one) => sum + one, 0)} digits={4} />
            </Cell>
            <Cell at={6} stage={stage}>
              <span class="steps-output-name">the head's output</span>
            </Cell>
            <Cell at={6} stage={stage}>
              <Strip
                vector={numbers.output}
                reach={scales.sum}
                name="the head's output"
                dimension={props.dimension}
                onPick={props.onDimension}
              />
            </Cell>
          </tr>
        </tfoot>
      </table>
    </section>
  );
}

interface HeadProps {
  numbers: Numbers;
  stage: Stage | null;
  biased: boolean;
  shift: number;
}

function Head({ numbers, stage, biased, shift }: HeadProps) {
  const columns: [Stage, string, string][] = [
    [1, "key", "k = x Wᴷ"],
    [1, "product", "q · k"],
    [2, "scaled", `÷ √${numbers.q.length}`],
    [3, biased ? "mask, bias" : "mask", biased ? "+ bias or −∞" : "+ 0 or −∞"],
    ...(biased ? ([[3, "score", "sum"]] as [Stage, string, string][]) : []),
    [4, "exponential", shift === 0 ? "eˢ" : "e⁽ˢ⁻ᵐᵃˣ⁾"],
    [4, "weight", "eˢ / Σ"],
    [5, "value", "v = x Wⱽ"],
    [5, "weighted", "weight × v"],
  ];
  return (
    <thead>
      <tr>
        <th scope="col">looks at</th>
        {columns.map(([at, name, formula]) => (
          <th
            key={name}
            scope="col"
            class={stage !== null && at > stage ? "steps-later" : at === stage ? "steps-now" : ""}
          >
            <span class="steps-badge">{at}</span> {name}
            <small>{formula}</small>
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface CellProps {
  at: Stage;
  stage: Stage | null;
  class?: string;
  children: ComponentChildren;
}

/** A cell of a step: empty before that step, marked while it is the one that is shown. */
function Cell({ at, stage, class: more = "", children }: CellProps) {
  const state = stage === null || at < stage ? "" : at === stage ? "steps-now" : "steps-later";
  return <td class={`${state} ${more}`}>{children}</td>;
}

interface KeyRowProps extends SheetProps {
  at: number;
  exps: number[];
  biased: boolean;
  scales: { keys: number; values: number; sum: number };
}

function KeyRow(props: KeyRowProps) {
  const { numbers, at, stage, scales, dimension, onDimension } = props;
  const name = props.keys[at] ?? "";
  const weight = numbers.weights[at] ?? 0;
  const mask = numbers.mask[at] ?? 0;
  const score = (numbers.scaled[at] ?? 0) + mask;
  const value = numbers.v[at] ?? new Float32Array();
  const pick = { dimension, onPick: onDimension };
  return (
    <tr
      data-chosen={at === props.chosen}
      data-key={at}
      data-masked={mask === -Infinity}
      onPointerEnter={() => props.onPoint(at)}
      onPointerLeave={() => props.onPoint(null)}
    >
      <th scope="row">
        <button
          type="button"
          aria-pressed={at === props.chosen}
          tabIndex={at === props.chosen ? 0 : -1}
          onClick={() => props.onKey(at)}
        >
          {name}
        </button>
      </th>
      <Cell at={1} stage={stage}>
        <Strip vector={numbers.k[at] ?? []} reach={scales.keys} name={`k of ${name}`} />
      </Cell>
      <Cell at={1} stage={stage}>
        <Num value={numbers.raw[at] ?? 0} digits={DECIMALS} />
      </Cell>
      <Cell at={2} stage={stage}>
        <Num value={numbers.scaled[at] ?? 0} digits={DECIMALS} />
      </Cell>
      <Cell at={3} stage={stage} class={mask === -Infinity ? "steps-hatched" : ""}>
        <Num value={mask} digits={mask === 0 ? 0 : DECIMALS} />
      </Cell>
      {props.biased && (
        <Cell at={3} stage={stage}>
          <Num value={score} digits={DECIMALS} />
        </Cell>
      )}
      <Cell at={4} stage={stage}>
        <span class="num" data-value={props.exps[at] ?? 0}>
          {exponentialInDigits(props.exps[at] ?? 0)}
        </span>
      </Cell>
      <Cell at={4} stage={stage} class="steps-weight">
        <span class="steps-bar" style={{ width: `${100 * weight}%` }} />
        <Num value={weight} digits={WEIGHT_DECIMALS} />
      </Cell>
      <Cell at={5} stage={stage}>
        <Strip vector={value} reach={scales.values} name={`v of ${name}`} {...pick} />
      </Cell>
      <Cell at={5} stage={stage}>
        <Strip
          vector={value.map((one) => one * weight)}
          reach={scales.sum}
          name={`weight × v of ${name}`}
          {...pick}
        />
      </Cell>
    </tr>
  );
}

/* The sheet as a figure that can be saved. */

/** The table with its title, caption and save menu. */
export function SheetFigure(props: SheetProps & { title: string }) {
  const { title, ...sheet } = props;
  return (
    <Figure
      name="attention-in-six-steps"
      title={title}
      caption={
        <>
          A row is a word that can be looked at; pick one to see it worked out. A cell of a strip is
          one of the vector's numbers: click one to follow that dimension.
        </>
      }
      picture={() => sheetPicture({ title, ...sheet }, palette())}
      table={() => sheetTable(sheet)}
    >
      <Sheet {...sheet} />
    </Figure>
  );
}
