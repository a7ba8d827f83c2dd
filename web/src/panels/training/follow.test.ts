import { expect, test, vi } from "vitest";
import { Problem } from "../../api/problem.ts";
import { type Followed, followRun, type Lines, restWhileHidden } from "./follow.ts";

const line = (step: number) => ({ event: "trained", step, perplexity: 2, seconds: 1 });

/** A server that gives these answers one after another, and what was asked and shown. */
function world(answers: Lines[]) {
  const asked: number[] = [];
  const shown: Followed[] = [];
  let rests = 0;
  return {
    asked,
    shown,
    rests: () => rests,
    ask: async (after: number) => {
      asked.push(after);
      return answers[asked.length - 1] as Lines;
    },
    show: (followed: Followed) => shown.push(followed),
    missed: (_problem: Problem) => {},
    rest: async () => {
      rests++;
    },
    stopped: () => asked.length >= answers.length,
  };
}

const steps = ({ course }: Followed) => course.trained.map(({ step }) => step);
const END: Lines = { events: [], next: 0, state: "finished" };

test("new lines are added to those before, and each answer says where to go on", async () => {
  const server = world([
    { events: [line(10)], next: 70, state: "training" },
    { events: [line(20)], next: 140, state: "training" },
    END,
  ]);
  await followRun(server);
  expect(server.asked.slice(0, 2)).toEqual([0, 70]);
  expect(server.shown.map(steps)).toEqual([[10], [10, 20]]);
  expect(server.rests()).toBe(2);
});

test("a run that has finished is asked once", async () => {
  const server = world([{ events: [line(10)], next: 70, state: "finished" }, END, END]);
  await followRun(server);
  expect(server.asked).toEqual([0]);
  expect(server.shown[0]?.state).toBe("finished");
});

test("a run that stands still is asked again: it may be resumed", async () => {
  const server = world([
    { events: [line(10)], next: 70, state: "stopped" },
    { events: [line(20)], next: 140, state: "training" },
    END,
  ]);
  await followRun(server);
  expect(server.shown.map(({ state }) => state)).toEqual(["stopped", "training"]);
});

test("large files come in parts, without a rest, and are shown when whole", async () => {
  const server = world([
    { events: [line(10)], next: 70, state: "finished", more: true },
    { events: [line(20)], next: 140, state: "finished" },
    END,
  ]);
  await followRun(server);
  expect(server.rests()).toBe(0);
  expect(server.shown.map(steps)).toEqual([[10, 20]]);
});

test("a run that went back is begun anew", async () => {
  const server = world([
    { events: [line(10), line(20), line(30)], next: 210, state: "training" },
    { events: [line(10)], next: 70, state: "training", restarted: true },
    END,
  ]);
  await followRun(server);
  expect(server.shown.map(steps)).toEqual([[10, 20, 30], [10]]);
});

test("a server that is away is asked again, from the same place, and its fault is told", async () => {
  const lines = { events: [line(10)], next: 70, state: "training" as const };
  const away = new Problem(0, "No answer", "Is it still running?");
  const answers: (Lines | Problem)[] = [lines, away, { ...lines, next: 140 }, END];
  const server = world(answers as Lines[]);
  const missed: Problem[] = [];
  await followRun({
    ...server,
    ask: async (after) => {
      const answer = (await server.ask(after)) as Lines | Problem;
      if (answer instanceof Problem) throw answer;
      return answer;
    },
    missed: (problem) => missed.push(problem),
  });
  expect(server.asked).toEqual([0, 70, 70, 140]);
  expect(missed).toEqual([away]);
  const refused = { ...world([]), stopped: () => false };
  refused.ask = () => Promise.reject(new Problem(404, "No such run", ""));
  await expect(followRun(refused)).rejects.toThrow("No such run");
});

test.each([429, 502, 503, 504])(
  "a server that answers %i for a while is asked again",
  async (status) => {
    const answers = [new Problem(status, "Busy", ""), END];
    const server = world([END, END]);
    await followRun({
      ...server,
      ask: async (after) => {
        await server.ask(after);
        const answer = answers.shift();
        if (answer instanceof Problem) throw answer;
        return answer as Lines;
      },
    });
    expect(server.asked).toEqual([0, 0]);
    expect(server.rests()).toBe(1);
  },
);

test("an hour of resting leaves no listeners behind", async () => {
  const page = new EventTarget();
  vi.stubGlobal("document", Object.assign(page, { hidden: false }));
  const mine = new AbortController();
  const added = vi.spyOn(mine.signal, "addEventListener");
  const removed = vi.spyOn(mine.signal, "removeEventListener");
  for (let rest = 0; rest < 20; rest++) await restWhileHidden(0, mine.signal);
  expect(removed.mock.calls.length).toBe(added.mock.calls.length);
  const last = restWhileHidden(1e6, mine.signal);
  mine.abort();
  await last;
  vi.unstubAllGlobals();
});
