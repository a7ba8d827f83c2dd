/** What the tour says at each step. Each function returns paragraphs, with the sentence's numbers. */
import type { Facts } from "./facts.ts";

/** What one step says of a sentence. */
type Lines = (facts: Facts) => Inline[][];

/** Why attention. */
export const why: Lines = ({ trace }) => [
  say`Older networks read a sentence one word after another and carried all of it along in a single state. What was far back faded, and no step could begin before the last had ended.`,
  say`Here every token may look at every other one, at once. That looking is attention. The drawing has three kinds of it. Your sentence, ${trace.source_tokens.length} tokens with the end symbol, enters the encoder; the translation leaves the decoder, one token per step.`,
];

/** A word without the full stop or the like that stands at its end. */
function withoutSigns<T extends { piece: string }>(pieces: T[]): T[] {
  return pieces.slice(0, pieces.findLastIndex(({ piece }) => /[\p{L}\p{N}]/u.test(piece)) + 1);
}

/** Tokens. */
export const tokens: Lines = ({ trace }) => {
  const words = trace.words.source.map(([first = 0, end = 0]) =>
    withoutSigns(trace.source_tokens.slice(first, end)),
  );
  const pieces = words.find((word) => word.length > 1) ?? [];
  return [
    say`A vocabulary of ${trace.model.source_vocab_size} pieces cuts any text. Frequent words are one piece, rare ones are put together from several, so hardly a word is unknown.`,
    pieces.length > 0
      ? [
          "In your sentence, ",
          ...pieces.flatMap(({ piece }, place): Inline[] =>
            place === 0 ? [token(piece)] : [" + ", token(piece)],
          ),
          " make one word.",
        ]
      : say`In your sentence, every word is one piece.`,
    say`The last token is the end symbol: it tells the network that the sentence is over.`,
  ];
};

/** Embeddings. */
export const embeddings: Lines = ({ trace: { model } }) => [
  say`Each token is a row of a table: ${model.d_model} numbers, learned like all others. They are multiplied by √${model.d_model} = ${number(Math.sqrt(model.d_model))} (section 3.4).`,
  {
    all: say`One and the same table serves the source, the translation and the last layer.`,
    decoder: say`The translation's table serves the last layer too; the source has its own.`,
    none: say`Source, translation and last layer each have a table of their own.`,
  }[model.tying as "all" | "decoder" | "none"],
];

const ORDER: Record<string, string> = {
  learned: "This network has learned a vector for every place and adds it to the token's.",
  rotary:
    "This network adds nothing: it turns queries and keys by an angle that grows with the place. The paper adds waves instead.",
  relative:
    "This network adds nothing: each head has learned how much to favour each distance. The paper adds waves instead.",
  none: "This network knows nothing about order except what the mask gives away. The paper adds waves.",
};

/** Positions. */
export const positions: Lines = ({ trace: { model } }) => [
  say`To attention, a sentence is a bag: nothing in it knows what came first.`,
  [
    ORDER[model.positions] ??
      `So to each token a vector is added that depends on its place alone: sines and cosines, from a wave that turns every six tokens to one that hardly moves. The sum of both, ${model.d_model} numbers per token, enters the first layer.`,
  ],
];

/** Encoder self-attention. */
export const encoder: Lines = ({ trace, encoder: link }) => [
  say`In the encoder, queries, keys and values all come from the source: each token gathers from the others what it needs. One row is one token looking, and its weights add up to 1.`,
  link
    ? say`The largest weight from a token of your sentence to one of another word, not right beside it: in layer ${link.layer + 1}, head ${link.head + 1}, ${token(trace.source_tokens[link.query]?.piece)} gives ${token(trace.source_tokens[link.key]?.piece)} a weight of ${number(link.weight)}, across ${between(link)}. A chain of states would have had to carry it all that way.`
    : say`Your sentence is too short for bonds across other words. Write a longer one.`,
];

