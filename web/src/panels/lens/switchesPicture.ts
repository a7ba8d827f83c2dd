/** The switches of all heads as a picture and as a table. Pure. */
import type { HeadId, ModelConfig } from "../../api/types.ts";
import { diverging, inkOn, type Palette } from "../../drawing/colours.ts";
import type { Table } from "../../drawing/files.ts";
import { printed } from "../../drawing/numbers.ts";
import { el, hatchPattern, type Picture, picture, rect, text } from "../../drawing/svg.ts";
import { allHeads, headName, includes, layersOf, SIDES } from "./headList.ts";
import { byName, type HeadLoss, largest } from "./headLosses.ts";

const [WIDE, HIGH, TOP, LEFT, GAP] = [52, 30, 76, 44, 48];

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
    const [x, y] = [LEFT + place * across + head.head * WIDE, TOP + head.layer * HIGH];
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
    LEFT + SIDES.length * across,
    TOP + rows * HIGH + 12,
    colours,
    el("defs", {}, hatchPattern(colours)),
    text(12, 24, title(losses), { "font-size": 15, "font-weight": 600 }),
    ...SIDES.flatMap(({ side, title: name }, place) => [
      text(LEFT + place * across, TOP - 28, name, { "font-weight": 600 }),
      ...Array.from({ length: config.heads }, (_, head) =>
        text(LEFT + place * across + (head + 0.5) * WIDE - 1, TOP - 8, String(head), {
          "text-anchor": "middle",
          fill: colours.muted,
        }),
      ),
      ...Array.from({ length: layersOf(config, side) }, (_, layer) =>
        text(LEFT + place * across - 8, TOP + (layer + 0.5) * HIGH + 3, String(layer), {
          "text-anchor": "end",
          fill: colours.muted,
        }),
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
    : "What the translation loses without each head (nats of log P)";
}

/** A line a head. */
export function switchesTable(config: ModelConfig, off: HeadId[], losses: HeadLoss[]): Table {
  const known = byName(losses);
  return {
    columns: ["attention", "layer", "head", "on", "log P without it", "loss of log P"],
    rows: allHeads(config).map((head) => [
      head.side,
      head.layer,
      head.head,
      includes(off, head) ? 0 : 1,
      known.get(headName(head))?.logProb ?? "",
      known.get(headName(head))?.loss ?? "",
    ]),
  };
}
