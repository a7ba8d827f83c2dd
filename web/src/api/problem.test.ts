import { expect, test } from "vitest";
import { asProblem, problemOf } from "./problem.ts";

function refused(status: number, body: string, headers: Record<string, string> = {}): Response {
  return new Response(body, { status, headers });
}

test("the server's own words are kept", async () => {
  const body = JSON.stringify({ title: "Queue full", detail: "64 wait; try later", type: "/p/q" });
  const problem = await problemOf(refused(429, body, { "Retry-After": "3" }));
  expect(problem).toMatchObject({
    status: 429,
    title: "Queue full",
    detail: "64 wait; try later",
    type: "/p/q",
    retryAfter: 3,
  });
});

test("faults of fields stand in for a missing detail", async () => {
  const faults = [
    { where: "search.beam", problem: "17 is above 16" },
    { where: "text", problem: "missing" },
  ];
  const problem = await problemOf(refused(422, JSON.stringify({ title: "Bad fields", faults })));
  expect(problem.detail).toBe("search.beam: 17 is above 16; text: missing");
});

test("a body that is no JSON is told as it is, cut", async () => {
  const problem = await problemOf(refused(502, `<h1>Bad gateway</h1>${"x".repeat(999)}`));
  expect(problem.status).toBe(502);
  expect(problem.detail).toHaveLength(300);
  expect(problem.retryAfter).toBeNull();
});

test("any error becomes a problem", () => {
  expect(asProblem(new Error("odd"))).toMatchObject({ status: 0, detail: "odd" });
  expect(asProblem("word").detail).toBe("word");
});
