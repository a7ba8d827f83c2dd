import { expect, test } from "vitest";
import { HOME } from "../state/address.ts";
import { fixed } from "../state/store.ts";
import { placeOf, type Saved, saved } from "./saved.ts";

test("a page of a server has nothing saved inside", () => {
  expect(saved).toBeNull();
});

test("tensors stand one after another in the order of their names", () => {
  const tensors = { one: [2, 3], two: [4], three: [1, 1, 5], nothing: [0, 7] };
  expect(placeOf(tensors, "one")).toEqual({ shape: [2, 3], start: 0, end: 6 });
  expect(placeOf(tensors, "three")).toEqual({ shape: [1, 1, 5], start: 10, end: 15 });
  expect(placeOf(tensors, "nothing")).toEqual({ shape: [0, 7], start: 15, end: 15 });
  expect(placeOf(tensors, "four")).toBeNull();
});

test("what a saved page cannot compute anew stays as it was, the rest of an address is free", () => {
  const steps = [7, 8, 9].map((id) => ({ token: { id } }));
  const without = [{ side: "cross", layer: 0, head: 1 }];
  const of = { trace: { source: "Le chat", prefix_length: 2, steps, without } };
  const asked = { ...HOME, text: "Autre", beam: 9, prefix: [], panel: "lens" as const, layer: 3 };
  expect(fixed(asked, of as unknown as Saved)).toEqual({
    ...asked,
    view: "explore",
    text: "Le chat",
    prefix: [7, 8],
    without,
    beam: null,
  });
});
