/**
 * The trace inside a saved page: what `translucid explain -o x.html` and "Save as one file" write.
 *
 * Such a page has no server. Two elements hold what it shows (see interpret/page.py):
 *
 *     <script type="application/json" id="saved">            a `Saved`
 *     <script type="application/octet-stream" id="numbers">  base64 of gzip of all float32 numbers
 */
import { Problem } from "./problem.ts";
import { part, readFloats, type Tensor } from "./tensor.ts";
import type { Film, FilmFrame, FilmRequest, Lens, Model, Run, RunEvent, Trace } from "./types.ts";

/** A training run, and one film of it: the weights of all its heads are among the numbers. */
interface SavedRun {
  run: Run;
  events: RunEvent[];
  source_tokens: string[];
  target_tokens: string[];
  frames: Omit<FilmFrame, "weights">[];
}

/** Everything that a saved page shows. */
export interface Saved {
  /** Version of Translucid. */
  version: string;
  /** Where the page opens. */
  address: string;
  trace: Trace;
  model: Model;
  /** The other search of the same sentence, greedy beside a beam; null: it was not made. */
  other: Trace | null;
  lens: Lens | null;
  /** Pieces by id; null: only those that the trace mentions are known. */
  vocabulary: string[] | null;
  run: SavedRun | null;
  /** Shapes of all numbers, in the order in which they stand in the file. */
  tensors: Record<string, number[]>;
  /** What was too large to be saved, in words. */
  left_out: string[];
}

/** What this page was saved with; null: it comes from a server. */
export const saved: Saved | null = read();

function read(): Saved | null {
  const element = globalThis.document?.getElementById("saved");
  return element ? (JSON.parse(element.textContent ?? "") as Saved) : null;
}

/** Why something is not here. */
export function cannot(what: string): Problem {
  const detail = `This saved page cannot ${what}. Start “translucid serve” to do so.`;
  return new Problem(0, "A saved page", detail);
}

let numbers: Promise<Float32Array> | undefined;

async function unpacked(): Promise<Float32Array> {
  const packed = document.getElementById("numbers")?.textContent ?? "";
  const bytes = Uint8Array.from(atob(packed.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return readFloats(await new Response(stream).arrayBuffer());
}

/** A tensor that was saved, or a part of it. */
export async function savedTensor(from: Saved, name: string, at: number[]): Promise<Tensor> {
  numbers ??= unpacked();
  const data = await numbers;
  const place = locateTensor(from.tensors, name);
  if (!place) throw cannot(`show ${name}: these numbers were left out to keep it small`);
  return part({ shape: place.shape, data: data.subarray(place.start, place.end) }, ...at);
}

/** Where a tensor stands among all numbers. Pure. */
export function locateTensor(
  tensors: Record<string, number[]>,
  name: string,
): { shape: number[]; start: number; end: number } | null {
  let start = 0;
  for (const [other, shape] of Object.entries(tensors)) {
    const end = start + shape.reduce((product, length) => product * length, 1);
    if (other === name) return { shape, start, end };
    start = end;
  }
  return null;
}

/** The film of a run that was saved, for one head. */
export async function savedFilm(from: Saved, { side, layer, head }: FilmRequest): Promise<Film> {
  if (!from.run) throw cannot("show a film: it was saved without a run");
  const { source_tokens, target_tokens, frames } = from.run;
  const made = frames.map(async (frame, number) => {
    const weights = await savedTensor(from, `film.${number}.${side}.${layer}`, [head]);
    const rows = Array.from({ length: weights.shape[0] ?? 0 }, (_, row) => [
      ...part(weights, row).data,
    ]);
    return { ...frame, weights: rows };
  });
  return { source_tokens, target_tokens, frames: await Promise.all(made) };
}
