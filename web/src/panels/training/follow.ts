/** Following a run while it trains: asks for new lines again and again, and rests while nobody looks. */

import { useEffect, useState } from "preact/hooks";
import { asProblem, isAbort, listRuns, Problem, runEvents } from "../../api/client.ts";
import type { Run, RunEvent } from "../../api/types.ts";
import { retries } from "../../state/store.ts";
import { type Course, NOTHING, withEvents } from "./course.ts";

/** An answer of the server: new lines, and where to go on. */
export interface Lines {
  events: RunEvent[];
  next: number;
  state: Run["state"];
  /** The lines begin at the beginning again: a resumed run has dropped some. */
  restarted?: boolean;
  /** There are more lines right now. */
  more?: boolean;
}

/** What is known of a run. */
export interface Followed {
  course: Course;
  state: Run["state"];
}

/** The world outside: a server, a clock, and somebody who looks. */
interface World {
  ask: (after: number) => Promise<Lines>;
  show: (followed: Followed) => void;
  /** Told when the server did not answer; it is asked again after a rest. */
  missed: (problem: Problem) => void;
  /** Resolves when it is time to ask again. */
  rest: () => Promise<void>;
  stopped: () => boolean;
}

/** Follow a run until it has finished or nobody wants to know; one that stands still may go on. */
export async function followRun(world: World): Promise<void> {
  let course = NOTHING;
  let after = 0;
  while (!world.stopped()) {
    const lines = await answered(world, after);
    if (world.stopped()) return;
    if (lines === null) {
      await world.rest();
      continue;
    }
    const again = lines.restarted === true || lines.next < after;
    course = withEvents(again ? NOTHING : course, lines.events);
    after = lines.next;
    if (lines.more !== true) world.show({ course, state: lines.state });
    if (lines.more === true) continue;
    if (lines.state === "finished") return;
    await world.rest();
  }
}

/** No answer, too many requests, and a proxy whose server is away: all of them pass. */
const PASSING = [0, 429, 502, 503, 504];

/** The answer; null: the server is not there just now, which a run that trains may well outlive. */
async function answered(world: World, after: number): Promise<Lines | null> {
  try {
    return await world.ask(after);
  } catch (error) {
    if (!(error instanceof Problem && PASSING.includes(error.status))) throw error;
    world.missed(error);
    return null;
  }
}

/** Wait some milliseconds, and then until the page can be seen. */
export async function restWhileHidden(milliseconds: number, abort: AbortSignal): Promise<void> {
  await unlessAborted(abort, (resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    return () => clearTimeout(timer);
  });
  while (document.hidden && !abort.aborted) {
    await unlessAborted(abort, (resolve) => {
      document.addEventListener("visibilitychange", resolve);
      return () => document.removeEventListener("visibilitychange", resolve);
    });
  }
}

/** Wait for what `begin` waits for, or the abort; no listener of either is left behind. */
async function unlessAborted(
  abort: AbortSignal,
  begin: (resolve: () => void) => () => void,
): Promise<void> {
  if (abort.aborted) return;
  let end = (): void => {};
  await new Promise<void>((resolve) => {
    const leave = begin(resolve);
    const given = (): void => resolve();
    abort.addEventListener("abort", given);
    end = () => {
      leave();
      abort.removeEventListener("abort", given);
    };
  });
  end();
}

/* Hooks: the runs of the server, and the course of one of them. */

const PAUSE = 3000; // between two questions to the server, in milliseconds

/** The runs; null until they are known. */
export function useRuns(): { runs: Run[] | null; problem: Problem | null } {
  const [runs, setRuns] = useState<Run[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    const mine = new AbortController();
    setProblem(null);
    listRuns(mine.signal).then(setRuns, (error) => isAbort(error) || setProblem(asProblem(error)));
    return () => mine.abort();
  }, [retries.value]);
  return { runs, problem };
}

/** What is known of a run so far; it grows while the run trains. */
export function useCourse(name: string | null): {
  followed: Followed | null;
  problem: Problem | null;
} {
  const [known, setKnown] = useState<{ name: string; followed: Followed } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    if (name === null) return;
    const mine = new AbortController();
    setProblem(null);
    followRun({
      ask: (after) => runEvents(name, after, mine.signal),
      show: (followed) => {
        setProblem(null);
        setKnown({ name, followed });
      },
      missed: setProblem,
      rest: () => restWhileHidden(PAUSE, mine.signal),
      stopped: () => mine.signal.aborted,
    }).catch((error) => isAbort(error) || setProblem(asProblem(error)));
    return () => mine.abort();
  }, [name, retries.value]);
  return { followed: known?.name === name ? known.followed : null, problem };
}
