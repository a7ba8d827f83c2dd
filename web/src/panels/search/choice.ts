/** Which box is chosen, and how the address keeps it. */

import { useEffect, useState } from "preact/hooks";
import { asProblem, isAbort, makeTrace, type Problem } from "../../api/client.ts";
import { saved } from "../../api/saved.ts";
import type { Model, SearchSettings, SearchTree, Trace, TraceRequest } from "../../api/types.ts";
import type { Address } from "../../state/address.ts";
import { retries } from "../../state/store.ts";
import { follow, nodeAt, pathTo } from "./outcome.ts";

/**
 * A box is kept as the tokens that lead to it, "308.1701", which mean the same in every tree of a
 * sentence; a number of a node would mean another box as soon as the beam is changed.
 */
export function writtenPath(tree: SearchTree, node: number): string {
  return pathTo(tree, node)
    .map((one) => nodeAt(tree, one).token)
    .join(".");
}

/** Where the page is: its step as a tree counts, from 1, and how many steps it has. */
export interface Moment {
  at: number;
  steps: number;
}

/**
 * Return the chosen node: that of the path if it is in the tree and belongs to the present step,
 * otherwise the winner's at this step.
 */
export function chosenNode(tree: SearchTree, path: string, { at, steps }: Moment): number {
  const tokens = /^\d+(\.\d+)*$/u.test(path) ? path.split(".").map(Number) : [];
  const found = follow(tree, tokens).nodes;
  // a branch may be longer than the translation; its further boxes belong to the last step
  const fits = tokens.length === at || (at === steps && tokens.length > steps);
  if (tokens.length > 0 && fits && found.length === tokens.length) return found.at(-1) as number;
  return winnersNode(tree, at);
}

/** Return the node of the translation that won at a step, its last where it is shorter. */
export function winnersNode(tree: SearchTree, at: number): number {
  const path = pathTo(tree, tree.results[0] ?? 0);
  return path[Math.min(at, path.length) - 1] ?? 0;
}

/** Return the step of the page, from 0, that a node belongs to. */
export function stepOf(tree: SearchTree, node: number, steps: number): number {
  return Math.max(0, Math.min(nodeAt(tree, node).step, steps) - 1);
}

/* The other search of the same sentence: greedy beside a beam, a beam beside greedy. */

/** A beam where the model's own settings are not those of a beam. */
const USUAL_BEAM = 4;

/** A trace that is looked at once: the server need not keep it. */
export interface LightRequest extends TraceRequest {
  keep: false;
}

/** Ask for the search that the shown trace is not; only its tree matters, so a light trace. */
export function otherRequest(
  trace: Trace,
  address: Pick<Address, "beam" | "prefix" | "without">,
  model: Model,
): LightRequest {
  return {
    text: trace.source,
    model: model.name,
    target: trace.target,
    level: "light",
    keep: false,
    search: trace.search.method === "greedy" ? beamFor(trace, address, model) : greedyFor(trace),
    ...(address.prefix.length > 0 ? { prefix: address.prefix } : {}),
    ...(address.without.length > 0 ? { without: address.without } : {}),
  };
}

function greedyFor({ search }: Trace): Partial<SearchSettings> {
  const { length_penalty, length_form } = search;
  return { method: "greedy", n_best: 1, length_penalty, length_form };
}

function beamFor(
  { search }: Trace,
  address: Pick<Address, "beam">,
  model: Model,
): Partial<SearchSettings> {
  const { length_penalty, length_form } = search;
  const own = model.search.method === "beam" ? model.search.beam : USUAL_BEAM;
  return { method: "beam", beam: address.beam ?? own, n_best: 1, length_penalty, length_form };
}

/** The other trace, and what went wrong where there is none. */
export interface Other {
  trace?: Trace;
  problem?: Problem;
}

/** Return the other search, once it is here; a request that is outdated is called off. */
export function useOther(request: LightRequest | null): Other {
  const key = JSON.stringify(request);
  const [found, keep] = useState<Other & { key: string }>({ key: "" });
  useEffect(() => {
    if (key === "null" || saved) return;
    const abort = new AbortController();
    makeTrace(JSON.parse(key) as LightRequest, abort.signal).then(
      (trace) => keep({ key, trace }),
      (error) => {
        if (!isAbort(error)) keep({ key, problem: asProblem(error) });
      },
    );
    return () => abort.abort();
  }, [key, retries.value]);
  if (saved) return saved.other ? { trace: saved.other } : {};
  return found.key === key ? found : {};
}
