/** What the tokens are: words, parts of words, bytes, and symbols that stand for no text. */

import type { TraceToken } from "../../api/types.ts";

export type TokenKind = "begins" | "continues" | "byte" | "symbol";

export interface Described {
  kind: TokenKind;
  /** One sentence on what it is. */
  says: string;
}

const SYMBOLS: Record<string, string> = {
  "<s>": "Start symbol: the decoder reads it first, before anything is written.",
  "</s>": "End symbol: closes the sentence; when the decoder writes it, decoding stops.",
  "<unk>": "Unknown: stands for text that the vocabulary cannot spell.",
  "<pad>": "Padding: fills up short rows of a batch; no attention ever looks at it.",
};

/** Returns what a token of a text is, in a sentence; `language` is the one translated into. */
export function describe(token: TraceToken, text: string, language: string): Described {
  if (/^<tag\d+>$/.test(token.piece)) {
    return {
      kind: "symbol",
      says: `Language tag: tells the network to translate into ${language}.`,
    };
  }
  const symbol = SYMBOLS[token.piece];
  if (symbol) return { kind: "symbol", says: symbol };
  if (/^<0x[0-9A-F]{2}>$/.test(token.piece)) {
    return { kind: "byte", says: "One byte of a character that is no piece of the vocabulary." };
  }
  if (token.piece.startsWith("▁")) {
    return { kind: "begins", says: "Begins a word; ▁ stands for the space before it." };
  }
  if (followsSpace(token, text)) return { kind: "begins", says: "Begins a word." };
  return { kind: "continues", says: "Goes on with the word before it, without a space." };
}

/** Whether there is the beginning of the text, or a space, before what a token stands for. */
function followsSpace(token: TraceToken, text: string): boolean {
  const letters = [...text];
  const around = [letters[token.start - 1] ?? " ", letters[token.start] ?? ""];
  return around.some((letter) => /^\s$/.test(letter));
}

/** Returns the characters of the text that a token stands for; none for symbols. */
export function charactersOf(token: TraceToken, text: string): string {
  return [...text].slice(token.start, token.end).join("");
}

/** Returns which word a token belongs to and how many tokens that word has. */
export function wordOf(words: [number, number][], index: number): { word: number; size: number } {
  const word = words.findIndex(([from, to]) => from <= index && index < to);
  const [from, to] = words[word] ?? [index, index + 1];
  return { word, size: to - from };
}
