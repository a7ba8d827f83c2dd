/** Sentences to begin with, in a language that the model reads. */
import type { Model } from "../api/types.ts";
import { findTarget, listSources } from "../state/requests.ts";

const EXAMPLES: Record<string, readonly string[]> = {
  fr: [
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
    "Nous avons acheté une maison blanche.",
    "Où est la gare ?",
  ],
  en: [
    "The animal didn't cross the street because it was too tired.",
    "We bought a white house.",
    "Where is the station?",
  ],
  de: [
    "Das Tier überquerte die Straße nicht, weil es zu müde war.",
    "Wir haben ein weißes Haus gekauft.",
    "Wo ist der Bahnhof?",
  ],
};

/** Examples for the model's source language; none where we know none. */
export function examplesFor(model: Model | undefined, target: string): readonly string[] {
  const into = model?.targets.includes(target) ? target : model?.targets[0];
  const known = listSources(model, into).find((language) => EXAMPLES[language] !== undefined);
  return known === undefined ? [] : (EXAMPLES[known] ?? []);
}

/** The first of them; undefined: we know none. */
export function exampleFor(model: Model | undefined, target: string): string | undefined {
  return examplesFor(model, target)[0];
}

/* The sentences of the three questions that the page begins with. */

/** Two sentences that differ in one word, on which another word of the translation depends. */
export interface PairOfSentences {
  question: string;
  says: string;
  target: string;
  first: string;
  second: string;
}

const IT = {
  question: "What does “it” refer to?",
  says:
    "“… because it was too tired” or “… too wide”: the translation has to know. Patch one " +
    "activation after the other, and see which of them decides.",
  first: "The animal didn't cross the street because it was too tired.",
  second: "The animal didn't cross the street because it was too wide.",
};

const PAIRS: Record<string, Omit<PairOfSentences, "target">> = {
  fr: {
    question: "Who decides a word?",
    says:
      "Two sentences with one word changed. Patch one activation after the other, and see which " +
      "of them decides what is written.",
    first: "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
    second: "L'animal n'a pas traversé la rue parce qu'elle était trop fatiguée.",
  },
  de: {
    question: "Who decides a word?",
    says:
      "Two sentences with one word changed. Patch one activation after the other, and see which " +
      "of them decides what is written.",
    first: "Der Hund überquerte die Straße nicht, weil er zu müde war.",
    second: "Die Katze überquerte die Straße nicht, weil sie zu müde war.",
  },
};

/** Languages in which “it” has a gender. */
const GENDERED = ["fr", "de", "es", "it", "pt", "ru", "pl", "cs"];

/** The pair for the first question: in English, if the model reads it; null: we know none. */
export function pairFor(model: Model | undefined): PairOfSentences | null {
  const directions = model?.directions ?? [];
  const ofIt = directions.find(([from, into]) => from === "en" && GENDERED.includes(into));
  if (ofIt) return { ...IT, target: ofIt[1] };
  const known = directions.find(([from]) => PAIRS[from] !== undefined);
  const pair = known && PAIRS[known[0]];
  return pair ? { ...pair, target: known[1] } : null;
}

const TO_SEARCH: Record<string, readonly string[]> = {
  fr: [
    "Le comité a rejeté la proposition à une large majorité.",
    "Elle m'a demandé si je voulais qu'elle m'attende.",
    "Il a fini par avouer qu'il avait menti.",
    "Les enfants que nous avons vus hier jouent encore dans le jardin.",
    "J'ai failli rater le dernier train hier soir.",
    "Il vaut mieux tard que jamais.",
    "On ne fait pas d'omelette sans casser des œufs.",
  ],
  en: [
    "The committee rejected the proposal by a large majority.",
    "He finally admitted that he had lied.",
    "She asked me whether I wanted her to wait for me.",
    "The children we saw yesterday are still playing in the garden.",
    "I almost missed the last train last night.",
    "Better late than never.",
  ],
  de: [
    "Der Ausschuss lehnte den Vorschlag mit großer Mehrheit ab.",
    "Er gab schließlich zu, dass er gelogen hatte.",
    "Die Kinder, die wir gestern sahen, spielen noch im Garten.",
    "Besser spät als nie.",
  ],
};

/** Sentences of which one may do for the second question: a beam finds what greedy search misses. */
export function sentencesToSearch(model: Model | undefined, target: string): readonly string[] {
  const into = findTarget(model, { target });
  const known = listSources(model, into).find((language) => TO_SEARCH[language] !== undefined);
  return TO_SEARCH[known ?? ""] ?? examplesFor(model, target);
}
