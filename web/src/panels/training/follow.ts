/** Following a run while it trains: asks for new lines again and again, and rests while nobody looks. */

import type { Run, RunEvent } from "../../api/types.ts";
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
export interface World {
  ask: (after: number) => Promise<Lines>;
  show: (followed: Followed) => void;
  /** Resolves when it is time to ask again. */
  rest: () => Promise<void>;
  stopped: () => boolean;
}

/** Follow a run until it has finished or nobody wants to know; one that stands still may go on. */
export async function followRun(world: World): Promise<void> {
  let course = NOTHING;
  let after = 0;
  while (!world.stopped()) {
    const lines = await world.ask(after);
    if (world.stopped()) return;
    const again = lines.restarted === true || lines.next < after;
    course = withEvents(again ? NOTHING : course, lines.events);
    after = lines.next;
    if (lines.more !== true) world.show({ course, state: lines.state });
    if (lines.more === true) continue;
    if (lines.state === "finished") return;
    await world.rest();
  }
}

/** Wait some milliseconds, and then until the page can be seen. */
export async function restWhileHidden(milliseconds: number, abort: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    abort.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  while (document.hidden && !abort.aborted) {
    await new Promise<void>((resolve) => {
      document.addEventListener("visibilitychange", () => resolve(), { once: true });
      abort.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}
