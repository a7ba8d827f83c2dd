/** The table of a lens as a picture: a row a layer, a column a step. Pure. */
import { heat, inkOn, type Palette } from "../../drawing/colours.ts";
import { printed } from "../../drawing/numbers.ts";
import { plain } from "../../drawing/pieces.ts";
import { type Picture, picture, rect, text, widthOf } from "../../drawing/svg.ts";
import { type ReadingRow, topProbability } from "./readings.ts";

const [TOP, ROW, MARGIN, LEFT] = [64, 44, 12, 128];

/** Draw a lens: each cell has its likeliest token, how likely, and the written token's rank. */
export function lensPicture(
  title: string,
  rows: ReadingRow[],
  written: string[],
  colours: Palette,
): Picture {
  const pieces = [...written, ...rows.flatMap(({ cells }) => cells.map((cell) => top(cell)))];
  const wide = Math.max(64, ...pieces.map((piece) => widthOf(plain(piece)) + 14));
  const middle = (step: number) => LEFT + (step + 0.5) * wide;
  return picture(
    LEFT + written.length * wide + MARGIN,
    TOP + rows.length * ROW + MARGIN,
    colours,
    text(MARGIN, 24, title, { "font-size": 15, "font-weight": 600 }),
    ...written.map((piece, step) =>
      text(middle(step), TOP - 10, plain(piece), { "text-anchor": "middle", "font-weight": 600 }),
    ),
    ...rows.flatMap((row, layer) => [
      text(LEFT - 10, TOP + (layer + 0.5) * ROW + 4, row.name, { "text-anchor": "end" }),
      ...row.cells.flatMap((cell, step) => {
        const fill = heat(topProbability(cell), colours);
        const ink = { "text-anchor": "middle", fill: inkOn(fill) };
        const y = TOP + layer * ROW;
        return [
          rect(LEFT + step * wide, y, wide - 1, ROW - 1, { fill }),
          text(middle(step), y + 19, plain(top(cell)), ink),
          text(middle(step), y + 34, `${printed(topProbability(cell), 2)} · #${cell.rank}`, {
            ...ink,
            "font-size": 10,
          }),
        ];
      }),
    ]),
  );
}

function top(cell: ReadingRow["cells"][number]): string {
  return cell.top[0]?.piece ?? "";
}
