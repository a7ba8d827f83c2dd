import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Problem } from "../api/problem.ts";
import { follow } from "./follow.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

interface Call {
  question: string;
  abort: AbortSignal;
  answer: (value: string) => void;
  fail: (error: unknown) => void;
}

/** A server whose answers the test gives by hand, in any order. */
function server() {
  const calls: Call[] = [];
  const follower = follow<string, string>(
    (question, abort) =>
      new Promise((answer, fail) => {
        calls.push({ question, abort, answer, fail });
      }),
  );
  const call = (number: number): Call => {
    const found = calls[number];
    if (!found) throw new Error(`no call ${number}`);
    return found;
  };
  return { calls, call, follower };
}

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

test("waits until typing rests, and asks once", async () => {
  const { calls, call, follower } = server();
  for (const text of ["L", "Le", "Le chat"]) {
    follower.ask(text, 300);
    await vi.advanceTimersByTimeAsync(200);
  }
  expect(calls).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(100);
  expect(calls.map(({ question }) => question)).toEqual(["Le chat"]);
  call(0).answer("The cat");
  await settle();
  expect(follower.current.value).toEqual({ state: "ready", value: "The cat" });
});

test("a late answer never wins over a newer question", async () => {
  const { call, follower } = server();
  follower.ask("old", 0);
  await settle();
  follower.ask("new", 0);
  await settle();
  expect(call(0).abort.aborted).toBe(true);
  call(1).answer("NEW");
  await settle();
  call(0).answer("OLD");
  await settle();
  expect(follower.current.value).toEqual({ state: "ready", value: "NEW" });
});

test("the last good value stays while the next loads, and when it fails", async () => {
  const { call, follower } = server();
  follower.ask("one", 0);
  await settle();
  call(0).answer("ONE");
  await settle();
  follower.ask("two", 0);
  expect(follower.current.value).toEqual({ state: "loading", value: "ONE" });
  await settle();
  call(1).fail(new Problem(422, "Too long", "5001 characters; at most 5000."));
  await settle();
  expect(follower.current.value.state).toBe("failed");
  expect(follower.current.value.value).toBe("ONE");
  expect(follower.current.value.problem?.detail).toBe("5001 characters; at most 5000.");
});

test("going back is instant: answers are kept, the newest eight of them", async () => {
  const { calls, call, follower } = server();
  for (let number = 0; number < 10; number++) {
    follower.ask(`q${number}`, 0);
    await settle();
    call(number).answer(`a${number}`);
    await settle();
  }
  follower.ask("q5", 0);
  expect(follower.current.value).toEqual({ state: "ready", value: "a5" });
  expect(calls).toHaveLength(10);
  follower.ask("q0", 0);
  await settle();
  expect(calls).toHaveLength(11);
});

test("a busy server is asked again when it says so, and only so often", async () => {
  const { calls, call, follower } = server();
  follower.ask("text", 0);
  for (let number = 0; number < 5; number++) {
    await settle();
    call(number).fail(new Problem(429, "Busy", "The queue is full.", "", 2));
    await vi.advanceTimersByTimeAsync(1999);
    expect(calls).toHaveLength(number + 1);
    expect(follower.current.value.state).toBe(number < 4 ? "loading" : "failed");
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(calls).toHaveLength(5);
});

test("asks again after a fault, and for nothing when there is nothing to ask", async () => {
  const { calls, call, follower } = server();
  follower.ask("text", 0);
  await settle();
  call(0).fail(new TypeError("broken"));
  await settle();
  expect(follower.current.value.problem?.detail).toBe("broken");
  follower.again();
  await settle();
  expect(calls).toHaveLength(2);
  follower.ask(null, 0);
  expect(call(1).abort.aborted).toBe(true);
  expect(follower.current.value).toEqual({ state: "idle" });
});

test("two followers that share what they keep do not ask twice", async () => {
  const kept = new Map<string, string>();
  let asked = 0;
  const answer = async (question: string): Promise<string> => {
    asked += 1;
    return question.toUpperCase();
  };
  const one = follow<string, string>(answer, kept);
  const other = follow<string, string>(answer, kept);
  one.ask("text", 0);
  await settle();
  other.ask("text", 0);
  expect(other.current.value).toEqual({ state: "ready", value: "TEXT" });
  expect(asked).toBe(1);
});
