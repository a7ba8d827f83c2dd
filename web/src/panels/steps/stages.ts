/** The six steps: their names, and what each does, in a sentence. */

/** A step, 1 to 6. */
export type Stage = 1 | 2 | 3 | 4 | 5 | 6;

/** What is said of a step. */
interface StageWords {
  stage: Stage;
  /** For the button. */
  short: string;
  title: string;
  text: string;
}

export const STAGES: readonly StageWords[] = [
  {
    stage: 1,
    short: "q · k",
    title: "How well do they fit?",
    text:
      "The word that looks has a query, every word it may look at has a key. Multiply the two " +
      "place by place and add up: large where they point the same way, negative where they do not.",
  },
  {
    stage: 2,
    short: "÷ √dₖ",
    title: "Scale down",
    text:
      "A sum of dₖ products grows with the root of dₖ. Without the division the softmax would see " +
      "very large numbers, give everything to one word, and learn almost nothing.",
  },
  {
    stage: 3,
    short: "+ mask",
    title: "Hide what may not be seen",
    text:
      "Add 0 where looking is allowed and −∞ where it is not. In the decoder that is the future: " +
      "e to the −∞ is 0, so a hidden word gets nothing at all.",
  },
  {
    stage: 4,
    short: "softmax",
    title: "Scores become shares",
    text:
      "Raise e to every score and divide by the sum. All shares are positive and add up to 1; a " +
      "score that is larger by 1 gets e = 2.718 times the share.",
  },
  {
    stage: 5,
    short: "× v",
    title: "Take that much of each value",
    text:
      "Every word also offers a value: what it has to say, as apart from what it is found by. " +
      "Each value is multiplied by its word's share.",
  },
  {
    stage: 6,
    short: "sum",
    title: "Add up",
    text:
      "The weighted values are added, dimension by dimension. The sum is what this head hands on " +
      "for the word that looked.",
  },
];

/** Return the step that an address names; null: all six at once. */
export function parseStage(word: string | undefined): Stage | null {
  const found = STAGES.find(({ stage }) => String(stage) === word);
  return found?.stage ?? null;
}

/** Return the step to play after this one; null where the last one is shown. */
export function nextStage(stage: Stage | null): Stage | null {
  if (stage === null) return 1;
  return stage < 6 ? ((stage + 1) as Stage) : null;
}
