/** How alike the encodings of any two positions are. */

import { useMemo } from "preact/hooks";
import { value } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Matrix } from "../../drawing/Matrix.tsx";
import { printed } from "../../drawing/Number.tsx";
import { matrixPicture } from "../../drawing/svg.ts";
import { useTensor } from "../../state/useTensor.ts";
import { dotProducts, type Stream } from "./positions.ts";

const MANY = 24; // positions that are too many to point at each pair

/** Dot products of the position vectors, a row and one column per position. */
export function SimilarityFigure({ trace, stream }: { trace: Trace; stream: Stream }) {
  const positions = useTensor(trace, `${stream}.positions`);
  const table = useMemo(() => (positions ? dotProducts(positions) : undefined), [positions]);
  if (!table) return null;
  const count = table.shape[0] ?? 0;
  const names = Array.from({ length: count }, (_, at) => `${at + 1}`);
  const at = (row: number, column: number): number => value(table, row, column);
  const range = [Math.min(...table.data) - 1e-6, Math.max(...table.data)] as const;
  const look = { rows: names, columns: names, range };
  return (
    <Figure
      name={`position-similarity-${stream}`}
      title="Positions compared"
      caption="Dot product of the vectors of two positions. With sinusoids it depends on their distance alone, and is largest at distance 0: d_model / 2. The palest cell is the smallest of them, the strongest the largest."
      picture={() =>
        matrixPicture({ ...look, values: at, title: "Positions compared", colours: palette() })
      }
      table={() => ({
        columns: ["position", ...names],
        rows: names.map((name, row) => [name, ...names.map((__, column) => at(row, column))]),
      })}
    >
      <div class="tokens-similarity">
        <Matrix
          {...look}
          size={count > MANY ? "small" : "large"}
          width={330}
          value={at}
          label="Dot products of positions"
          describe={(row, column) =>
            `positions ${row + 1} and ${column + 1}, distance ${Math.abs(row - column)}: ${printed(at(row, column), 2)}`
          }
        />
      </div>
    </Figure>
  );
}
