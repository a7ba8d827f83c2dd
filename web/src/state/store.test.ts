import { expect, test } from "vitest";
import { format, HOME } from "./address.ts";
import { newText } from "./store.ts";

test("a new text has nothing of what was forced or looked at in the old one", () => {
  const old = { ...HOME, text: "chat noir", prefix: [4, 5], step: 3, query: 2, layer: 1 };
  expect(format({ ...old, ...newText("livre") })).toBe("#/translate?text=livre&layer=1");
});
