/** What enters a stack: √d_model · embedding + position (sections 3.4 and 3.5). */

import { type Tensor, value } from "../../api/tensors.ts";
import type { Table } from "../../drawing/files.ts";
import { sinusoid, wavelengthText } from "./positions.ts";

/** The three tables of one stream, (L, D) each. */
export interface Entry {
  embedding: Tensor;
  positions: Tensor;
  sum: Tensor;
}

/** The column of a cursor that marks a token without a dimension. */
export const WHOLE_ROW = -1;

/** One number: a token and a dimension. */
export interface Place {
  row: number;
  column: number;
}

/** Where a key takes the cursor; null: it is no key of the cursor. */
export function moved(key: string, from: Place, rows: number, columns: number): Place | null {
  const steps: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    PageUp: [0, -16],
    PageDown: [0, 16],
    Home: [0, -columns],
    End: [0, columns],
  };
  const step = steps[key];
  if (!step) return null;
  return {
    row: Math.max(0, Math.min(rows - 1, from.row + step[0])),
    column: Math.max(0, Math.min(columns - 1, from.column + step[1])),
  };
}

/** The three numbers at a place. */
export function numbersAt(entry: Entry, { row, column }: Place) {
  return {
    embedding: value(entry.embedding, row, column),
    position: value(entry.positions, row, column),
    sum: value(entry.sum, row, column),
  };
}

/** The sinusoid of a dimension in words; nothing where the positions are none. */
export function waveOf(kind: string, dimension: number, dModel: number): string {
  const wave = sinusoid(kind, dimension, dModel);
  return wave ? `${wave.form}, wavelength ${wavelengthText(wave.wavelength)} positions` : "";
}

/** All numbers as a table: a row a token and dimension. */
export function entryTable(entry: Entry, pieces: readonly string[]): Table {
  const width = entry.embedding.shape[1] ?? 0;
  return {
    columns: ["position", "piece", "dimension", "embedding", "position value", "sum"],
    rows: pieces.flatMap((piece, row) =>
      Array.from({ length: width }, (_, column) => {
        const { embedding, position, sum } = numbersAt(entry, { row, column });
        return [row, piece, column, embedding, position, sum];
      }),
    ),
  };
}
