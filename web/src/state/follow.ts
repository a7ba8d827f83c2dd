/** A value of the server that follows what is asked for: late answers never win. */
import { type ReadonlySignal, signal } from "@preact/signals";
import { asProblem, isAbort, type Problem } from "../api/client.ts";

const KEPT = 8;
const TRIES = 4;

/** Asks questions, and holds the newest answer. */
interface Follower<Q, A> {
  current: ReadonlySignal<Loaded<A>>;
  /** Ask for the answer to a question, after `delay` ms; null: for nothing. */
  ask(question: Q | null, delay: number): void;
  /** Ask for the present answer again, whatever came of it. */
  again(): void;
}

/**
 * Follow questions with answers. A newer question aborts the one under way; the latest answers are
 * kept, so that going back is instant; followers of the same thing may share what they keep.
 */
export function follow<Q, A>(
  answer: (question: Q, abort: AbortSignal) => Promise<A>,
  kept: Map<string, A> = new Map(),
): Follower<Q, A> {
  const current = signal<Loaded<A>>(IDLE);
  let underWay: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked: { question: Q; key: string } | null = null;

  function keep(key: string, value: A): void {
    kept.delete(key);
    kept.set(key, value);
    for (const oldest of kept.keys()) {
      if (kept.size <= KEPT) break;
      kept.delete(oldest);
    }
  }

  async function fetchAnswer(question: Q, key: string, tries = 0): Promise<void> {
    const mine = new AbortController();
    underWay = mine;
    try {
      const value = await answer(question, mine.signal);
      if (underWay !== mine) return;
      keep(key, value);
      current.value = { state: "ready", value };
    } catch (error) {
      if (underWay !== mine || isAbort(error)) return;
      const problem = asProblem(error);
      if (problem.retryAfter !== null && tries < TRIES) {
        // The server is busy and says when it will not be: that is no fault to tell of yet.
        timer = setTimeout(() => fetchAnswer(question, key, tries + 1), 1000 * problem.retryAfter);
        return;
      }
      current.value = failed(current.value, problem);
    }
  }

  function stop(): void {
    clearTimeout(timer);
    underWay?.abort();
    underWay = undefined;
  }

  function ask(question: Q | null, delay: number): void {
    const key = JSON.stringify(question);
    if (asked?.key === key) return;
    stop();
    asked = question === null ? null : { question, key };
    if (question === null) {
      current.value = IDLE;
      return;
    }
    const known = kept.get(key);
    if (known !== undefined) {
      keep(key, known);
      current.value = { state: "ready", value: known };
      return;
    }
    current.value = loading(current.value);
    timer = setTimeout(() => fetchAnswer(question, key), delay);
  }

  function again(): void {
    if (asked === null) return;
    stop();
    kept.delete(asked.key);
    current.value = loading(current.value);
    void fetchAnswer(asked.question, asked.key);
  }

  return { current, ask, again };
}

/** Something that comes from the server. The last good value stays while the next one loads. */
export interface Loaded<T> {
  state: "idle" | "loading" | "ready" | "failed";
  value?: T;
  problem?: Problem;
}

/** Nothing was asked for. */
const IDLE = { state: "idle" } as const;

/** The same value, while another is on its way. */
export function loading<T>(before: Loaded<T>): Loaded<T> {
  return before.value === undefined
    ? { state: "loading" }
    : { state: "loading", value: before.value };
}

/** The last good value, and why there is no newer one. */
export function failed<T>(before: Loaded<T>, problem: Problem): Loaded<T> {
  return before.value === undefined
    ? { state: "failed", problem }
    : { state: "failed", value: before.value, problem };
}
