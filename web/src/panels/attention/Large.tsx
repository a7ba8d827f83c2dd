/** One head large: as a matrix or as lines, with what the word in view looks at. */
import { useMemo } from "preact/hooks";
import { type Tensor, value } from "../../api/tensors.ts";
import { Bars } from "../../drawing/Bars.tsx";
import { Matrix } from "../../drawing/Matrix.tsx";
import { Num, printed } from "../../drawing/Number.tsx";
import { step } from "../../state/player.ts";
import { go, highlight } from "../../state/store.ts";
import { Arcs } from "./Arcs.tsx";
import { marked, pointed, query, rowInView, shape, stretched } from "./inView.ts";
import { largest, type Reading as Read, readColumn, readRow, told } from "./reading.ts";
import { isMasked, labels, type Sentences } from "./tokens.ts";
import { describeRow, WHY_HIDDEN } from "./words.ts";

/** Matrices of more columns than this have no room for numbers in their cells. */
const PRINTED = 22;

interface LargeProps {
  sentences: Sentences;
  weights: Tensor;
  /** What the picture is called. */
  title: string;
  /** Columns that are left out. */
  hidden: ReadonlySet<number>;
}

/** The picture and, beside or below it, the lists of the word in view. */
export function Large(props: LargeProps) {
  const { sentences, weights, hidden } = props;
  const inView = rowInView(query.value, step.value, sentences);
  const pick = (row: number): void => go({ query: row });
  return (
    <div class="attention-large" data-shape={shape.value}>
      {shape.value === "arcs" ? (
        <Arcs
          sentences={sentences}
          weights={weights}
          hidden={hidden}
          row={inView}
          label={`${props.title} as lines; each token below is a button that shows its own`}
          onPick={pick}
        />
      ) : (
        <LargeMatrix {...props} row={inView} onPick={pick} />
      )}
      <WordInView {...props} row={inView} />
    </div>
  );
}

/** The lists of the word under the pointer, else of the row in view. */
function WordInView({ sentences, weights, hidden, row }: LargeProps & { row: number }) {
  const at = pointed.value ?? marked(highlight.value, sentences) ?? {};
  const asked = at.row ?? row;
  return (
    <Reading
      sentences={sentences}
      weights={weights}
      hidden={hidden}
      row={asked}
      column={at.column ?? (sentences.side === "cross" ? strongest(weights, asked) : asked)}
    />
  );
}

/** Return the column on which a row looks most. */
function strongest(weights: Tensor, row: number): number {
  const width = weights.shape[1] ?? 0;
  const line = weights.data.subarray(row * width, (row + 1) * width);
  return line.reduce((best, weight, at) => (weight > (line[best] ?? 0) ? at : best), 0);
}

interface LargeMatrixProps extends LargeProps {
  row: number;
  onPick: (row: number) => void;
}

function LargeMatrix({ sentences, weights, hidden, title, row, onPick }: LargeMatrixProps) {
  const shown = useMemo(
    () => sentences.keys.map((_, column) => column).filter((column) => !hidden.has(column)),
    [sentences, hidden],
  );
  const names = useMemo(
    () => ({ queries: labels(sentences.queries), keys: labels(sentences.keys) }),
    [sentences],
  );
  const column = (place: number): number => shown[place] ?? 0;
  const at = pointed.value ?? marked(highlight.value, sentences) ?? {};
  const weight = (r: number, c: number): number => value(weights, r, column(c));
  return (
    <Matrix
      label={title}
      rows={names.queries}
      columns={shown.map((key) => names.keys[key] ?? "")}
      value={weight}
      range={[0, stretched.value ? largest(weights) : 1]}
      masked={(r, c) => isMasked(sentences.side, r, column(c))}
      selected={{
        row: at.row ?? row,
        column: at.column === undefined ? null : place(shown, at.column),
      }}
      pale={sentences.side === "encoder" ? undefined : step.value + 1}
      onSelect={(r) => onPick(r)}
      onHover={(cell) => point(cell && { row: cell.row, column: column(cell.column) }, sentences)}
      describe={(r, c) => describeCell(names, sentences, r, column(c), weight(r, c))}
      print={shown.length <= PRINTED ? (r, c) => inCell(weight(r, c)) : undefined}
    />
  );
}

