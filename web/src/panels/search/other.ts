/** The other search of the same sentence: greedy beside a beam, a beam beside greedy. */

import { useEffect, useState } from "preact/hooks";
import { asProblem, isAbort, makeTrace, type Problem } from "../../api/client.ts";
import { saved } from "../../api/saved.ts";
import type { Model, SearchSettings, Trace, TraceRequest } from "../../api/types.ts";
import type { Address } from "../../state/address.ts";
import { retries } from "../../state/store.ts";

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
