/** The numbers of the step in words: the softmax of the written token, and how sure it all was. */

import { counted, Fraction, Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import {
  type Cuts,
  isChanged,
  type Row,
  rowAt,
  type Spread,
  type Sureness,
  sureness,
} from "./rows.ts";
import { Small } from "./Softmax.tsx";
import type { PieceOf, StepView } from "./view.ts";

interface Props {
  view: StepView;
  cuts: Cuts;
  now: Spread;
  pieceOf: PieceOf;
}

/** The softmax of the written token with its numbers put in. */
export function WrittenOut({ view, cuts, now, pieceOf }: Props) {
  const row = rowAt(view, now, pieceOf, view.written);
  const best = view.order.logits[0] as number;
  return (
    <p class="output-equation">
      P(<b>{plain(row.piece)}</b>) ={" "}
      {cuts.temperature === 0 ? (
        <Greedy row={row} />
      ) : (
        <>
          <Fraction
            above={
              <>
                e
                <sup>
                  <Exponent logit={row.logit} best={best} temperature={cuts.temperature} />
                </sup>
              </>
            }
            below={<>Σ of all {counted(now.exps.length)}</>}
          />{" "}
          ={" "}
          <Fraction
            above={<Small value={row.exp} />}
            below={<Num value={now.total} digits={4} />}
          />{" "}
          = <Small value={row.probability} />
        </>
      )}
      {now.kept < now.shares.length && <AfterCuts row={row} now={now} />}
    </p>
  );
}

function Exponent(props: { logit: number; best: number; temperature: number }) {
  const { logit, best, temperature } = props;
  const difference = (
    <>
      <Num value={logit} digits={2} /> − {best < 0 && "("}
      <Num value={best} digits={2} />
      {best < 0 && ")"}
    </>
  );
  return temperature === 1 ? (
    difference
  ) : (
    <>
      ({difference}) ÷ {temperature}
    </>
  );
}

function Greedy({ row }: { row: Row }) {
  return (
    <>
      <Num value={row.probability} digits={0} />, as{" "}
      {row.place === 0 ? "no logit is higher" : "another logit is higher"}
    </>
  );
}

function AfterCuts({ row, now }: { row: Row; now: Spread }) {
  if (!row.kept) return <>, which the cuts take away</>;
  return (
    <>
      {" "}
      → after the cuts{" "}
      <Fraction
        above={<Small value={row.probability} />}
        below={<Num value={now.keptProbability} digits={4} />}
      />{" "}
      = <Small value={row.share} />
    </>
  );
}

/** Entropy, perplexity and rank, of the network and of what is drawn from. */
export function HowSure({ view, cuts, now }: Omit<Props, "pieceOf">) {
  const own = sureness(view.plain.shares);
  const changed = isChanged(cuts) ? sureness(now.shares) : null;
  const probability = view.plain.probabilities[view.written] as number;
  return (
    <dl class="output-sure">
      <div>
        <dt>Rank of the written token</dt>
        <dd>
          <span data-number="rank">{view.written + 1}</span>{" "}
          <span class="output-hint">
            of {counted(view.order.ids.length)}, with <Small value={probability} />
          </span>
        </dd>
      </div>
      <div>
        <dt>Entropy</dt>
        <dd data-number="entropy">
          <Num value={own.nats} digits={3} /> <span class="output-hint">nats</span>
          <span class="output-hint">
            {" "}
            = <Num value={own.bits} digits={3} /> bits
          </span>
          {changed && <Now value={changed.nats} />}
        </dd>
      </div>
      <div>
        <dt>Perplexity</dt>
        <dd data-number="perplexity">
          <Num value={own.perplexity} digits={2} />{" "}
          <span class="output-hint">{asUnsureAs(own)}</span>
          {changed && <Now value={changed.perplexity} />}
        </dd>
      </div>
    </dl>
  );
}

function Now({ value }: { value: number }) {
  return (
    <span class="output-now">
      now <Num value={value} digits={3} />
    </span>
  );
}

function asUnsureAs({ perplexity }: Sureness): string {
  if (perplexity < 1.05) return "e^entropy: all but certain";
  const count = perplexity < 10 ? perplexity.toFixed(1) : Math.round(perplexity);
  return `e^entropy: as unsure as between ${count} equally likely tokens`;
}
