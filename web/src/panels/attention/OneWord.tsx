/** One word across all heads: a strip of weights for each head of an attention. */
import { value } from "../../api/tensors.ts";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Matrix } from "../../drawing/Matrix.tsx";
import { printed } from "../../drawing/Number.tsx";
import { matrixPicture } from "../../drawing/svg.ts";
import { step } from "../../state/player.ts";
import { chooseHead } from "./HeadGrid.tsx";
import type { AllHeadsProps } from "./index.tsx";
import { query, rowInView, stretched } from "./inView.ts";
import { isMasked, labels } from "./tokens.ts";

/** The strips, the first layer first; a click enlarges the head. */
export function OneWord({ trace, sentences, layers, chosen }: AllHeadsProps) {
  const { side } = sentences;
  const { heads } = trace.model;
  const word = rowInView(query.value, step.value, sentences);
  const name = labels(sentences.queries)[word] ?? "";
  const keys = labels(sentences.keys);
  const headAt = (row: number) => ({ side, layer: Math.floor(row / heads), head: row % heads });
  const rows = Array.from({ length: layers.length * heads }, (_, row) => {
    const { layer, head } = headAt(row);
    return `${layer + 1}.${head + 1}`;
  });
  const weight = (row: number, key: number): number => {
    const { layer, head } = headAt(row);
    const weights = layers[layer];
    return weights ? value(weights, head, word, key) : 0;
  };
  const all = rows.map((_, row) => keys.map((__, key) => weight(row, key)));
  const title = `“${name}” in all heads`;
  const drawn = {
    rows,
    columns: keys,
    range: [0, stretched.value ? Math.max(...all.flat()) : 1] as const,
    masked: (_: number, key: number) => isMasked(side, word, key),
  };
  return (
    <Figure
      name={`${side}-one-word`}
      title={title}
      caption="Where each head looks from the word in view. 2.1 is head 1 of layer 2; select one to enlarge it."
      picture={() => matrixPicture({ ...drawn, title, values: weight, colours: palette() })}
      table={() => ({
        columns: ["layer", "head", ...keys],
        rows: all.map((weights, row) => {
          const { layer, head } = headAt(row);
          return [layer + 1, head + 1, ...weights];
        }),
      })}
    >
      <Matrix
        {...drawn}
        label={title}
        value={weight}
        selected={{ row: chosen.layer * heads + chosen.head }}
        onSelect={(row) => chooseHead(headAt(row))}
        describe={(row, key) =>
          `${rows[row]}: “${name}” → “${keys[key]}”: ${printed(weight(row, key), 4)}`
        }
      />
    </Figure>
  );
}
