/** The tour under way: its facts, and going from step to step. */
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { asProblem } from "../../api/client.ts";
import { tensor } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import { tell } from "../../state/notices.ts";
import { pause } from "../../state/player.ts";
import {
  type Address,
  address,
  baseline,
  go,
  type Loaded,
  model,
  newText,
  retries,
} from "../../state/store.ts";
import { exampleFor } from "../../translate/examples.ts";
import { type Facts, gather } from "./facts.ts";
import { stepAddress, withinTour } from "./tour.ts";

const gathered = signal<Facts | null>(null);

/** The step whose view has still to be shown, once its facts are here. */
let pending: number | null = null;

/** The facts of the present sentence; null until they are here. */
export const facts: ReadonlySignal<Facts | null> = computed(() =>
  factsOf(baseline.value, gathered.value),
);

/** Return what is known, if it is of the trace that is shown, and that has not failed. Pure. */
export function factsOf(now: Loaded<Trace>, known: Facts | null): Facts | null {
  return now.state !== "failed" && known?.trace === now.value ? known : null;
}

/** Whether the card should take the focus: it was moved by the reader, not by a link. */
export const focusWanted = signal(false);

/** Begin the tour, with an example where there is no sentence yet. */
export function startTour(place = 0): void {
  if (address.peek().text.trim() === "") {
    const example = exampleFor(model.peek(), address.peek().target);
    if (example) go(newText(example), { replace: true });
  }
  toStep(place);
}

/** Go to a step: to its panel at once, to its head and token as soon as they are known. */
export function toStep(place: number): void {
  pause();
  const wanted = withinTour(place);
  const known = current();
  focusWanted.value = true;
  pending = known ? null : wanted;
  go(stepAddress(wanted, known));
}

/** Leave the tour, and stay where one is. */
export function endTour(): void {
  pending = null;
  go({ tour: null });
}

/** The facts, if no other sentence is on its way. */
function current(): Facts | null {
  return baseline.peek().state === "ready" ? facts.peek() : null;
}

/** Whether the page shows what a step speaks of. */
export function inView(here: Address, wanted: Partial<Address>): boolean {
  return Object.entries(wanted).every(
    ([key, value]) => JSON.stringify(here[key as keyof Address]) === JSON.stringify(value),
  );
}

async function collect(trace: Trace): Promise<void> {
  try {
    const found = await gather(trace, (name) => tensor(trace, name));
    if (baseline.peek().value !== trace) return;
    gathered.value = found;
    if (pending !== null && pending === address.peek().tour) {
      go(stepAddress(pending, found), { replace: true });
    }
    pending = null;
  } catch (error) {
    tell(asProblem(error), { again: true });
  }
}

/** Gather facts while there is a tour; returns what ends it. */
export function followTour(): () => void {
  return effect(() => {
    const now = baseline.value;
    retries.value;
    if (now.state !== "ready" || !now.value || gathered.peek()?.trace === now.value) return;
    void collect(now.value);
  });
}
