/** What one word looks at and who looks at it, with the numbers. */
import type { Tensor } from "../../api/tensors.ts";
import { Bars } from "../../drawing/Bars.tsx";
import { Num } from "../../drawing/Number.tsx";
import { type Reading as Read, readColumn, readRow, told } from "./reading.ts";
import { labels, type Sentences } from "./tokens.ts";
import { rowInWords } from "./words.ts";

/** Entries of a list; the rest is added up below it. */
const MOST = 8;

export interface ReadingProps {
  weights: Tensor;
  sentences: Sentences;
  row: number;
  column: number;
  hidden: ReadonlySet<number>;
}

/** Two lists: the row (what it looks at) and the column (who looks at it). */
export function Reading({ weights, sentences, row, column, hidden }: ReadingProps) {
  const queries = labels(sentences.queries);
  const keys = labels(sentences.keys);
  const one = { queries: told(queries), keys: told(keys) };
  const looks = readRow(weights, row, sentences, hidden, MOST);
  const seen = readColumn(weights, column, sentences, MOST);
  return (
    <div class="attention-reading">
      <section data-reading="row" data-place={row}>
        <h4>
          What “{queries[row]}” looks at <span>{rowInWords(sentences, queries, row)}</span>
        </h4>
        <Shares reading={looks} names={one.keys} label={`What “${queries[row]}” looks at`} />
        <Sum reading={looks} what="row" />
      </section>
      <section data-reading="column" data-place={column}>
        <h4>
          Who looks at “{keys[column]}” <span>column {column}</span>
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
      {masked > 0 && `${maskedInWords(masked, what)} `}
      {what === "row" ? "All together " : "A column need not sum to 1: here it is "}
      <Num value={total} digits={4} />.
    </p>
  );
}

function maskedInWords(count: number, what: "row" | "column"): string {
  if (what === "row") {
    return `${count} later ${count === 1 ? "token is" : "tokens are"} hidden: weight exactly 0.`;
  }
  return `${count} earlier ${count === 1 ? "row" : "rows"} could not see it.`;
}