/** Return what is printed into a cell; a row of 0.00 would hide what there is to see. */
function inCell(weight: number): string {
  return weight < 0.005 ? "" : printed(weight, 2);
}

function place(shown: readonly number[], column: number): number | null {
  const found = shown.indexOf(column);
  return found < 0 ? null : found;
}

/** Show a cell in the lists, and its row's token on the whole page. */
function point(cell: { row: number; column: number } | null, sentences: Sentences): void {
  pointed.value = cell;
  highlight.value = cell && { stream: sentences.queryStream, index: cell.row };
}

function describeCell(
  names: { queries: string[]; keys: string[] },
  sentences: Sentences,
  row: number,
  column: number,
  weight: number,
): string {
  const pair = `“${names.queries[row]}” → “${names.keys[column]}”`;
  if (isMasked(sentences.side, row, column)) return `${pair}: weight 0, ${WHY_HIDDEN}`;
  return `${pair}: ${printed(weight, 4)}`;
}

/* What one word looks at and who looks at it, with the numbers. */

/** Entries of a list; the rest is added up below it. */
const MOST = 8;

interface ReadingProps {
  weights: Tensor;
  sentences: Sentences;
  row: number;
  column: number;
  hidden: ReadonlySet<number>;
}

/** Two lists: the row (what it looks at) and the column (who looks at it). */
function Reading({ weights, sentences, row, column, hidden }: ReadingProps) {
  const queries = labels(sentences.queries);
  const keys = labels(sentences.keys);
  const one = { queries: told(queries), keys: told(keys) };
  const looks = readRow(weights, row, sentences, hidden, MOST);
  const seen = readColumn(weights, column, sentences, MOST);
  return (
    <div class="attention-reading">
      <section data-reading="row" data-place={row}>
        <h4>
          What “{queries[row]}” looks at <span>{describeRow(sentences, queries, row)}</span>
        </h4>
        <Shares reading={looks} names={one.keys} label={`What “${queries[row]}” looks at`} />
        <Sum reading={looks} what="row" />
      </section>
      <section data-reading="column" data-place={column}>
        <h4>
          Who looks at “{keys[column]}” <span>column {column + 1}</span>
        </h4>
        <Shares reading={seen} names={one.queries} label={`Who looks at “${keys[column]}”`} />
        <Sum reading={seen} what="column" />
      </section>
    </div>
  );
}

function Shares({ reading, names, label }: { reading: Read; names: string[]; label: string }) {
  return (
    <Bars
      label={label}
      most={1}
      digits={4}
      bars={reading.top.map(({ place, weight }) => ({ name: names[place] ?? "", value: weight }))}
    />
  );
}

function Sum({ reading, what }: { reading: Read; what: "row" | "column" }) {
  const { others, hidden, masked, total } = reading;
  return (
    <p class="attention-sum">
      {others.count > 0 && (
        <>
          {others.count} more together <Num value={others.weight} digits={4} />.{" "}
        </>
      )}
      {hidden.count > 0 && (
        <>
          Not shown: {hidden.count} {hidden.count === 1 ? "symbol" : "symbols"} with{" "}
          <Num value={hidden.weight} digits={4} />.{" "}
        </>
      )}
      {masked > 0 && `${describeMasked(masked, what)} `}
      {what === "row" ? "All together " : "A column need not sum to 1: here it is "}
      <Num value={total} digits={4} />.
    </p>
  );
}

function describeMasked(count: number, what: "row" | "column"): string {
  if (what === "row") {
    return `${count} later ${count === 1 ? "token is" : "tokens are"} hidden: weight exactly 0.`;
  }
  return `${count} earlier ${count === 1 ? "row" : "rows"} could not see it.`;
}
