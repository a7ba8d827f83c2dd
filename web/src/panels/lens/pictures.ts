/** The table of a lens as a picture: one row per layer, one column per step. Pure. */

import type { HeadId, ModelConfig } from "../../api/types.ts";
import { diverging, heat, inkOn, type Palette } from "../../drawing/colours.ts";
import type { Table } from "../../drawing/files.ts";
import { printed } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import {
  el,
  estimateWidth,
  hatchPattern,
  heading,
  type Picture,
  picture,
  rect,
  text,
} from "../../drawing/svg.ts";
import { allHeads, countLayers, headName, includes, SIDES } from "./headList.ts";
import { byName, type HeadLoss, largest } from "./headLosses.ts";
import { type ReadingRow, topProbability } from "./LensGrid.tsx";

const [TOP, ROW, MARGIN, LEFT] = [64, 44, 12, 128];

/** Draw a lens: each cell has its likeliest token, how likely, and the written token's rank. */
export function lensPicture(
  title: string,
  rows: ReadingRow[],
  written: string[],
  colours: Palette,
): Picture {
  const pieces = [...written, ...rows.flatMap(({ cells }) => cells.map((cell) => top(cell)))];
  const wide = Math.max(64, ...pieces.map((piece) => estimateWidth(plain(piece)) + 14));
  const middle = (step: number) => LEFT + (step + 0.5) * wide;
  return picture(
    LEFT + written.length * wide + MARGIN,
    TOP + rows.length * ROW + MARGIN,
    colours,
    heading(MARGIN, 24, title),
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

/* The switches of all heads as a picture and as a table. Pure. */

const [WIDE, HIGH, SWITCHES_TOP, SWITCHES_LEFT, GAP] = [52, 30, 76, 44, 48];

/** Draw the heads of the three attentions; those that are off are hatched. */
export function switchesPicture(
  config: ModelConfig,
  off: HeadId[],
  losses: HeadLoss[],
  colours: Palette,
): Picture {
  const across = Math.max(config.heads * WIDE, 210) + GAP;
  const rows = Math.max(config.encoder_layers, config.decoder_layers);
  const known = byName(losses);
  const most = largest(losses);
  const cell = (head: HeadId, place: number): string => {
    const [x, y] = [
      SWITCHES_LEFT + place * across + head.head * WIDE,
      SWITCHES_TOP + head.layer * HIGH,
    ];
    const loss = known.get(headName(head))?.loss;
    const isOff = includes(off, head);
    const fill = isOff ? "url(#hatch)" : diverging((loss ?? 0) / most, colours);
    const words = isOff ? "off" : loss === undefined ? "on" : printed(loss, 2);
    const ink = isOff ? colours.ink : inkOn(fill);
    return (
      rect(x, y, WIDE - 2, HIGH - 2, { fill, stroke: colours.line }) +
      text(x + WIDE / 2 - 1, y + 18, words, { "text-anchor": "middle", "font-size": 11, fill: ink })
    );
  };
  return picture(
    SWITCHES_LEFT + SIDES.length * across,
    SWITCHES_TOP + rows * HIGH + 12,
    colours,
    el("defs", {}, hatchPattern(colours)),
    heading(12, 24, title(losses)),
    ...SIDES.flatMap(({ side, title: name }, place) => [
      text(SWITCHES_LEFT + place * across, SWITCHES_TOP - 28, name, { "font-weight": 600 }),
      ...Array.from({ length: config.heads }, (_, head) =>
        text(
          SWITCHES_LEFT + place * across + (head + 0.5) * WIDE - 1,
          SWITCHES_TOP - 8,
          String(head),
          {
            "text-anchor": "middle",
            fill: colours.muted,
          },
        ),
      ),
      ...Array.from({ length: countLayers(config, side) }, (_, layer) =>
        text(
          SWITCHES_LEFT + place * across - 8,
          SWITCHES_TOP + (layer + 0.5) * HIGH + 3,
          String(layer),
          {
            "text-anchor": "end",
            fill: colours.muted,
          },
        ),
      ),
      ...allHeads(config)
        .filter((head) => head.side === side)
        .map((head) => cell(head, place)),
    ]),
  );
}

function title(losses: HeadLoss[]): string {
  return losses.length === 0
    ? "Heads that are on and off"
    : "What the margin of the decision loses without each head";
}

/** One line per head. */
export function switchesTable(config: ModelConfig, off: HeadId[], losses: HeadLoss[]): Table {
  const known = byName(losses);
  return {
    columns: [
      "attention",
      "layer",
      "head",
      "on",
      "margin without it",
      "loss of the margin",
      "flips",
    ],
    rows: allHeads(config).map((head) => [
      head.side,
      head.layer,
      head.head,
      includes(off, head) ? 0 : 1,
      known.get(headName(head))?.margin ?? "",
      known.get(headName(head))?.loss ?? "",
      known.get(headName(head))?.flips ? 1 : "",
    ]),
  };
}
