/** The panel's figures as SVG documents. */

import type { Trace } from "../../api/types.ts";
import { palette } from "../../drawing/colours.ts";
import { counted, printed } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import {
  el,
  group,
  hatchPattern,
  heading,
  line,
  type Picture,
  path,
  picture,
  rect,
  text,
} from "../../drawing/svg.ts";
import { type Cuts, isChanged, type Row, type Rows } from "./rows.ts";
import { barsPath, type Product, type StepView } from "./view.ts";

const MARGIN = 16;
const RIGHT = { "text-anchor": "end" };
const MIDDLE = { "text-anchor": "middle" };

/** The probability of what was written, step by step. */
export function stripPicture(trace: Trace, at: number): Picture {
  const colours = palette();
  const [column, top, room] = [56, 50, 110];
  const width = 2 * MARGIN + Math.max(6, trace.steps.length) * column;
  const bars = trace.steps.flatMap(({ token, log_prob }, step) => {
    const share = Math.exp(log_prob);
    const x = MARGIN + step * column;
    const middle = x + column / 2;
    const mark = step === at ? { "font-weight": 600 } : {};
    return [
      rect(x + 8, top, column - 16, room, { fill: colours.masked }),
      rect(x + 8, top + room * (1 - share), column - 16, room * share, {
        fill: step === at ? colours.accent : colours.muted,
      }),
      text(middle, top + room + 18, printed(share, 2), { ...MIDDLE, ...mark }),
      text(middle, top + room + 36, plain(token.piece), { ...MIDDLE, ...mark }),
    ];
  });
  const title = heading(MARGIN, 28, "Probability of what was written at each step");
  return picture(width, top + room + 52, colours, title, ...bars);
}

const COLUMNS = { place: 30, token: 42, logit: 210, exp: 290, bar: 310, bars: 220, end: 610 };
const ROW = 24;

/** The table from logits to probabilities. */
export function softmaxPicture(view: StepView, cuts: Cuts, { rows, rest }: Rows): Picture {
  const colours = palette();
  const changed = isChanged(cuts);
  const top = 84;
  const lines = rows.map((row, index) => softmaxLine(row, top + index * ROW, changed));
  const y = top + rows.length * ROW;
  const others = text(COLUMNS.token, y, `${counted(rest.count)} others`, { fill: colours.muted });
  const share = text(COLUMNS.end, y, printed(rest.probability, 4), {
    ...RIGHT,
    fill: colours.muted,
  });
  return picture(
    changed ? 720 : 640,
    y + 24,
    colours,
    el("defs", {}, hatchPattern(colours)),
    heading(MARGIN, 28, `Step ${view.at + 1}: from logits to probabilities`),
    text(MARGIN, 48, settings(cuts), { fill: colours.muted }),
    ...headings(changed),
    ...lines,
    others,
    share,
  );
}

function settings({ temperature, topK, topP }: Cuts): string {
  return [
    `temperature ${temperature}`,
    topK > 0 ? `top-k ${topK}` : "no top-k",
    topP < 1 ? `top-p ${topP}` : "no top-p",
  ].join(", ");
}

function headings(changed: boolean): string[] {
  const strong = { "font-weight": 600 };
  return [
    text(COLUMNS.token, 66, "token", strong),
    text(COLUMNS.logit, 66, "logit", { ...strong, ...RIGHT }),
    text(COLUMNS.exp, 66, "exp", { ...strong, ...RIGHT }),
    text(COLUMNS.end, 66, "probability", { ...strong, ...RIGHT }),
    ...(changed ? [text(704, 66, "drawn with", { ...strong, ...RIGHT })] : []),
  ];
}

function softmaxLine(row: Row, y: number, changed: boolean): string {
  const colours = palette();
  const ink = { fill: row.kept ? colours.ink : colours.muted };
  const name = { ...ink, "font-weight": row.written ? 600 : null };
  const struck = row.kept ? null : "line-through";
  const width = COLUMNS.bars * row.probability;
  return group(
    {},
    text(COLUMNS.place, y, String(row.place + 1), { ...RIGHT, fill: colours.muted }),
    text(COLUMNS.token, y, plain(row.piece), { ...name, "text-decoration": struck }),
    text(COLUMNS.logit, y, printed(row.logit, 2), { ...RIGHT, ...ink }),
    text(COLUMNS.exp, y, printed(row.exp, 4), { ...RIGHT, ...ink }),
    rect(COLUMNS.bar, y - 11, COLUMNS.bars, 14, { fill: colours.masked }),
    rect(COLUMNS.bar, y - 11, width, 14, {
      fill: row.kept ? (row.written ? colours.accent : colours.series[0]) : "url(#hatch)",
      stroke: row.kept ? null : colours.muted,
    }),
    text(COLUMNS.end, y, printed(row.probability, 4), { ...RIGHT, ...ink }),
    changed ? text(704, y, row.kept ? printed(row.share, 4) : "cut", { ...RIGHT, ...ink }) : "",
  );
}

/** The line from 0 to 1, and where the number fell. */
export function lotPicture(
  cut: { piece: string | null; from: number; to: number }[],
  draw: { number: number } | null,
): Picture {
  const colours = palette();
  const [width, top] = [720, 56];
  const x = (share: number) => MARGIN + share * (width - 2 * MARGIN);
  const slices = cut.flatMap(({ piece, from, to }) => {
    const name = piece === null ? "others" : plain(piece);
    return [
      rect(x(from), top, x(to) - x(from), 30, {
        fill: piece === null ? colours.masked : colours.panel,
        stroke: colours.muted,
      }),
      to - from > 0.06 ? text(x((from + to) / 2), top + 19, name, MIDDLE) : "",
    ];
  });
  const pin = draw
    ? [
        line(x(draw.number), top - 8, x(draw.number), top + 38, {
          stroke: colours.accent,
          "stroke-width": 2,
        }),
        text(x(draw.number), top + 54, printed(draw.number, 4), {
          ...MIDDLE,
          fill: colours.accent,
        }),
      ]
    : [];
  return picture(
    width,
    top + 66,
    colours,
    heading(MARGIN, 28, "Sampling a token"),
    ...slices,
    ...pin,
  );
}

/** The three rows of the sum that makes a logit. */
export function logitPicture(product: Product, piece: string): Picture {
  const colours = palette();
  const size = product.state.length;
  const width = 720;
  const rows = [
    ["h", product.state],
    ["w", product.row],
    ["h · w", product.products],
  ] as const;
  const scale = (width - 2 * MARGIN - 50) / size;
  const drawn = rows.map(([name, numbers], index) => {
    const y = 48 + index * 56;
    return group(
      {},
      text(MARGIN, y + 28, name),
      group(
        { transform: `translate(${MARGIN + 50} ${y}) scale(${scale} 1)` },
        path(barsPath(numbers, 24, 22, 1), { fill: colours.series[0] }),
        path(barsPath(numbers, 24, 22, -1), { fill: colours.series[1] }),
      ),
    );
  });
  const told = `the ${size} products add up to the logit of “${piece}”: ${printed(product.logit, 4)}`;
  return picture(
    width,
    48 + 3 * 56 + 36,
    colours,
    heading(MARGIN, 28, "Where a logit comes from"),
    ...drawn,
    text(MARGIN, 48 + 3 * 56 + 16, told),
  );
}