/** The tokens between the two ends of a link, in words. */
function between({ query, key }: { query: number; key: number }): string {
  const count = Math.abs(query - key) - 1;
  return `${count} ${count === 1 ? "token" : "tokens"}`;
}

/** Multi-head attention. */
export const heads: Lines = ({ trace: { model }, apart }) => [
  say`One average over the sentence would blur what it gathers. So there are ${model.heads} heads per layer, each with its own projections to ${model.d_k} of the ${model.d_model} dimensions, and each free to look elsewhere. Their results are put side by side and projected once more.`,
  apart
    ? say`In the encoder, on your sentence, heads ${apart.one + 1} and ${apart.other + 1} of layer ${apart.layer + 1} differ the most: ${number(100 * apart.distance, 0)} % of their attention lies in different places.`
    : say`This network has a single head per layer.`,
];

/** One head in six steps. */
export const sixSteps: Lines = ({ trace, encoder: link }) => [
  link
    ? say`The whole of equation 1, with the numbers of one query: that of ${token(trace.source_tokens[link.query]?.piece)}, in the head you have just seen.`
    : say`The whole of equation 1, with the numbers of one query.`,
  say`It is compared with every key by a dot product. Long vectors make large products, and a softmax of large numbers is nearly all or nothing; so they are divided by √d_k = ${number(Math.sqrt(trace.model.d_k))}.`,
  say`What may not be seen is set to −∞. The softmax turns the rest into weights, and the sum of the values, so weighted, is what this head hands on.`,
];

/** Add & Norm and feed-forward. */
export const addAndNorm: Lines = ({ trace, stream }) => [
  say`A sublayer never replaces a token's vector: its result is added to it. Around every sum stands a layer norm, ${trace.model.norm === "pre" ? "in this network before each sublayer, in the paper after it" : "after each sublayer as in the paper"}. Then each token goes through a small network by itself, ${trace.model.d_model} → ${trace.model.d_ff} → ${trace.model.d_model} (equation 2).`,
  stream
    ? say`In encoder layer ${stream.layer + 1}, the vector of ${token(trace.source_tokens[stream.token]?.piece)} comes in with a length of ${number(stream.before)}; attention adds a vector of length ${number(stream.attention)}, the feed-forward network one of ${number(stream.feedForward)}.`
    : say`While training, a share of these results is dropped by chance (dropout, section 5.4).`,
];

/** The decoder's mask. */
export const mask: Lines = ({ trace, decoder: link }) => [
  say`The decoder reads what it has written so far. In training it is given the whole translation at once, so everything to the right must be hidden: the hatched half, where scores are −∞ and weights exactly 0.`,
  link
    ? say`Here, layer ${link.layer + 1}, head ${link.head + 1}: ${token(trace.target_tokens[link.query]?.piece)} looks back at ${token(trace.target_tokens[link.key]?.piece)} with a weight of ${number(link.weight)}.`
    : say`That is why it can learn every position of a sentence in a single pass.`,
];

/** Cross-attention. */
export const cross: Lines = ({ trace, cross: link }) => [
  say`The only place where the translation sees the source: queries come from the decoder, keys and values from the encoder's output. Nobody has told these heads which word means which. The weights say where it looks, not why it writes what it writes.`,
  link
    ? say`${trace.alignment_heads.length > 0 ? "One of the heads that align words" : "One of these heads"} is head ${link.head + 1} of layer ${link.layer + 1}: its largest weight on a word of the source is ${number(link.sharpness)}, on average over your sentence. For ${token(link.piece)}, it gives ${token(trace.source_tokens[link.key]?.piece)} a weight of ${number(link.weight)}.`
    : say`In your sentence there is no word to align.`,
];

