/** Positional encodings (section 3.5): wavelengths, similarity, and what other kinds do instead. */

import type { Tensor } from "../../api/tensors.ts";
import { counted } from "../../drawing/numbers.ts";

/** Which sinusoid a dimension holds. */
export interface Sinusoid {
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
    says: "Dimension 2i holds sin(p / 10000^(2i/d)), dimension 2i + 1 the cosine of the same angle (section 3.5). Low dimensions turn fast and tell neighbours apart; high ones turn slowly.",
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
    says: "Every attention score gets a trained bias for the distance of the two tokens, one a head. What enters the stack is the embedding alone; the bias is in the mask of the six steps.",
    added: false,
  },
  none: {
    title: "No positions",
    says: "This network has none: the encoder cannot tell the order of the words, and the decoder knows it from the mask alone.",
    added: false,
  },
};

/** Returns what this kind of positions does. */
export function methodOf(kind: string): Method {
  return (
    METHODS[kind] ?? {
      title: `Positions: ${kind}`,
      says: "This page does not know this kind of positions.",
      added: false,
    }
  );
}
