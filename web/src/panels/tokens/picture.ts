/** The panel's pictures to save. */

import type { Tensor } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import type { Palette } from "../../drawing/colours.ts";
import { paintTable } from "../../drawing/heatTable.ts";
import { isSymbol, joins, plain } from "../../drawing/pieces.ts";
import { el, estimateWidth, type Picture, path, picture, rect, text } from "../../drawing/svg.ts";
import { type Entry, getTokens, magnitude, type Stream } from "./positions.ts";

const EDGE = 16;
const ACROSS = 860;

/** Tokens as chips with their ids, in lines. */
export function tokensPicture(trace: Trace, stream: Stream, colours: Palette): Picture {
  const tokens = getTokens(trace, stream);
  const joined = joins(tokens.map((token) => token.piece));
  let [x, y] = [EDGE, EDGE];
  const chips = tokens.map((token, at) => {
    const name = plain(token.piece);
    const width = Math.max(estimateWidth(name, 13), estimateWidth(`${token.id}`, 10)) + 14;
    if (x + width > ACROSS) [x, y] = [EDGE, y + 48];
    const tie =
      joined[at] && x > EDGE ? path(`M${x - 6} ${y + 18}h6`, { stroke: colours.ink }) : "";
    const chip =
      rect(x, y, width, 38, { rx: 5, fill: colours.panel, stroke: colours.line }) +
      text(x + width / 2, y + 16, name, {
        "text-anchor": "middle",
        "font-size": 13,
        fill: isSymbol(token.piece) ? colours.muted : colours.ink,
      }) +
      text(x + width / 2, y + 31, `${token.id}`, {
        "text-anchor": "middle",
        "font-size": 10,
        fill: colours.muted,
      });
    x += width + 6;
    return tie + chip;
  });
  return picture(ACROSS + EDGE, y + 38 + EDGE, colours, ...chips);
}

/** The three heat maps under each other; each is an image in the drawing, names are text. */
export function entryPicture(
  entry: Entry,
  names: readonly string[],
  without: boolean,
  colours: Palette,
): Picture {
  const most = Math.max(...Object.values(entry).map(magnitude));
  const maps: [string, Tensor][] = [["Embedding · √d_model", entry.embedding]];
  if (!without) maps.push(["+ Position", entry.positions]);
  maps.push(["= What enters the stack", without ? entry.embedding : entry.sum]);
  const left = EDGE + 8 + Math.max(...names.map((name) => estimateWidth(name)));
  const tall = 14;
  const height = names.length * tall + 40;
  const parts = maps.flatMap(([title, tensor], order) => {
    const top = EDGE + order * height + 22;
    return [
      text(left, top - 7, title, { "font-weight": 600 }),
      ...names.map((name, at) =>
        text(left - 8, top + (at + 0.5) * tall + 4, name, {
          "text-anchor": "end",
          "font-size": 11,
        }),
      ),
      el("image", {
        x: left,
        y: top,
        width: ACROSS - left,
        height: names.length * tall,
        preserveAspectRatio: "none",
        href: drawImage(tensor, most, colours),
        "image-rendering": "pixelated",
      }),
    ];
  });
  return picture(ACROSS + EDGE, EDGE + maps.length * height, colours, ...parts);
}

/** A table as an image, a dot a number. */
function drawImage(tensor: Tensor, most: number, colours: Palette): string {
  const [rows = 1, columns = 1] = tensor.shape;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d");
  const table = { rows, columns, data: tensor.data, most, scale: "diverging" as const };
  if (context) paintTable(context, colours, table, [0, 0, columns, rows]);
  return canvas.toDataURL("image/png");
}
