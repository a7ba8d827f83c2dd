/** Tensors of a trace: asked for once, kept as long as the trace. */
import { sendOfTrace } from "./client.ts";
import { saved, savedTensor } from "./saved.ts";
import { part, readFloats, type Tensor } from "./tensor.ts";
import type { Trace } from "./types.ts";

export { attentionName, part, readFloats, type Tensor, value } from "./tensor.ts";

/** Whether a tensor can be asked for: a saved page has only what was saved. */
export function hasTensor(trace: Trace, name: string): boolean {
  if (saved) return name in saved.tensors;
  return name in trace.tensors || trace.level === "full";
}

interface Slot {
  promise: Promise<Tensor>;
  ready?: Tensor;
}

const slots = new WeakMap<Trace, Map<string, Slot>>();

/** A tensor by its name; `at` picks leading indices, so that only that part is sent. */
export function tensor(trace: Trace, name: string, at: number[] = []): Promise<Tensor> {
  return slot(trace, name, at).promise;
}

/** The tensor if it is here already. */
export function tensorNow(trace: Trace, name: string, at: number[] = []): Tensor | undefined {
  const whole = slots.get(trace)?.get(key(name, []))?.ready;
  if (whole) return part(whole, ...at);
  return slots.get(trace)?.get(key(name, at))?.ready;
}

function key(name: string, at: number[]): string {
  return `${name}@${at.join(",")}`;
}

function slot(trace: Trace, name: string, at: number[]): Slot {
  const mine = slots.get(trace) ?? new Map<string, Slot>();
  slots.set(trace, mine);
  const known = mine.get(key(name, at));
  if (known) return known;
  const here = tensorNow(trace, name, at);
  const made: Slot = here
    ? { promise: Promise.resolve(here), ready: here }
    : { promise: fetchTensor(trace, name, at) };
  made.promise.then(
    (ready) => {
      made.ready = ready;
    },
    () => mine.delete(key(name, at)),
  );
  mine.set(key(name, at), made);
  return made;
}

async function fetchTensor(trace: Trace, name: string, at: number[]): Promise<Tensor> {
  if (saved) return savedTensor(saved, name, at);
  const query = at.length > 0 ? `?at=${at.join(",")}` : "";
  const response = await sendOfTrace(trace, `tensors/${encodeURIComponent(name)}${query}`);
  const shape = parseShape(response.headers.get("X-Shape"));
  return { shape, data: readFloats(await response.arrayBuffer()) };
}

function parseShape(header: string | null): number[] {
  return header ? header.split(",").map(Number) : [];
}
