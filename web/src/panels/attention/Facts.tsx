/** What a head does on this sentence, in words. */
import type { HeadId, HeadRole, Trace } from "../../api/types.ts";
import { Num } from "../../drawing/Number.tsx";
import { kindInWords, largestShare, marksOf, statisticsOf } from "./words.ts";

/** Smaller shares than this say nothing about a head. */
const WORTH_SAYING = 0.2;

/** What is said first of heads that no kind of token gives a name to. */
const SPREAD: Partial<Record<HeadRole, string>> = {
  broad: "Broad: it looks at everything almost alike. ",
  mixed: "Mixed: no kind of token gets half of it. ",
};

export interface FactsProps {
  trace: Trace;
  head: HeadId;
}

/** The entropy of a head and where most of its attention goes. */
export function Facts({ trace, head }: FactsProps) {
  const found = statisticsOf(trace, head);
  const most = largestShare(found);
  const marks = marksOf(trace, head);
  return (
    <div class="attention-facts">
      <p>
        {SPREAD[found.role] ?? ""}
        {most && most.share >= WORTH_SAYING && (
          <>
            Most goes to <strong>{kindInWords(most.kind, head.side)}</strong>:{" "}
            <Num value={most.share} digits={3} /> of the attention of the rows that have one.{" "}
          </>
        )}
        Rows are as spread out as looking at <Num value={Math.exp(found.entropy)} digits={1} />{" "}
        tokens evenly (entropy{" "}
        <span data-fact="entropy">
          <Num value={found.entropy} digits={3} />
        </span>{" "}
        nats, <Num value={found.evenness} digits={2} /> of even attention's), on average{" "}
        <span data-fact="distance">
          <Num value={found.distance} digits={1} />
        </span>{" "}
        tokens {head.side === "cross" ? "off the straight line between the sentences" : "away"}.
      </p>
      {marks.includes("aligns words") && (
        <p>★ One of the heads that the page's word alignment is read from.</p>
      )}
      {marks.includes("switched off") && (
        <p>
          This head is switched off: its weights are computed, but zeros go on in place of its
          output.
        </p>
      )}
    </div>
  );
}
