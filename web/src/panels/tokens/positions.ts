/** Positional encodings (section 3.5): wavelengths, similarity, and what other kinds do instead. */

import { type Tensor, value } from "../../api/tensors.ts";
import type { Trace, TraceToken, WordSpan } from "../../api/types.ts";
import type { Cell } from "../../drawing/cursor.ts";
import type { Table } from "../../drawing/files.ts";
import { languageName } from "../../drawing/languages.ts";
import { counted } from "../../drawing/Number.tsx";
import { tagLanguage } from "../../drawing/pieces.ts";

/** Which sinusoid a dimension holds. */
interface Sinusoid {
  form: "sine" | "cosine";
  /** Positions from crest to crest: 2π at the first pair, up to 2π · 10000 at the last. */
  wavelength: number;
}

/** Returns the sinusoid of a dimension, or null where the model's positions are not sinusoids. */
export function sinusoid(kind: string, dimension: number, dModel: number): Sinusoid | null {
  const half = dModel / 2;
  if (kind === "sinusoidal") {
    const pair = Math.floor(dimension / 2);
    return wave(dimension % 2 === 0, pair / half);
  }
  const pair = dimension % half;
  if (kind === "sinusoidal-halves") return wave(dimension < half, pair / half);
  if (kind === "sinusoidal-timescales") return wave(dimension < half, pair / (half - 1));
  return null;
}

function wave(isSine: boolean, share: number): Sinusoid {
  return { form: isSine ? "sine" : "cosine", wavelength: 2 * Math.PI * 10000 ** share };
}

/** Writes a wavelength in positions with about three digits; long ones in full. */
export function wavelengthText(wavelength: number): string {
  if (wavelength >= 100) return counted(Math.round(wavelength));
  return wavelength.toFixed(wavelength < 10 ? 2 : 1);
}

/** Returns the dot products of all pairs of rows, (L, L). */
export function dotProducts(table: Tensor): Tensor {
  const [rows = 0, width = 0] = table.shape;
  const data = new Float32Array(rows * rows);
  for (let a = 0; a < rows; a++) {
    for (let b = a; b < rows; b++) {
      let sum = 0;
      for (let d = 0; d < width; d++) {
        sum += (table.data[a * width + d] ?? 0) * (table.data[b * width + d] ?? 0);
      }
      data[a * rows + b] = sum;
      data[b * rows + a] = sum;
    }
  }
  return { shape: [rows, rows], data };
}

/** Returns the largest magnitude of a tensor, at least a tiny number so that one may divide. */
export function magnitude(table: Tensor): number {
  let most = 1e-12;
  for (const value of table.data) {
    if (Number.isFinite(value) && Math.abs(value) > most) most = Math.abs(value);
  }
  return most;
}

/** What the network does about the order of tokens, in words. */
export interface Method {
  title: string;
  says: string;
  /** Whether a vector is added to each embedding, so that there is something to draw. */
  added: boolean;
}

const METHODS: Record<string, Method> = {
  sinusoidal: {
    title: "Sinusoids, added",
    says: "Two neighbouring dimensions hold the sine and the cosine of p / 10000^(2i/d), where p tokens come before this one and i pairs of dimensions before these (section 3.5). Low dimensions turn fast and tell neighbours apart; high ones turn slowly.",
    added: true,
  },
  "sinusoidal-halves": {
    title: "Sinusoids, added",
    says: "The angles of section 3.5, with all sines in the first half of the dimensions and all cosines in the second.",
    added: true,
  },
  "sinusoidal-timescales": {
    title: "Sinusoids, added",
    says: "Sines in the first half of the dimensions, cosines in the second, with wavelengths spread evenly by logarithm from 2π to 2π · 10000.",
    added: true,
  },
  learned: {
    title: "Learned vectors, added",
    says: "Each position has a trained vector of its own (table 3, row E). There is no wave to see, and no vector beyond the last position that was trained.",
    added: true,
  },
  rotary: {
    title: "Rotary: nothing is added",
    says: "Queries and keys are turned by an angle that grows with their position, in every attention, so that q · k depends on the distance of two tokens. What enters the stack is the embedding alone.",
    added: false,
  },
  relative: {
    title: "Relative: nothing is added",
    says: "Every attention score gets a trained bias for the distance between the two tokens, one per head. What enters the stack is the embedding alone; the bias is in the mask of the six steps.",
    added: false,
  },
  none: {
    title: "No positions",
    says: "This network has none: the encoder cannot tell the order of the words, and the decoder knows it from the mask alone.",
    added: false,
  },
};

