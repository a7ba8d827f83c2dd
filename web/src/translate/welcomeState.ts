/** What the page shows before anything is typed: an example, and a sentence that two searches tell apart. */
import { computed, effect } from "@preact/signals";
import { translate } from "../api/client.ts";
import type { Translation } from "../api/types.ts";
import { follow } from "../state/follow.ts";
import { findTarget } from "../state/requests.ts";
import { address, model } from "../state/store.ts";
import { exampleFor, sentencesToSearch } from "./examples.ts";

/** What is asked for: sentences of one model in one direction. */
interface Wanted {
  model: string;
  target: string;
  texts: readonly string[];
}

/** A sentence for which a beam found a more probable translation than greedy search. */
export interface TwoSearches {
  greedy: Translation;
  beam: Translation;
}

/** By how much log P must differ: below, the difference is one of rounding. */
const BETTER = 0.05;

const exampleFollower = follow<Wanted, Translation | null>(async ({ texts, ...of }, abort) => {
  const answer = await translate({ ...of, texts: [...texts], alignment: true }, abort);
  return answer.translations[0] ?? null;
});

const searchFollower = follow<Wanted, TwoSearches | null>(async ({ texts, ...of }, abort) => {
  const ask = (search: { method: "greedy" } | { method: "beam"; beam: number }) =>
    translate({ ...of, texts: [...texts], search: { ...search, n_best: 1 } }, abort);
  const greedy = await ask({ method: "greedy" });
  const beam = await ask({ method: "beam", beam: 4 });
  return findBetterBeam(greedy.translations, beam.translations);
});

/** The first sentence whose beam found a more probable translation; null: there is none. Pure. */
export function findBetterBeam(
  greedy: readonly Translation[],
  beam: readonly Translation[],
): TwoSearches | null {
  const at = beam.findIndex((found, place) => {
    const other = greedy[place];
    return other && found.text !== other.text && found.log_prob > other.log_prob + BETTER;
  });
  const [one, other] = [greedy[at], beam[at]];
  return one && other ? { greedy: one, beam: other } : null;
}

/** The translated example. */
export const example = exampleFollower.current;

/** Where beam search beats greedy search. */
export const twoSearches = searchFollower.current;

const wanted = computed(() => {
  const { view, text, target } = address.value;
  const chosen = model.value;
  if (view !== "translate" || text.trim() !== "" || !chosen) return null;
  const into = findTarget(chosen, { target });
  const sentence = exampleFor(chosen, target);
  if (!into || !sentence) return null;
  return {
    example: { model: chosen.name, target: into, texts: [sentence] },
    searched: { model: chosen.name, target: into, texts: sentencesToSearch(chosen, target) },
  };
});
const wantedKey = computed(() => JSON.stringify(wanted.value));

/** Begin to ask for both while nothing is typed. Called once, by main. */
export function startWelcome(): void {
  effect(() => {
    wantedKey.value;
    exampleFollower.ask(wanted.peek()?.example ?? null, 0);
  });
  effect(() => {
    wantedKey.value;
    // The example comes first: it is what a visitor waits for.
    const first = exampleFollower.current.value.state !== "loading";
    if (first || wanted.peek() === null) searchFollower.ask(wanted.peek()?.searched ?? null, 0);
  });
}
