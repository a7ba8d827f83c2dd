/** The ten panels, in the order of the side navigation; each is loaded when it is opened. */
import type { ComponentType } from "preact";
import type { PanelKey } from "../state/address.ts";

/** A panel, before it is loaded. */
export interface PanelEntry {
  key: PanelKey;
  title: string;
  /** What it shows, in a few words. */
  short: string;
  load: () => Promise<{ default: ComponentType }>;
}

/** All of them. */
export const PANELS: readonly PanelEntry[] = [
  { key: "map", title: "Map", short: "the whole network", load: () => import("./map/index.tsx") },
  {
    key: "tokens",
    title: "Tokens",
    short: "pieces, embeddings, positions",
    load: () => import("./tokens/index.tsx"),
  },
  {
    key: "attention",
    title: "Attention",
    short: "all heads, one head",
    load: () => import("./attention/index.tsx"),
  },
  {
    key: "steps",
    title: "One head",
    short: "six steps with real numbers",
    load: () => import("./steps/index.tsx"),
  },
  {
    key: "output",
    title: "Output",
    short: "softmax, temperature, force a token",
    load: () => import("./output/index.tsx"),
  },
  {
    key: "search",
    title: "Search",
    short: "greedy and beam as a tree",
    load: () => import("./search/index.tsx"),
  },
  {
    key: "cache",
    title: "Cache",
    short: "computed and reused",
    load: () => import("./cache/index.tsx"),
  },
  {
    key: "lens",
    title: "Lens",
    short: "layer by layer; heads off",
    load: () => import("./lens/index.tsx"),
  },
  {
    key: "training",
    title: "Training",
    short: "loss, samples, film strip",
    load: () => import("./training/index.tsx"),
  },
  {
    key: "guide",
    title: "Guide",
    short: "a tour in the paper's order",
    load: () => import("./guide/index.tsx"),
  },
];
