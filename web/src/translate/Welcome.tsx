/** What a visitor sees before typing: a translated example, and three questions to begin with. */
import type { ComponentChildren } from "preact";
import { saved } from "../api/saved.ts";
import type { Translation } from "../api/types.ts";
import { compareTexts } from "../drawing/differences.ts";
import { Marked, Num } from "../drawing/Number.tsx";
import { headName } from "../panels/lens/headList.ts";
import type { Address } from "../state/address.ts";
import { HOME } from "../state/address.ts";
import { address, link, model } from "../state/store.ts";
import { exampleFor, pairFor } from "./examples.ts";
import { example, twoSearches } from "./welcomeState.ts";
import { aligned } from "./words.ts";

/** The page in a sentence. */
export const WHAT_THIS_IS =
  "A Transformer that translates, and that you can look into: every number on the way is here.";

/** The example beside the questions. */
export function Welcome() {
  if (saved) return null;
  const { state, value } = example.value;
  return (
    <div class="welcome">
      <section class="welcome-example" aria-labelledby="welcome-example">
        <h2 id="welcome-example">An example</h2>
        {value ? (
          <Example of={value} />
        ) : (
          <p class="muted">
            {state === "failed" ? "It could not be translated." : "Translating …"}
          </p>
        )}
      </section>
      <section class="welcome-questions" aria-labelledby="welcome-questions">
        <h2 id="welcome-questions">Three questions to begin with</h2>
        <ul>
          <PairCard />
          <SearchCard />
          <HeadCard />
        </ul>
        <p>
          Or take the <a href={to({ panel: "guide" })}>guide</a>: the paper in 15 stops, on your own
          sentence.
        </p>
      </section>
    </div>
  );
}

/** A link into the Explore view, with nothing of the present address but model and target. */
function to(changes: Partial<Address>): string {
  const { model: name, target } = address.value;
  return link({ ...HOME, model: name, target, view: "explore", ...changes });
}

/* The three questions. */

interface CardProps {
  question: string;
  href: string;
  children: ComponentChildren;
}

function Card({ question, href, children }: CardProps) {
  return (
    <li>
      <a class="welcome-card" href={href}>
        <strong>{question}</strong>
        <span>{children}</span>
      </a>
    </li>
  );
}

function PairCard() {
  const pair = pairFor(model.value);
  if (!pair) return null;
  const { question, says, target, first, second } = pair;
  return (
    <Card
      question={question}
      href={to({ panel: "pair", target, text: first, extra: { against: second } })}
    >
      {says}
    </Card>
  );
}

function SearchCard() {
  const found = twoSearches.value.value;
  const sentence = found?.beam.source ?? exampleFor(model.value, address.value.target);
  if (!sentence) return null;
  return (
    <Card
      question="When does beam search beat greedy?"
      href={to({ panel: "search", text: sentence, method: "beam", beam: 4 })}
    >
      {found ? (
        <>
          Greedy:{" "}
          <Marked parts={compareTexts(found.beam.text, found.greedy.text).after} mark="ins" /> (log
          P <Num value={found.greedy.log_prob} digits={2} />
          ). Beam of 4:{" "}
          <Marked parts={compareTexts(found.greedy.text, found.beam.text).after} mark="ins" /> (log
          P <Num value={found.beam.log_prob} digits={2} />
          ).
        </>
      ) : (
        "Taking the most probable word at each step may miss the most probable sentence. See the tree of all that was tried."
      )}
    </Card>
  );
}

function HeadCard() {
  const sentence = exampleFor(model.value, address.value.target);
  const [layer, head] = model.value?.alignment_heads[0] ?? [0, 0];
  if (!sentence) return null;
  const off = { side: "cross" as const, layer, head };
  return (
    <Card
      question="What if I switch this head off?"
      href={to({ panel: "lens", text: sentence, without: [off] })}
    >
      {headName(off)} is one of the heads that align words. Without it, the sentence is translated
      anew: what is lost?
    </Card>
  );
}

/* The example: both sentences as columns of words, with lines where each new word looked. */

const ROW = 22;
const LEAST = 0.12; // of the largest weight: below, there is no line

function Example({ of }: { of: Translation }) {
  const between = aligned(of.source, of.text, of.alignment);
  const source = between.source.map(([start, end]) => of.source.slice(start, end));
  const target = between.target.map(([start, end]) => of.text.slice(start, end));
  const height = ROW * Math.max(source.length, target.length);
  const middle = (count: number, at: number) => ((at + 0.5) * height) / Math.max(1, count);
  return (
    <>
      <p class="welcome-sentences">
        <span lang={undefined}>{of.source}</span> <span aria-hidden="true">→</span>{" "}
        <b id="welcome-translation">{of.text}</b>
      </p>
      <figure class="welcome-figure" data-figure="welcome">
        <div class="welcome-words" style={{ height: `${height}px` }} aria-hidden="true">
          <Column words={source} />
          <svg viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" aria-hidden="true">
            {between.weights.flatMap((row, into) =>
              row.map((weight, from) =>
                weight < LEAST ? null : (
                  <line
                    key={`${into}.${from}`}
                    x1={0}
                    x2={100}
                    y1={middle(source.length, from)}
                    y2={middle(target.length, into)}
                    style={{ strokeWidth: 4 * weight, opacity: 0.25 + 0.75 * weight }}
                  />
                ),
              ),
            )}
          </svg>
          <Column words={target} />
        </div>
        <figcaption>
          Where the network looked in the source while it wrote each word: cross-attention, mean of
          the heads that align words. It is where it looks, not why.{" "}
          <a href={to({ panel: "attention", text: of.source })}>Look inside this translation</a>
        </figcaption>
      </figure>
    </>
  );
}

function Column({ words }: { words: string[] }) {
  return (
    <ol>
      {words.map((word, at) => (
        <li key={at}>{word}</li>
      ))}
    </ol>
  );
}
