/** What is said about attentions and heads. */
import type { HeadId, HeadRole, HeadStatistics, Side, TokenKind, Trace } from "../../api/types.ts";
import { plain } from "../../drawing/pieces.ts";
import { sameHead } from "../lens/headList.ts";
import { alignsWords, type Drawn } from "./inView.ts";
import { ATTENTIONS, type Sentences } from "./tokens.ts";

/** What one sees in each attention, in a sentence. */
export const EXPLAINED: Record<Side, string> = {
  encoder:
    "The source looks at itself: every word may look at every word, on both sides. The encoder " +
    "reads once, before the first step, so nothing here changes while the translation is written.",
  decoder:
    "The translation looks at itself, and only back: a row that could see the word it is about " +
    "to write would have nothing to learn, so scores of later words are set to −∞ before the " +
    "softmax and their weights are exactly 0.",
  cross:
    "The translation looks at the source: queries come from the decoder, keys and values from " +
    "the encoder's last layer. The weights say where it looks, not why it writes what it writes.",
};

/** Why a cell is hatched. */
export const WHY_HIDDEN = "the future is hidden (section 3.2.3)";

/** Return what a head is called. */
export function headName({ side, layer, head }: HeadId): string {
  return `${ATTENTIONS[side].name}, layer ${layer + 1}, head ${head + 1}`;
}

/** Return the kind of token that a head looks at, as an object of "goes to". */
export function describeKind(kind: TokenKind, side: Side): string {
  switch (kind) {
    case "previous":
      return "the token before";
    case "next":
      return "the token after";
    case "same_position":
      return "the token itself";
    case "same_word":
      return side === "cross"
        ? "the very piece that is being written"
        : "the same piece at another place";
    case "first":
      return side === "decoder" ? "the start symbol <s>" : "the first token";
    case "end":
      return "the end symbol </s>";
  }
}

const ROLES: Record<HeadRole, string> = {
  "previous token": "token before",
  "next token": "token after",
  "same position": "itself",
  "same word": "same piece",
  "first token": "first token",
  "end of sentence": "</s>",
  alignment: "alignment",
  broad: "broad",
  mixed: "mixed",
};

/** Return what a head does in two words, for the caption of its small picture. */
export function describeRole(role: HeadRole, side: Side): string {
  return role === "first token" && side === "decoder" ? "<s>" : ROLES[role];
}

/** Return what the trace says of a head. */
export function findStatistics(trace: Pick<Trace, "heads">, head: HeadId): HeadStatistics {
  const found = trace.heads.find((one) => sameHead(one, head));
  if (!found) throw new RangeError(`the trace says nothing of the head ${headName(head)}`);
  return found;
}

/** Return the kind of token that gets the largest share of a head's attention. */
export function largestShare({
  shares,
}: Pick<HeadStatistics, "shares">): { kind: TokenKind; share: number } | undefined {
  return (Object.entries(shares) as [TokenKind, number][])
    .map(([kind, share]) => ({ kind, share }))
    .sort((one, other) => other.share - one.share)[0];
}

/** Return what else is to be said of a head: that it aligns words, that it is switched off. */
export function listMarks(trace: Trace, head: HeadId): string[] {
  const marks = alignsWords(trace, head) ? ["aligns words"] : [];
  return trace.without.some((off) => sameHead(off, head)) ? [...marks, "switched off"] : marks;
}

/** Return what a row is: what it reads, and in the decoder what it writes. */
export function describeRow(sentences: Sentences, labels: readonly string[], row: number): string {
  const reads = `row ${row + 1} reads “${labels[row]}”`;
  const written = sentences.written[row];
  return written === undefined ? reads : `${reads} and writes “${plain(written.piece)}”`;
}

/** Return what the large picture is called: a head, or a summary by its honest name. */
export function largeTitle(drawn: Drawn, chosen: HeadId): string {
  const whose = ATTENTIONS[chosen.side].name;
  if (drawn === "head") return headName(chosen);
  if (drawn === "mean") return `${whose}, layer ${chosen.layer + 1}: mean of its heads`;
  return `${whose}: attention rollout over all layers`;
}

/** What a summary is and is not; a head needs no such words. */
export const SUMMARIES: Record<Drawn, string> = {
  head: "",
  mean:
    "A summary of ours, not a number of the network: it never averages weights, because each " +
    "head has values of its own.",
  rollout:
    "An estimate (Abnar and Zuidema 2020), not a number of the network: how much of each token " +
    "is in each position after all layers, if attention and residual connection counted alike " +
    "and values, W^O and the feed-forward layers did nothing.",
};
