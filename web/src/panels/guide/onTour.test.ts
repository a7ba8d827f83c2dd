import { expect, test } from "vitest";
import { Problem } from "../../api/problem.ts";
import { HOME } from "../../state/address.ts";
import { FACTS, TRACE } from "./madeUp.ts";
import { factsOf, inView } from "./onTour.ts";
import { stepAddress, TOUR } from "./tour.ts";

test("a step is in view where it leads, and not where another does", () => {
  TOUR.forEach((_, place) => {
    const here = { ...HOME, ...stepAddress(place, FACTS) };
    expect(inView(here, stepAddress(place, FACTS))).toBe(true);
    expect(inView(here, stepAddress((place + 1) % TOUR.length, FACTS))).toBe(false);
    expect(
      inView(
        { ...here, without: [{ side: "cross", layer: 0, head: 0 }] },
        stepAddress(place, FACTS),
      ),
    ).toBe(false);
  });
});

test("facts of another sentence, or of one that failed, are not known", () => {
  expect(factsOf({ state: "ready", value: FACTS.trace }, FACTS)).toBe(FACTS);
  expect(factsOf({ state: "loading", value: FACTS.trace }, FACTS)).toBe(FACTS);
  expect(factsOf({ state: "ready", value: { ...TRACE } }, FACTS)).toBeNull();
  expect(factsOf({ state: "idle" }, FACTS)).toBeNull();
  const problem = new Problem(422, "Too long", "");
  expect(factsOf({ state: "failed", value: FACTS.trace, problem }, FACTS)).toBeNull();
});
