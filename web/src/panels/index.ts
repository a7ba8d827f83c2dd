/** The panels, in the order of the side navigation. */
import type { ComponentType } from "preact";
import type { PanelKey } from "../state/address.ts";
import Attention from "./attention/index.tsx";
import Cache from "./cache/index.tsx";
import Guide from "./guide/index.tsx";
import Lens from "./lens/index.tsx";
import NetworkMap from "./map/index.tsx";
import Output from "./output/index.tsx";
import Pair from "./pair/index.tsx";
import Search from "./search/index.tsx";
import Steps from "./steps/index.tsx";
import Tokens from "./tokens/index.tsx";
import Training from "./training/index.tsx";

/** A panel. */
interface PanelEntry {
  key: PanelKey;
  title: string;
  /** What it shows, in a few words. */
  short: string;
  Panel: ComponentType;
}

/** All of them. */
export const PANELS: readonly PanelEntry[] = [
  { key: "map", title: "Map", short: "the whole network", Panel: NetworkMap },
  { key: "tokens", title: "Tokens", short: "pieces, embeddings, positions", Panel: Tokens },
  { key: "attention", title: "Attention", short: "all heads, one head", Panel: Attention },
  { key: "steps", title: "One head", short: "six steps with real numbers", Panel: Steps },
  { key: "output", title: "Output", short: "softmax, temperature, force a token", Panel: Output },
  { key: "search", title: "Search", short: "greedy and beam as a tree", Panel: Search },
  { key: "cache", title: "Cache", short: "computed and reused", Panel: Cache },
  { key: "lens", title: "Lens", short: "layer by layer; heads off", Panel: Lens },
  { key: "training", title: "Training", short: "loss, samples, film strip", Panel: Training },
  { key: "guide", title: "Guide", short: "a tour in the paper's order", Panel: Guide },
  { key: "pair", title: "Who decides?", short: "two sentences, patched", Panel: Pair },
];
