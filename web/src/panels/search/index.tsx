/** Panel 6, search: greedy against beam as a tree. */

import { saved } from "../../api/saved.ts";
import type { Trace } from "../../api/types.ts";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { hasBeam } from "../../state/requests.ts";
import { address, go, model, models, retry } from "../../state/store.ts";
import { withExtra } from "../output/extra.ts";
import { AlphaCurve } from "./AlphaCurve.tsx";
import { Compare } from "./Compare.tsx";
import { otherRequest, useOther } from "./other.ts";
import { TreeSection } from "./TreeSection.tsx";
import "./search.css";

/** The panel. */
export default function Search() {
  return (
    <PanelFrame
      title="Search"
      lead={
        <>
          The network only says how probable each next token is; a search decides what is written.
          Greedy takes the most probable token at every step, a beam follows several paths and ranks
          the ends by log P over a length penalty (section 6.1).
        </>
      }
    >
      {(trace) => <SearchOf trace={trace} />}
    </PanelFrame>
  );
}

function SearchOf({ trace }: { trace: Trace }) {
  const chosen = model.value;
  const other = useOther(chosen ? otherRequest(trace, address.value, chosen) : null);
  const isGreedy = trace.search.method === "greedy";
  const greedy = isGreedy ? trace : other.trace;
  const beam = isGreedy ? other.trace : trace;
  const beamName = nameOf(beam);
  const wide = isGreedy || hasBeam(trace.search.method);
  const shown = shownTrees(isGreedy);
  return (
    <>
      {wide && !saved && <Settings trace={trace} beam={beam} />}
      {greedy && beam && <Compare greedy={greedy} beam={beam} beamName={beamName} />}
      {other.problem && (
        <div class="panel-problem" role="alert">
          <p>The other search could not be made: {other.problem.detail || other.problem.title}</p>
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        </div>
      )}
      <Switch isGreedy={isGreedy} wide={wide} both={!saved || other.trace !== undefined} />
      {shown.includes("beam") && beam && (
        <TreeSection name="beam" title={beamName} trace={beam} other={greedy} otherName="greedy" />
      )}
      {shown.includes("greedy") && greedy && (
        <TreeSection
          name="greedy"
          title="Greedy"
          trace={greedy}
          other={beam}
          otherName={wide ? "the beam" : "the sample that won"}
        />
      )}
      {beam && wide && <AlphaCurve trace={beam} />}
    </>
  );
}

function nameOf(trace: Trace | undefined): string {
  if (trace === undefined) return "Beam";
  const { method, beam, samples } = trace.search;
  if (method === "sampling" || method === "mbr") return `${samples} samples`;
  return method === "diverse" ? `Diverse beam of ${beam}` : `Beam of ${beam}`;
}

type Shown = "beam" | "greedy" | "both";

function wanted(isGreedy: boolean): Shown {
  const word = saved && !saved.other ? null : address.value.extra.tree;
  if (word === "beam" || word === "greedy" || word === "both") return word;
  return isGreedy ? "greedy" : "beam";
}

function shownTrees(isGreedy: boolean): string[] {
  const word = wanted(isGreedy);
  return word === "both" ? ["greedy", "beam"] : [word];
}

function Switch(props: { isGreedy: boolean; wide: boolean; both: boolean }) {
  const { isGreedy, wide, both } = props;
  const word = wanted(isGreedy);
  const { extra } = address.value;
  return (
    <div class="search-switches">
      {both && (
        <fieldset class="segmented" aria-label="Which tree">
          {(["beam", "greedy", "both"] as const).map((choice) => (
            <button
              key={choice}
              type="button"
              aria-pressed={word === choice}
              onClick={() => go({ extra: withExtra(extra, { tree: choice }) })}
            >
              {{ beam: wide ? "Beam" : "Samples", greedy: "Greedy", both: "Both" }[choice]}
            </button>
          ))}
        </fieldset>
      )}
      <label class="search-check">
        <input
          type="checkbox"
          checked={extra.grow === "1"}
          onInput={(event) => {
            const grow = event.currentTarget.checked ? "1" : null;
            go({ extra: withExtra(extra, { grow }) });
          }}
        />
        Only as far as the present step
      </label>
    </div>
  );
}

function Settings({ trace, beam }: { trace: Trace; beam: Trace | undefined }) {
  const most = Number(models.value.value?.limits.max_beam ?? 16);
  const width = beam?.search.beam ?? address.value.beam ?? 1;
  const alpha = trace.search.length_penalty;
  return (
    <div class="search-settings">
      <div class="search-setting">
        <label for="search-beam">Beam width</label>
        <input
          id="search-beam"
          type="number"
          min="1"
          max={most}
          step="1"
          value={width}
          onChange={(event) => {
            const value = event.currentTarget.valueAsNumber;
            if (Number.isInteger(value) && value >= 1) go({ beam: Math.min(value, most) });
          }}
        />
        <span class="muted">1 to {most}</span>
      </div>
      <div class="search-setting">
        <label for="search-alpha">Length penalty α</label>
        <input
          id="search-alpha"
          type="range"
          min="0"
          max="2"
          step="0.1"
          value={alpha}
          onChange={(event) => go({ alpha: event.currentTarget.valueAsNumber })}
        />
        <output for="search-alpha">{alpha}</output>
      </div>
    </div>
  );
}
