/** The tour: its steps in the order in which the paper builds the network, in our own words. */

import type { Address } from "../../state/address.ts";
import type { Facts } from "./facts.ts";
import type { Inline } from "./lines.ts";
import * as lines from "./lines.ts";

/** One step: what is said, where the paper says it, and which view shows it. */
export interface TourStep {
  title: string;
  /** The section of "Attention Is All You Need" (Vaswani et al. 2017). */
  section: string;
  /** One line for the table of contents. */
  about: string;
  panel: Address["panel"];
  /** What the name of the figure begins with that is spoken of; the panel's top, if not given. */
  figure?: string;
  /** The rest of the address, chosen from the facts. */
  view: (facts: Facts) => Partial<Address>;
  /** Paragraphs. */
  words: (facts: Facts) => Inline[][];
  /** What the reader can try here. */
  hint: string;
}

const nothing = (): Partial<Address> => ({});

/** All steps. */
export const TOUR: TourStep[] = [
  {
    title: "Why attention",
    section: "sections 1 and 2",
    about: "A translator without a chain of states",
    panel: "map",
    figure: "map",
    view: () => ({ step: 0 }),
    words: lines.why,
    hint: "Choose any box of the drawing to go to it.",
  },
  {
    title: "Words become tokens",
    section: "section 5.1",
    about: "Pieces of a shared vocabulary",
    panel: "tokens",
    figure: "tokens-source",
    view: () => ({ extra: {} }),
    words: lines.tokens,
    hint: "Write a rare word or a name into the sentence box, and see how it is cut.",
  },
  {
    title: "Tokens become vectors",
    section: "section 3.4",
    about: "Embeddings, times √d_model",
    panel: "tokens",
    figure: "embedding-source",
    view: () => ({ extra: { positions: "off" } }),
    words: lines.embeddings,
    hint: "Two equal tokens have equal rows, as long as no position is added.",
  },
  {
    title: "Where a word stands",
    section: "section 3.5",
    about: "How the order of words gets in",
    panel: "tokens",
    figure: "embedding-source",
    view: () => ({ extra: {} }),
    words: lines.positions,
    hint: "Go through the figures of this panel: they show how near positions are to each other.",
  },
  {
    title: "The source looks at itself",
    section: "sections 3.2.3 and 4",
    about: "Self-attention of the encoder",
    panel: "attention",
    figure: "encoder-layer-",
    view: ({ encoder }) => ({ side: "encoder", shape: "matrix", ...placed(encoder) }),
    words: lines.encoder,
    hint: "Point at another word to see where it looks.",
  },
  {
    title: "Several heads at once",
    section: "section 3.2.2",
    about: "Every head asks another question",
    panel: "attention",
    figure: "encoder-all-heads",
    view: ({ apart }) => ({
      side: "encoder",
      shape: "matrix",
      layer: apart?.layer ?? 0,
      head: apart?.one ?? 0,
    }),
    words: lines.heads,
    hint: "Go through the small pictures: each is one head.",
  },
  {
    title: "One head in six steps",
    section: "section 3.2.1, equation 1",
    about: "q·k, ÷ √d_k, mask, softmax, × v, sum",
    panel: "steps",
    figure: "attention-in-six-steps",
    view: ({ encoder }) => ({ side: "encoder", ...placed(encoder) }),
    words: lines.sixSteps,
    hint: "Choose another query: all numbers are computed for it.",
  },
  {
    title: "Add, norm, and think it over",
    section: "sections 3.1, 3.3 and 5.4",
    about: "Residual sums and the feed-forward network",
    panel: "norm",
    figure: "add-and-norm",
    view: ({ stream }) => ({
      side: "encoder",
      layer: stream?.layer ?? 0,
      query: stream?.token ?? null,
      extra: { sublayer: "feed_forward" },
    }),
    words: lines.addAndNorm,
    hint: "Go on to Feed-forward in the list: there, each unit is worked out by itself.",
  },
  {
    title: "The decoder must not peek",
    section: "section 3.2.3",
    about: "Masked self-attention",
    panel: "attention",
    figure: "decoder-layer-",
    view: ({ decoder }) => ({
      side: "decoder",
      shape: "matrix",
      ...placed(decoder),
      step: decoder?.query ?? 0,
    }),
    words: lines.mask,
    hint: "Press play and watch the triangle grow row by row.",
  },
  {
    title: "Looking back at the source",
    section: "section 3.2.3",
    about: "Cross-attention aligns words",
    panel: "attention",
    figure: "cross-layer-",
    view: ({ cross }) => ({
      side: "cross",
      shape: "matrix",
      ...placed(cross),
      step: cross?.query ?? 0,
    }),
    words: lines.cross,
    hint: "Step through the translation below, and see the attention move.",
  },
  {
    title: "From a vector to a word",
    section: "section 3.4",
    about: "Logits and softmax",
    panel: "output",
    figure: "softmax",
    view: ({ unsure }) => ({ step: unsure, temperature: 1 }),
    words: lines.output,
    hint: "Choose a token that was not taken, and see the rest change.",
  },
  {
    title: "Greedy, or with a beam",
    section: "section 6.1",
    about: "Searching for the best sentence",
    panel: "search",
    figure: "search-",
    view: nothing,
    words: lines.search,
    hint: "Set the beam to 1 and compare.",
  },
  {
    title: "Nothing is computed twice",
    section: "section 3.1; the cache is ours",
    about: "What the mask makes possible",
    panel: "cache",
    figure: "cache-triangle",
    view: ({ trace }) => ({ step: trace.steps.length - 1 }),
    words: lines.cache,
    hint: "Step back to the first token and forward again.",
  },
  {
    title: "What if a head were missing",
    section: "section 6.2, table 3",
    about: "Reading layers, switching heads off",
    panel: "lens",
    figure: "head-switches",
    view: ({ trace }) => ({ step: Math.max(0, trace.steps.length - 2) }),
    words: lines.missing,
    hint: "Switch a head off. Then try a whole layer.",
  },
  {
    title: "How it learned",
    section: "sections 5.3 and 5.4",
    about: "Warm-up and label smoothing",
    panel: "training",
    view: nothing,
    words: lines.learning,
    hint: "That was the tour. Every panel works on any sentence that you write.",
  },
];

/**
 * Return the address of a step; heads that are off and forced tokens are taken back. Before the
 * facts of the sentence are known, it has the panel only.
 */
export function stepAddress(place: number, facts: Facts | null): Partial<Address> {
  const step = TOUR[withinTour(place)] as TourStep;
  return {
    view: "explore",
    panel: step.panel,
    tour: withinTour(place),
    prefix: [],
    without: [],
    ...(facts ? step.view(facts) : {}),
  };
}

/** Return a step within the tour that is nearest to the one asked for. */
export function withinTour(place: number): number {
  return Math.min(Math.max(0, place), TOUR.length - 1);
}

function placed(link: Facts["encoder"]): Partial<Address> {
  return link ? { layer: link.layer, head: link.head, query: link.query } : {};
}
