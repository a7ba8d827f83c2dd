import { afterEach, expect, test } from "vitest";
import { Problem } from "../api/problem.ts";
import { notices, putAllAway, tell } from "./notices.ts";

afterEach(putAllAway);

test("a notice says whether asking again may help", () => {
  tell(new Problem(0, "Not copied", "The browser refused."));
  tell(new Problem(0, "No answer", "Is it still running?"), { again: true });
  expect(notices.value.map(({ again }) => again)).toEqual([false, true]);
});

test("a problem is shown once", () => {
  for (let times = 0; times < 3; times++) tell(new Problem(0, "No answer", "Is it running?"));
  expect(notices.value).toHaveLength(1);
});
