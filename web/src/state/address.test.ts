import { describe, expect, test } from "vitest";
import { type Address, format, HOME, PANEL_KEYS, parse } from "./address.ts";

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const LETTERS = [..."aZ0 \n\t?#&=%+/.,_-~'\"<>éß語🙂\u0301\u200d\u00a0;:@!$|\\"];

function randomAddress(next: () => number): Address {
  const below = (count: number): number => Math.floor(next() * count);
  const pick = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T;
  const some = <T>(make: () => T): T[] => Array.from({ length: below(4) }, make);
  const words = (): string => some(() => some(() => pick(LETTERS)).join("")).join("");
  const side = (): "encoder" | "decoder" | "cross" => pick(["encoder", "decoder", "cross"]);
  return {
    view: pick(["translate", "explore"]),
    panel: pick(PANEL_KEYS),
    text: words(),
    model: words(),
    target: pick(["", "en", "zh-Hant"]),
    method: pick([null, "greedy", "beam", "sampling"]),
    beam: pick([null, 1, 16]),
    alpha: pick([null, 0, 0.6, 1e-7, 2]),
    side: side(),
    layer: below(12),
    head: below(16),
    query: pick([null, 0, 59]),
    step: below(100),
    temperature: pick([0, 1, 0.1 + 0.2, 1e21]),
    topK: pick([0, 5, 50_000]),
    topP: pick([0, 0.9, 1]),
    prefix: some(() => below(32_000)),
    without: some(() => ({ side: side(), layer: below(6), head: below(8) })),
    tour: pick([null, 0, 11]),
    shape: pick(["matrix", "arcs"]),
    extra: Object.fromEntries(some(() => [`k${below(5)}`, words()])),
  };
}

describe("the address", () => {
  test("comes back from its own words, whatever it holds", () => {
    const next = numbers(7);
    for (let round = 0; round < 3000; round++) {
      const address = randomAddress(next);
      expect(parse(format(address))).toEqual(address);
    }
  });

  test("survives the address bar, which may write letters in its own way", () => {
    const next = numbers(11);
    for (let round = 0; round < 500; round++) {
      const address = randomAddress(next);
      const url = new URL(`http://localhost/${format(address)}`);
      expect(parse(url.hash)).toEqual(address);
    }
  });

  test("counts from 1, as the page does", () => {
    const { layer, head, step, query, tour } = parse(
      "#/explore?layer=1&head=2&step=3&query=4&tour=5",
    );
    expect([layer, head, step, query, tour]).toEqual([0, 1, 2, 3, 4]);
    expect(parse("#/explore?layer=0&step=0&tour=0")).toEqual({ ...HOME, view: "explore" });
  });

  test("is short: usual values are left out", () => {
    expect(format(HOME)).toBe("#/translate");
    expect(format({ ...HOME, view: "explore", panel: "attention", text: "Le chat." })).toBe(
      "#/explore/attention?text=Le+chat.",
    );
  });

  test("takes anything: what makes no sense has its usual value", () => {
    const odd = [
      "",
      "#",
      "#/",
      "#/nowhere",
      "#/explore/nothing?layer=-1&head=1.5&step=x&p=2&k=-3&temperature=nan&beam=0",
      "#/explore?side=up&shape=round&prefix=1.x.2&without=up.1.2_cross.1&tour=-1&query=1e9999",
      "#%E0%A4%A",
      "?text=a#b#c",
    ];
    for (const hash of odd) {
      const { view, panel, text, ...rest } = parse(hash);
      const { view: _view, panel: _panel, text: _text, ...usual } = HOME;
      expect(rest, hash).toEqual(usual);
    }
  });

  test("refuses heads and ids that are none, and keeps those that are", () => {
    expect(parse("#/explore?without=cross.1.2_encoder.3.4_cross.0.1").without).toEqual([
      { side: "cross", layer: 0, head: 1 },
      { side: "encoder", layer: 2, head: 3 },
    ]);
    expect(parse("#/explore?prefix=5.17.0").prefix).toEqual([5, 17, 0]);
  });
});
