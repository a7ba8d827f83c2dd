/** The sum that makes a logit, drawn: state, output row, products. */

import { Figure } from "../../drawing/Figure.tsx";
import { Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import { useTensor } from "../../state/useTensor.ts";
import { barsPath, isTied, type Product, productAt } from "./logit.ts";
import { logitPicture } from "./pictures.ts";
import type { StepView } from "./view.ts";

/** The figure; nothing where the trace does not hold the token's row. */
export function LogitSum({ view }: { view: StepView }) {
  const { trace, at, step } = view;
  const tied = isTied(trace.model);
  const states = useTensor(trace, tied ? "decoder.states" : null);
  const embedding = useTensor(trace, tied ? "target.embedding" : null);
  const found = states && embedding && productAt(states, embedding, at);
  if (!found) return null;
  const piece = plain(step.token.piece);
  return (
    <Figure
      name="logit"
      title={`Where the logit of “${piece}” comes from`}
      caption={<Caption found={found} piece={piece} />}
      picture={() => logitPicture(found, piece)}
      table={() => ({
        columns: ["dimension", "h", "w", "h * w"],
        rows: Array.from(found.state, (h, index) => [
          index,
          h,
          found.row[index] as number,
          found.products[index] as number,
        ]),
      })}
    >
      <div class="output-logit">
        {rowsOf(found).map((row) => (
          <BarRow key={row.name} {...row} />
        ))}
      </div>
    </Figure>
  );
}

function Caption({ found, piece }: { found: Product; piece: string }) {
  const size = found.state.length;
  return (
    <>
      The decoder's state h times the row w of this token in the output matrix, {size} products.
      They add up to the logit <Num value={found.logit} digits={2} />. This model uses one matrix
      for embedding and output (section 3.4), so w is the embedding of “{piece}” without its factor
      √{size}.
    </>
  );
}

function BarRow({ name, numbers }: { name: string; numbers: Float64Array }) {
  return (
    <div class="output-logit-row">
      <span>{name}</span>
      <svg viewBox={`0 0 ${numbers.length} 40`} preserveAspectRatio="none" aria-hidden="true">
        <path class="output-above" d={barsPath(numbers, 20, 19, 1)} />
        <path class="output-below" d={barsPath(numbers, 20, 19, -1)} />
      </svg>
    </div>
  );
}

function rowsOf({ state, row, products }: Product): { name: string; numbers: Float64Array }[] {
  return [
    { name: "h", numbers: state },
    { name: "w", numbers: row },
    { name: "h · w", numbers: products },
  ];
}
