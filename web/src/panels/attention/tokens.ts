import type { Side, Trace, TraceToken } from "../../api/types.ts";
import { beginsWord, GAP, isSymbol, plain } from "../../drawing/pieces.ts";

/** Ids that mean the same in every vocabulary: unknown, first piece of text. */
const UNKNOWN = 1;
const FIRST_PIECE = 20;

export type Stream = "source" | "target";

/** What the three attentions are called, in the paper's terms. */
export const ATTENTIONS: Record<Side, { name: string; short: string; section: string }> = {
  encoder: { name: "Encoder self-attention", short: "Encoder", section: "section 3.2.3" },
  decoder: {
    name: "Masked self-attention of the decoder",
    short: "Decoder, masked",
    section: "section 3.2.3",
  },
  cross: { name: "Cross-attention", short: "Cross", section: "section 3.2.3" },
};

/** What the rows and the columns of an attention are, and what each row goes on to write. */
export interface Sentences {
  side: Side;
  queries: TraceToken[];
  keys: TraceToken[];
  queryStream: Stream;
  keyStream: Stream;
  /** Ids that the rows write; empty in the encoder, which writes nothing. */
  written: TraceToken[];
}

/** Return who looks (rows) and who is looked at (columns) in one of the three attentions. */
export function getSentences(
  trace: Pick<Trace, "source_tokens" | "target_tokens" | "steps">,
  side: Side,
): Sentences {
  const queryStream = side === "encoder" ? "source" : "target";
  const keyStream = side === "decoder" ? "target" : "source";
  const of = (stream: Stream) => (stream === "source" ? trace.source_tokens : trace.target_tokens);
  return {
    side,
    queries: of(queryStream),
    keys: of(keyStream),
    queryStream,
    keyStream,
    written: side === "encoder" ? [] : trace.steps.map((step) => step.token),
  };
}

/** Tell whether a token is text; the start, the end and language tags are symbols. */
export function isText(id: number): boolean {
  return id >= FIRST_PIECE || id === UNKNOWN;
}

/** Tell whether row may not see column: in the decoder the future is hidden (section 3.2.3). */
export function isMasked(side: Side, row: number, column: number): boolean {
  return side === "decoder" && column > row;
}

/**
 * Return how tokens are labelled: words as they are, what continues a word after a dot.
 *
 * labels([▁over, ing, </s>]) = ["over", "·ing", "</s>"]
 */
export function labels(tokens: readonly Pick<TraceToken, "piece">[]): string[] {
  const spaced = tokens.some(({ piece }) => piece.length > 1 && beginsWord(piece));
  return tokens.map(({ piece }) => label(piece, spaced));
}

function label(piece: string, spaced: boolean): string {
  if (isSymbol(piece)) return plain(piece);
  const shown = piece.replaceAll(GAP, " ");
  if (shown.trim() === "") return "␣";
  if (spaced && !shown.startsWith(" ")) return `·${shown}`;
  return shown.replace(/^ /, "").replaceAll(" ", "␣");
}
