import { expect, test } from "vitest";
import { type Followed, followRun, type Lines } from "./follow.ts";

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