/** Returns what this kind of positions does. */
export function describeMethod(kind: string): Method {
  return (
    METHODS[kind] ?? {
      title: `Positions: ${kind}`,
      says: "This page does not know this kind of positions.",
      added: false,
    }
  );
}

/* What the tokens are: words, parts of words, bytes, and symbols that stand for no text. */

export type TokenKind = "begins" | "continues" | "byte" | "symbol";

interface Described {
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

/** Returns what a token of a text is, in a sentence. */
export function describe(token: TraceToken, text: string): Described {
  const language = tagLanguage(token.piece);
  if (language !== null) {
    return {
      kind: "symbol",
      says: `Language tag: tells the network to translate into ${languageName(language)}.`,
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
export function getCharacters(token: TraceToken, text: string): string {
  return [...text].slice(token.start, token.end).join("");
}

/** Returns which word a token belongs to and how many tokens that word has. */
export function findWord(words: [number, number][], index: number): { word: number; size: number } {
  const word = words.findIndex(([from, to]) => from <= index && index < to);
  const [from, to] = words[word] ?? [index, index + 1];
  return { word, size: to - from };
}

/* The two streams of tokens: what the encoder reads, and what the decoder reads. */

export type Stream = "source" | "target";

/** The tokens of a stream, in the order of their positions. */
export function getTokens(trace: Trace, stream: Stream): TraceToken[] {
  return stream === "source" ? trace.source_tokens : trace.target_tokens;
}

/** The text that the tokens of a stream stand for. */
export function getText(trace: Trace, stream: Stream): string {
  return stream === "source" ? trace.source : trace.translation;
}

/** The words of a stream, each as its first token and the one after its last. */
export function getWords(trace: Trace, stream: Stream): WordSpan[] {
  return trace.words[stream];
}

/* What enters a stack: √d_model · embedding + position (sections 3.4 and 3.5). */

/** The three tables of one stream, (L, D) each. */
export interface Entry {
  embedding: Tensor;
  positions: Tensor;
  sum: Tensor;
}

/** The column of a cursor that marks a token without a dimension. */
export const WHOLE_ROW = -1;

/** Page keys move by 16 dimensions. */
export const PAGES = { PageUp: [0, -16], PageDown: [0, 16] } as const;

/** The three numbers at a place. */
export function numbersAt(entry: Entry, { row, column }: Cell) {
  return {
    embedding: value(entry.embedding, row, column),
    position: value(entry.positions, row, column),
    sum: value(entry.sum, row, column),
  };
}

/** The sinusoid of a dimension in words; nothing where the positions are none. */
export function describeWave(kind: string, dimension: number, dModel: number): string {
  const wave = sinusoid(kind, dimension, dModel);
  return wave ? `${wave.form}, wavelength ${wavelengthText(wave.wavelength)} positions` : "";
}

/** All numbers as a table: one row per token and dimension. */
export function entryTable(entry: Entry, pieces: readonly string[]): Table {
  const width = entry.embedding.shape[1] ?? 0;
  return {
    columns: ["position", "piece", "dimension", "embedding", "position value", "sum"],
    rows: pieces.flatMap((piece, row) =>
      Array.from({ length: width }, (_, column) => {
        const { embedding, position, sum } = numbersAt(entry, { row, column });
        return [row + 1, piece, column + 1, embedding, position, sum];
      }),
    ),
  };
}
