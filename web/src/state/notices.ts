/** What the page has to tell: problems for the eye, results for a screen reader. */
import { signal } from "@preact/signals";
import type { Problem } from "../api/client.ts";

/** A problem on the page. */
interface Notice {
  id: number;
  problem: Problem;
  /** Whether `retry` asks for what is missing once more. */
  again: boolean;
}

/** Problems that have not been dismissed. */
export const notices = signal<Notice[]>([]);

/** What the live region says. */
export const said = signal("");

let count = 0;

/** Show a problem; one that is shown already is not shown twice. */
export function tell(problem: Problem, { again = false } = {}): void {
  if (notices.peek().some((notice) => notice.problem.detail === problem.detail)) return;
  count += 1;
  notices.value = [...notices.peek(), { id: count, problem, again }].slice(-4);
}

/** Put a problem away. */
export function putAway(id: number): void {
  notices.value = notices.peek().filter((notice) => notice.id !== id);
}

/** Put all problems away. */
export function putAllAway(): void {
  notices.value = [];
}

/** Say something to people who do not see the page. */
export function say(words: string): void {
  said.value = words;
}
