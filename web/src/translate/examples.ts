/** Sentences to begin with, in a language that the model reads. */
import type { Model } from "../api/types.ts";
import { listSources } from "../state/requests.ts";

const EXAMPLES: Record<string, readonly string[]> = {
  fr: [
    "Nous avons acheté une maison blanche.",
    "La vieille maison est au bord de la mer.",
    "Où est la gare ?",
  ],
  en: ["We bought a white house.", "The old house is by the sea.", "Where is the station?"],
  de: ["Wir haben ein weißes Haus gekauft.", "Das alte Haus steht am Meer.", "Wo ist der Bahnhof?"],
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