/** Output softmax. */
export const output: Lines = ({ trace, unsure }) => {
  const step = trace.steps[unsure];
  const [first, second] = step?.top ?? [];
  return [
    say`The decoder's last vector is compared with the vector of every token of the vocabulary. These ${trace.model.target_vocab_size} logits go through a softmax, and are probabilities.`,
    step && first && second
      ? say`Step ${unsure + 1} is where the network was least sure (entropy ${number(step.entropy)} nats): ${token(first.piece)} has a probability of ${number(Math.exp(first.log_prob), 3)}, ${token(second.piece)} of ${number(Math.exp(second.log_prob), 3)}.`
      : say`Temperature makes them flatter or steeper.`,
  ];
};

/** Greedy and beam. */
export const search: Lines = ({ trace, candidates }) => {
  const later = trace.steps.findIndex(({ rank }) => rank > 1);
  return [
    say`The likeliest token now need not begin the likeliest sentence. Greedy search takes it all the same; a beam keeps several beginnings side by side. Scores are divided by a length penalty (α = ${number(trace.search.length_penalty, 1)}), or short translations would always win.`,
    candidates
      ? say`The tree for your sentence has ${candidates.seen} candidates; ${candidates.dropped} of them were dropped.`
      : say`This translation was given, not searched for.`,
    later >= 0
      ? say`At step ${later + 1} the winner has ${token(trace.steps[later]?.token.piece)}, only number ${trace.steps[later]?.rank ?? 0} by probability: greedy search would have taken another.`
      : say`At every step the winner took the likeliest token: greedy search would have found the same.`,
  ];
};

/** Cache. */
export const cache: Lines = ({ multiplications: { made, without } }) => [
  say`Because of the mask, what was computed for a token never changes when more is written. Its keys and values are kept, and each step computes one new row only. The source's were computed once, before the first step.`,
  say`For your sentence the decoder made ${number(made / 1e6, 1)} million multiplications instead of ${number(without / 1e6, 1)} million: ${number(without / Math.max(1, made), 1)} times fewer.`,
];

/** Lens and heads off. */
export const missing: Lines = ({ cross: link }) => [
  say`The paper asks what each part is good for by building networks without it. With a trained one there are cheaper ways: read an early layer as if it were the last, or switch a head off and translate again.`,
  link
    ? say`Try it with the head of a few stops ago: cross ${link.layer + 1}.${link.head + 1}. Often the others make up for it.`
    : say`Often the others make up for a missing head.`,
];

/** Training. */
export const learning: Lines = () => [
  say`The network learned from pairs of sentences: at every place it was asked for the next token. In the paper, the learning rate rises first and falls later (equation 3), so that early steps do not spoil what comes after.`,
  say`Label smoothing asks for a little doubt: most of the target is the right token, the rest is spread over all others. That makes perplexity worse and translations better. Here you see a run learn, if the server was given one.`,
];

/* Sentences with numbers and tokens in them, kept apart from how they are shown. */

/** A part of a sentence: plain text, a number with its full precision, or a token. */
export type Inline =
  | string
  | { kind: "number"; value: number; digits: number }
  | { kind: "token"; piece: string };

/** A number of the trace, shown with this many digits after the point. */
export function number(value: number, digits = 2): Inline {
  return { kind: "number", value, digits };
}

/** A token of the sentence or of its translation. */
export function token(piece: string | undefined): Inline {
  return { kind: "token", piece: piece ?? "" };
}

/** Put a sentence together: say`Head ${2} looks at ${token("▁il")}.` */
export function say(strings: TemplateStringsArray, ...values: (Inline | number)[]): Inline[] {
  return strings.flatMap((text, place) => {
    const value = values[place];
    const inline = typeof value === "number" ? value.toLocaleString("en") : value;
    return [text, inline].filter((part): part is Inline => part !== undefined && part !== "");
  });
}

/** Return a sentence as plain text, for a live region or a test. */
export function plain(sentence: Inline[]): string {
  return sentence
    .map((part) => {
      if (typeof part === "string") {
        return part;
      }
      return part.kind === "number"
        ? part.value.toFixed(part.digits).replace("-", "−")
        : `“${part.piece.replace("▁", "")}”`;
    })
    .join("");
}
