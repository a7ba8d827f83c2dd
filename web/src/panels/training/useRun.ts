/** Hooks: the runs of the server, and the course of one of them. */
import { useEffect, useState } from "preact/hooks";
import { asProblem, isAbort, listRuns, type Problem, runEvents } from "../../api/client.ts";
import type { Run } from "../../api/types.ts";
import { retries } from "../../state/store.ts";
import { type Followed, followRun, restWhileHidden } from "./follow.ts";

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
