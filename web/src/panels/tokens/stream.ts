/** The two streams of tokens: what the encoder reads, and what the decoder reads. */

import type { Trace, TraceToken, WordSpan } from "../../api/types.ts";

export type Stream = "source" | "target";

/** The tokens of a stream, in the order of their positions. */
export function tokensOf(trace: Trace, stream: Stream): TraceToken[] {
  return stream === "source" ? trace.source_tokens : trace.target_tokens;
}

/** The text that the tokens of a stream stand for. */
export function textOf(trace: Trace, stream: Stream): string {
  return stream === "source" ? trace.source : trace.translation;
}

/** The words of a stream, each as its first token and the one after its last. */
export function wordsOf(trace: Trace, stream: Stream): WordSpan[] {
  return trace.words[stream];
}
