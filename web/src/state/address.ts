/**
 * What the page shows, as one value, and how it is written into the address.
 *
 *     #/explore/attention?text=Le+chat+dort.&side=cross&layer=2&head=1
 *
 * Layers, heads, steps and the tour's stops count from 1 there, and from 0 in the value. It lives behind the `#`, so that a sentence never reaches a server's log and a link reproduces
 * the view. Whatever has its usual value is left out.
 */
import type { HeadId, Method, Side } from "../api/types.ts";

/** The panels, in the order of the side navigation. */
export const PANEL_KEYS = [
  "guide",
  "map",
  "tokens",
  "attention",
  "steps",
  "feed",
  "norm",
  "output",
  "search",
  "cache",
  "pair",
  "lens",
  "space",
  "training",
] as const;

/** One of the panels. */
export type PanelKey = (typeof PANEL_KEYS)[number];

/** Everything that a link reproduces. */
export interface Address {
  view: "translate" | "explore";
  panel: PanelKey;
  text: string;
  /** Empty: the server's first choice. */
  model: string;
  /** Target language; empty: the model's first. */
  target: string;
  /** Null: as the model's own search settings say. The same holds for `beam` and `alpha`. */
  method: Method | null;
  beam: number | null;
  alpha: number | null;
  /** Attention that is looked at. */
  side: Side;
  layer: number;
  head: number;
  /** Row (query) that is looked at; null: the row of the current step, or the first. */
  query: number | null;
  /** Step of decoding, from 0. */
  step: number;
  temperature: number;
  /** 0: all. */
  topK: number;
  topP: number;
  /** Token ids that the translation is made to begin with. */
  prefix: number[];
  /** Heads that are switched off. */
  without: HeadId[];
  /** Step of the guide, from 0; null: not on tour. */
  tour: number | null;
  shape: "matrix" | "arcs";
  /** A panel's own keys. Names: letters, digits, `-` and `_`. */
  extra: Record<string, string>;
}

/** Where one is without any address: the usual value of everything. */
export const HOME: Address = {
  view: "translate",
  panel: "map",
  text: "",
  model: "",
  target: "",
  method: null,
  beam: null,
  alpha: null,
  side: "cross",
  layer: 0,
  head: 0,
  query: null,
  step: 0,
  temperature: 1,
  topK: 0,
  topP: 1,
  prefix: [],
  without: [],
  tour: null,
  shape: "matrix",
  extra: {},
};

const METHODS: readonly Method[] = ["greedy", "beam", "diverse", "sampling", "mbr"];
const SIDES: readonly Side[] = ["encoder", "decoder", "cross"];
const EXTRA = "x-";

/** The address in words. */
export function format(address: Address): string {
  const path = address.view === "translate" ? "/translate" : `/explore/${address.panel}`;
  const fields = new URLSearchParams();
  for (const [name, write] of Object.entries(WRITERS)) {
    const written = write(address);
    if (written !== write(HOME)) fields.set(name, written);
  }
  // The panel is part of the path in one view only; a link to the other still remembers it.
  if (address.view === "translate" && address.panel !== HOME.panel)
    fields.set("panel", address.panel);
  for (const name of Object.keys(address.extra).sort()) {
    fields.set(EXTRA + name, address.extra[name] ?? "");
  }
  const query = fields.toString();
  return `#${path}${query ? `?${query}` : ""}`;
}

const WRITERS: Record<string, (address: Address) => string> = {
  text: (a) => a.text,
  model: (a) => a.model,
  target: (a) => a.target,
  method: (a) => a.method ?? "",
  beam: (a) => optional(a.beam),
  alpha: (a) => optional(a.alpha),
  side: (a) => a.side,
  layer: (a) => ordinal(a.layer),
  head: (a) => ordinal(a.head),
  query: (a) => ordinal(a.query),
  step: (a) => ordinal(a.step),
  temperature: (a) => String(a.temperature),
  k: (a) => String(a.topK),
  p: (a) => String(a.topP),
  prefix: (a) => a.prefix.join("."),
  without: (a) =>
    a.without.map((h) => `${h.side}.${ordinal(h.layer)}.${ordinal(h.head)}`).join("_"),
  tour: (a) => ordinal(a.tour),
  shape: (a) => a.shape,
};

function optional(value: number | null): string {
  return value === null ? "" : String(value);
}

