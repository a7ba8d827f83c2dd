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
import Space from "./space/index.tsx";
import Steps from "./steps/index.tsx";
import Feed from "./sublayer/Feed.tsx";
import AddAndNorm from "./sublayer/Norm.tsx";
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
  { key: "guide", title: "Guide", short: "a tour in the paper's order", Panel: Guide },
  { key: "map", title: "Map", short: "the whole network", Panel: NetworkMap },
  { key: "tokens", title: "Tokens", short: "embeddings, positions", Panel: Tokens },
  { key: "attention", title: "Attention", short: "all heads, one head", Panel: Attention },
  { key: "steps", title: "One head", short: "six steps in numbers", Panel: Steps },
  { key: "feed", title: "Feed-forward", short: "units, one by one", Panel: Feed },
  { key: "norm", title: "Add & norm", short: "sums and LayerNorm", Panel: AddAndNorm },
  { key: "output", title: "Output", short: "logits, softmax, parts", Panel: Output },
  { key: "search", title: "Search", short: "greedy and beam", Panel: Search },
  { key: "cache", title: "Cache", short: "computed and reused", Panel: Cache },
  { key: "pair", title: "Who decides?", short: "two sentences, patched", Panel: Pair },
  { key: "lens", title: "Lens", short: "layers early, heads off", Panel: Lens },
  { key: "space", title: "Space", short: "states, layer by layer", Panel: Space },
  { key: "training", title: "Training", short: "loss, samples, film", Panel: Training },
];
