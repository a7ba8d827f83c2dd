import { expect, test } from "vitest";
import { Problem } from "../../api/problem.ts";
import { HOME } from "../../state/address.ts";
import type { Facts } from "./facts.ts";
import { plain, tokens } from "./lines.ts";
import { FACTS, TRACE } from "./madeUp.ts";
import { factsOf, inView } from "./onTour.ts";
import { stepAddress, TOUR, withinTour } from "./tour.ts";

const BARE: Facts = {
  ...FACTS,
  encoder: null,
  apart: null,
  stream: null,
  decoder: null,
  cross: null,
  candidates: null,
};

test("the tour visits every panel but itself", () => {
  const visited = new Set(TOUR.map(({ panel }) => panel));
  expect([...visited].sort()).toEqual(
    ["attention", "cache", "lens", "map", "output", "search", "steps", "tokens", "training"].sort(),
  );
});

test("every step has a title of its own, a section, and something to try", () => {
  expect(new Set(TOUR.map(({ title }) => title)).size).toBe(TOUR.length);
  for (const { section, about, hint } of TOUR) {
    expect(section).toMatch(/^sections? \d/);
    expect(about.length).toBeGreaterThan(5);
    expect(hint).toMatch(/\.$/);
  }
});

test.each([
  ["a sentence", FACTS],
  ["a word alone", BARE],
])("every step has something to say of %s", (_, facts) => {
  for (const step of TOUR) {
    const said = step.words(facts).map(plain);
    expect(said.length).toBeGreaterThan(1);
    for (const paragraph of said) {
      expect(paragraph).toMatch(/[.:]$/);
      expect(paragraph).not.toMatch(/undefined|NaN|null|“”/);
    }
  }
});

test("what is said has the sentence's numbers and tokens", () => {
  const said = (title: string) =>
    TOUR.find((step) => step.title === title)
      ?.words(FACTS)
      .map(plain)
      .join(" ") ?? "";
  expect(said("The source looks at itself")).toContain("“dort” gives “animal” a weight of 0.63");
  expect(said("Words become tokens")).toContain("“L” + “'” + “animal” make one word");
  const signs = FACTS.trace.source_tokens.map((token, at) =>
    at === 1 || at === 2 ? { ...token, piece: "." } : token,
  );
  const [, whole = []] = tokens({ ...FACTS, trace: { ...FACTS.trace, source_tokens: signs } });
  expect(plain(whole)).toBe("In your sentence, every word is one piece.");
  expect(said("Looking back at the source")).toContain("For “sleeps”, it gives “dort”");
  expect(said("From a vector to a word")).toContain("Step 4");
  expect(said("Greedy, or with a beam")).toContain("“sleeps” was only number 2");
  expect(said("Nothing is computed twice")).toContain("4.0 times fewer");
  expect(said("Tokens become vectors")).toContain("√64 = 8.00");
});

test("a step leads to its panel, head and token, with nothing forced and no head off", () => {
  TOUR.forEach((step, place) => {
    const here = { ...HOME, ...stepAddress(place, FACTS) };
    expect(here).toMatchObject({
      view: "explore",
      panel: step.panel,
      tour: place,
      prefix: [],
      without: [],
    });
  });
  const cross = TOUR.findIndex(({ title }) => title === "Looking back at the source");
  expect(stepAddress(cross, FACTS)).toMatchObject({ side: "cross", layer: 0, head: 1, step: 2 });
});

test("before the facts are known, the panel alone is shown", () => {
  expect(stepAddress(4, null)).toEqual({
    view: "explore",
    panel: "attention",
    tour: 4,
    prefix: [],
    without: [],
  });
});

test("a step beyond the tour is its nearest one", () => {
  expect([-3, 2, 99].map(withinTour)).toEqual([0, 2, TOUR.length - 1]);
  expect(stepAddress(99, null).tour).toBe(TOUR.length - 1);
});

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