/** A place as people count, from 1. */
function ordinal(place: number | null): string {
  return place === null ? "" : String(place + 1);
}

/** The place that a number of an address stands for: written from 1, kept from 0. */
function place<E>(word: string, otherwise: E): number | E {
  const counted = natural(word, 1, null);
  return counted === null ? otherwise : counted - 1;
}

/** The address that a hash stands for; what is missing or makes no sense has its usual value. */
export function parse(hash: string): Address {
  const whole = hash.replace(/^#/, "");
  const mark = whole.indexOf("?");
  const path = mark < 0 ? whole : whole.slice(0, mark);
  const fields = new URLSearchParams(mark < 0 ? "" : whole.slice(mark + 1));
  const [, view, panel] = path.split("/");
  const get = (name: string): string => fields.get(name) ?? "";
  return {
    view: view === "explore" ? "explore" : "translate",
    panel: one(PANEL_KEYS, panel || get("panel"), HOME.panel),
    text: get("text"),
    model: get("model"),
    target: get("target"),
    method: one(METHODS, get("method"), null),
    beam: natural(get("beam"), 1, null),
    alpha: real(get("alpha"), 0, Number.MAX_VALUE, null),
    side: one(SIDES, get("side"), HOME.side),
    layer: place(get("layer"), HOME.layer),
    head: place(get("head"), HOME.head),
    query: place(get("query"), null),
    step: place(get("step"), HOME.step),
    temperature: real(get("temperature"), 0, Number.MAX_VALUE, HOME.temperature),
    topK: natural(get("k"), 0, HOME.topK),
    topP: real(get("p"), 0, 1, HOME.topP),
    prefix: wholes(get("prefix")),
    without: heads(get("without")),
    tour: place(get("tour"), null),
    shape: one(["matrix", "arcs"] as const, get("shape"), HOME.shape),
    extra: extras(fields),
  };
}

function one<T extends string, E>(allowed: readonly T[], word: string, otherwise: E): T | E {
  return allowed.find((choice) => choice === word) ?? otherwise;
}

function natural<E>(word: string, least: number, otherwise: E): number | E {
  const value = Number(word);
  return /^\d+$/.test(word) && Number.isSafeInteger(value) && value >= least ? value : otherwise;
}

function real<E>(word: string, least: number, most: number, otherwise: E): number | E {
  const value = Number(word);
  return word.trim() !== "" && value >= least && value <= most ? value : otherwise;
}

function wholes(word: string): number[] {
  const parts = word === "" ? [] : word.split(".").map((piece) => natural(piece, 0, -1));
  return parts.includes(-1) ? [] : parts;
}

function heads(word: string): HeadId[] {
  return word.split("_").flatMap((piece) => {
    const [side = "", layer = "", head = ""] = piece.split(".");
    const found = one(SIDES, side, null);
    const numbers = [place(layer, null), place(head, null)] as const;
    if (found === null || numbers[0] === null || numbers[1] === null) return [];
    return [{ side: found, layer: numbers[0], head: numbers[1] }];
  });
}

function extras(fields: URLSearchParams): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of fields) {
    if (name.startsWith(EXTRA)) found[name.slice(EXTRA.length)] = value;
  }
  return found;
}

/* A panel's own keys of the address, and numbers in them. */

/** Return the extra keys with some changed; null removes a key. */
export function withExtra(
  extra: Record<string, string>,
  changes: Record<string, string | null>,
): Record<string, string> {
  const merged = Object.entries({ ...extra, ...changes });
  return Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** Return a whole number that the address holds, at most `most`, or `otherwise`. */
export function parseWhole<Otherwise extends number | null>(
  word: string | undefined,
  most: number,
  otherwise: Otherwise,
): number | Otherwise {
  return word !== undefined && /^\d{1,9}$/u.test(word) ? Math.min(Number(word), most) : otherwise;
}

/** Return a place that the address holds, counted from 1 there and from 0 here, or `otherwise`. */
export function parsePlace<Otherwise extends number | null>(
  word: string | undefined,
  count: number,
  otherwise: Otherwise,
): number | Otherwise {
  const counted = parseWhole(word, count, null);
  return counted === null || counted === 0 ? otherwise : counted - 1;
}

/** Return the nearest of 0 … count − 1. */
export function clampIndex(wanted: number, count: number): number {
  return Math.max(0, Math.min(wanted, count - 1));
}
