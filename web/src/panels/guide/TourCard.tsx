/** The card of the tour: shown beside whatever panel the tour is at. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
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
import type { Inline } from "./lines.ts";
import { stepAddress, TOUR, type TourStep, withinTour } from "./tour.ts";
import "./guide.css";
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { asProblem } from "../../api/client.ts";
import { tensor } from "../../api/tensors.ts";
import type { Trace } from "../../api/types.ts";
import { tell } from "../../state/notices.ts";
import { pause } from "../../state/player.ts";
import { exampleFor } from "../../translate/examples.ts";
import { type Facts, gather } from "./facts.ts";

/** Nothing while there is no tour. */
export function TourCard() {
  const { tour } = address.value;
  return tour === null ? null : <Card place={withinTour(tour)} />;
}

function Card({ place }: { place: number }) {
  const step = TOUR[place] as TourStep;
  const title = useRef<HTMLHeadingElement>(null);
  const [open, setOpen] = useState(true);
  useEffect(followTour, []);
  useEffect(() => {
    document.documentElement.dataset.tour = open ? "open" : "closed";
    return () => {
      delete document.documentElement.dataset.tour;
    };
  }, [open]);
  useEffect(() => {
    if (moves.value === movesSeen) return;
    movesSeen = moves.value;
    title.current?.focus({ preventScroll: true });
    return reveal(step.figure);
  }, [place, moves.value]);
  return (
    <aside class="guide-card" aria-label="Tour" data-step={place} onKeyDown={keys(place)}>
      <header>
        <p class="guide-count">
          {place + 1} of {TOUR.length} <span aria-hidden="true">·</span> paper, {step.section}
        </p>
        <button
          type="button"
          class="quiet-button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {open ? "Fold" : "Unfold"}
        </button>
        <button type="button" class="quiet-button" onClick={leave}>
          Exit<span class="visually-hidden"> the tour</span>
        </button>
      </header>
      <h2 ref={title} tabIndex={-1}>
        {step.title}
      </h2>
      {open && <Words step={step} place={place} />}
      <nav aria-label="Steps of the tour">
        <button
          type="button"
          class="button"
          disabled={place === 0}
          onClick={() => toStep(place - 1)}
        >
          Back
        </button>
        <span class="guide-bar" aria-hidden="true">
          <span style={{ inlineSize: `${(100 * (place + 1)) / TOUR.length}%` }} />
        </span>
        {place === TOUR.length - 1 ? (
          <button type="button" class="button guide-next" onClick={leave}>
            Done
          </button>
        ) : (
          <button type="button" class="button guide-next" onClick={() => toStep(place + 1)}>
            Next
          </button>
        )}
      </nav>
    </aside>
  );
}

function Words({ step, place }: { step: TourStep; place: number }) {
  const known = facts.value;
  if (!known) return <p class="guide-waiting">{waitingWords()}</p>;
  const wanted = stepAddress(place, known);
  return (
    <div class="guide-words">
      {step.words(known).map((sentence, number) => (
        <p key={number}>
          {sentence.map((part, at) => (
            <Part key={at} part={part} />
          ))}
        </p>
      ))}
      <p class="guide-hint">{step.hint}</p>
      {!inView(address.value, wanted) && (
        <button type="button" class="button" onClick={() => go(wanted)}>
          Show what this is about
        </button>
      )}
    </div>
  );
}

/** Why there is nothing to say yet. */
function waitingWords(): string {
  if (address.value.text.trim() === "") return "Type a sentence, and the tour continues with it.";
  return baseline.value.state === "failed"
    ? "Your sentence could not be looked at; the panel says why. Try another one."
    : "Looking at your sentence …";
}

function Part({ part }: { part: Inline }) {
  if (typeof part === "string") return <>{part}</>;
  if (part.kind === "number") return <Num value={part.value} digits={part.digits} />;
  return <b class="guide-token">{plain(part.piece)}</b>;
}

/** Leave; the focus goes to what holds the panel: the panel itself may still be on its way. */
function leave(): void {
  endTour();
  document.getElementById("content")?.focus({ preventScroll: true });
}

/** Escape leaves, n and b go on and back; only while the focus is inside the card. */
function keys(place: number) {
  return (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      Escape: leave,
      n: () => toStep(place + 1),
      b: () => toStep(place - 1),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
}

/* Brings the figure that a step of the tour speaks of into view, once its panel has drawn it. */

const PATIENCE = 10_000; // milliseconds

/**
 * Scroll to the first figure whose name begins so, or to the top; returns what gives up waiting. A
 * wide window stays at its top where the figure begins in the upper half; on a phone, the figure
 * goes to the very top, because the card takes the lower half.
 */
function reveal(figure: string | undefined): () => void {
  if (figure === undefined) {
    scrollTo(0, 0);
    return () => {};
  }
  const look = (): boolean => {
    const found = document.querySelector(`[data-figure^="${figure}"]`);
    if (found === null) return false;
    const begins = found.getBoundingClientRect().top + scrollY;
    const phone = matchMedia("(width < 48rem)").matches;
    if (!phone && begins < innerHeight / 2) scrollTo(0, 0);
    else found.scrollIntoView({ block: "start" });
    return true;
  };
  if (look()) return () => {};
  const observer = new MutationObserver(() => look() && observer.disconnect());
  observer.observe(document.body, { childList: true, subtree: true });
  const timer = setTimeout(() => observer.disconnect(), PATIENCE);
  return () => {
    clearTimeout(timer);
    observer.disconnect();
  };
}

/* The tour under way: its facts, and going from step to step. */

const gathered = signal<Facts | null>(null);

/** The step whose view has still to be shown, once its facts are here. */
let pending: number | null = null;

/** The facts of the present sentence; null until they are here. */
export const facts: ReadonlySignal<Facts | null> = computed(() =>
  findFacts(baseline.value, gathered.value),
);

/** Return what is known, if it is of the trace that is shown, and that has not failed. Pure. */
export function findFacts(now: Loaded<Trace>, known: Facts | null): Facts | null {
  return now.state !== "failed" && known?.trace === now.value ? known : null;
}

/** Counts the reader's own moves: after one, but not after a link, the card takes the focus. */
const moves = signal(0);
let movesSeen = 0;

/** Begin the tour, with an example where there is no sentence yet. */
export function startTour(place = 0): void {
  if (address.peek().text.trim() === "") {
    const example = exampleFor(model.peek(), address.peek().target);
    if (example) go(newText(example), { replace: true });
  }
  toStep(place);
}

/** Go to a step: to its panel at once, to its head and token as soon as they are known. */
function toStep(place: number): void {
  pause();
  const wanted = withinTour(place);
  const known = current();
  moves.value += 1;
  pending = known ? null : wanted;
  go(stepAddress(wanted, known));
}

/** Leave the tour, and stay where one is. */
function endTour(): void {
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
    showPending(found);
  } catch (error) {
    if (baseline.peek().value === trace) tell(asProblem(error), { again: true });
  }
}

/** Show the view of the step that waited for these facts. */
function showPending(found: Facts): void {
  const wanted = pending;
  pending = null;
  if (wanted !== null && wanted === address.peek().tour) {
    go(stepAddress(wanted, found), { replace: true });
  }
}

/** Gather facts while there is a tour; returns what ends it. */
function followTour(): () => void {
  return effect(() => {
    const now = baseline.value;
    retries.value;
    if (now.state !== "ready" || !now.value) return;
    const known = gathered.peek();
    // A sentence that was changed and changed back has its facts already.
    if (known?.trace === now.value) showPending(known);
    else void collect(now.value);
  });
}
