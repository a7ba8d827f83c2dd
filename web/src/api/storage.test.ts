import { expect, test } from "vitest";
import { kept } from "./storage.ts";

const refusing = kept(() => {
  throw new DOMException("denied", "SecurityError");
});

function browsers(): Storage {
  const words = new Map<string, string>();
  return {
    getItem: (name: string) => words.get(name) ?? null,
    setItem: (name: string, word: string) => words.set(name, word),
    removeItem: (name: string) => words.delete(name),
  } as unknown as Storage;
}

test("what was kept is there for the next page", () => {
  const storage = browsers();
  kept(() => storage).set("theme", "dark");
  const next = kept(() => storage);
  expect(next.get("theme")).toBe("dark");
  next.set("theme", null);
  expect(next.get("theme")).toBeNull();
  expect(kept(() => storage).get("theme")).toBeNull();
});

test("a browser that keeps nothing breaks nothing", () => {
  expect(refusing.get("theme")).toBeNull();
  refusing.set("theme", "dark");
  expect(refusing.get("theme")).toBe("dark");
  refusing.set("theme", null);
  expect(refusing.get("theme")).toBeNull();
  expect(kept(() => undefined).get("theme")).toBeNull();
});

test("faults of ours are not hidden", () => {
  const wrong = kept(() => {
    throw new TypeError("ours");
  });
  expect(() => wrong.get("theme")).toThrow("ours");
});
