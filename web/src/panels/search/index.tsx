/** Panel 6, search: greedy against beam as a tree. */

import { useMemo } from "preact/hooks";
import { saved } from "../../api/saved.ts";
import type { SearchTree, Trace } from "../../api/types.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { parseWhole, withExtra } from "../../state/address.ts";
import { playing, step, steps } from "../../state/player.ts";
import { hasBeam } from "../../state/requests.ts";
import { address, go, model, models, retry, setExtra } from "../../state/store.ts";
import { AlphaCurve } from "./AlphaCurve.tsx";
import { Arithmetic, Ends } from "./Arithmetic.tsx";
import { Compare } from "./Compare.tsx";
import { layOut } from "./layout.ts";
import {
  chosenNode,
  findStep,
  follow,
  type Moment,
  nodeAt,
  otherRequest,
  pathTo,
  useOther,
  whyStopped,
  writtenPath,
} from "./outcome.ts";
import { treePicture, treeTable } from "./pictures.ts";
import { TreeView } from "./TreeView.tsx";
import { describeStep, getResult } from "./words.ts";
import "./search.css";

/** The panel. */
export default function Search() {
  return (
    <PanelFrame
      title="Search"
      lead={
        <>
          The network says how probable each next token is; a search decides what is written. Greedy
          takes the most probable one, a beam follows several paths (section 6.1).
        </>
      }
    >
      {(trace) => <SearchBody trace={trace} />}
    </PanelFrame>
  );
}

function SearchBody({ trace }: { trace: Trace }) {
  const chosen = model.value;
  const other = useOther(chosen ? otherRequest(trace, address.value, chosen) : null);
  const isGreedy = trace.search.method === "greedy";
  const greedy = isGreedy ? trace : other.trace;
  const beam = isGreedy ? other.trace : trace;
  const beamName = nameSearch(beam);
  const wide = isGreedy || hasBeam(trace.search.method);
  const shown = shownTrees(isGreedy);
  return (
    <>
      {other.problem && (
        <div class="panel-problem" role="alert">
          <p>The other search could not be made: {other.problem.detail || other.problem.title}</p>
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        </div>
      )}
      <div class="search-controls">
        <Switch isGreedy={isGreedy} wide={wide} both={!saved || other.trace !== undefined} />
        {wide && !saved && <Settings trace={trace} beam={beam} />}
      </div>
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
      {greedy && beam && <Compare greedy={greedy} beam={beam} beamName={beamName} />}
      {beam && wide && <AlphaCurve trace={beam} />}
    </>
  );
}

function nameSearch(trace: Trace | undefined): string {
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
              onClick={() => setExtra({ tree: choice })}
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
            setExtra({ grow });
          }}
        />
        Only up to the current step
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

/* One search as a figure: its tree, the score of the chosen box, and how the ends compare. */

/** Dropped candidates of each step that one press shows more. */
const MORE = 4;
/** More than these would be too many boxes to draw. */
const MOST = 40;

interface Props {
  /** "greedy" or "beam". */
  name: string;
  title: string;
  trace: Trace;
  /** The search it is compared with, once it is here. */
  other: Trace | undefined;
  otherName: string;
}

/** The section; a trace without a tree has none. */
function TreeSection(props: Props) {
  const { tree } = props.trace;
  return tree === null ? null : <WithTree {...props} tree={tree} />;
}

function WithTree({ name, title, trace, other, otherName, tree }: Props & { tree: SearchTree }) {
  const dropped = parseWhole(address.value.extra.dropped, MOST, 0);
  const now = { at: step.value + 1, steps: steps.value };
  const chosen = chosenNode(tree, address.value.extra.path ?? "", now);
  const paths = usePaths(tree, other);
  const layout = useMemo(() => {
    const always = new Set([...paths.other, ...pathTo(tree, chosen)]);
    return layOut(tree, { dropped, always });
  }, [tree, paths, chosen, dropped]);
  const at = Math.min(now.at, layout.steps);
  const choose = (node: number) => choosing(tree, node);
  const drawn = { title, trace, tree, layout, ...paths };
  const shown = { otherName, chosen, at, dropped, choose, until: shownUntil(now) };
  return (
    <>
      <Figure
        name={`search-${name}`}
        title={title}
        caption={<Caption tree={tree} otherName={otherName} />}
        controls={<Folding dropped={dropped} />}
        picture={() => treePicture(drawn)}
        table={() => treeTable(drawn)}
      >
        <p class="search-step">{describeStep(trace, tree, at)}</p>
        <TreeView
          {...drawn}
          {...shown}
          label={`${title}: arrow keys go from box to box`}
          pieces={trace.pieces}
          unfold={() => showDropped(dropped + MORE)}
        />
      </Figure>
      <Arithmetic name={title} trace={trace} node={chosen} />
      <Ends trace={trace} node={chosen} choose={choose} />
    </>
  );
}

/** The nodes that the winner passes, and those that the other search passes. */
function usePaths(tree: SearchTree, other: Trace | undefined) {
  return useMemo(
    () => ({
      won: new Set(pathTo(tree, tree.results[0] ?? 0)),
      other: new Set(other ? follow(tree, getResult(other).tokens).nodes : []),
    }),
    [tree, other],
  );
}

/** While the steps play, or where the reader wants it, the tree grows with them. */
function shownUntil(now: Moment): number {
  const grows = playing.value || address.value.extra.grow === "1";
  return grows && now.at < now.steps ? now.at : Number.POSITIVE_INFINITY;
}

function choosing(tree: SearchTree, node: number): void {
  if (nodeAt(tree, node).parent === null) return;
  const extra = withExtra(address.value.extra, { path: writtenPath(tree, node) });
  go({ step: findStep(tree, node, steps.value), extra }, { replace: true });
}

function showDropped(count: number): void {
  const dropped = count === 0 ? null : String(Math.min(count, MOST));
  setExtra({ dropped }, { replace: true });
}

function Folding({ dropped }: { dropped: number }) {
  return (
    <fieldset class="segmented" aria-label="Dropped candidates">
      <button type="button" aria-pressed={dropped === 0} onClick={() => showDropped(0)}>
        Dropped folded
      </button>
      <button type="button" aria-pressed={dropped > 0} onClick={() => showDropped(dropped + MORE)}>
        {dropped > 0 ? "Show more" : "Show dropped"}
      </button>
    </fieldset>
  );
}

function Caption({ tree, otherName }: { tree: SearchTree; otherName: string }) {
  const candidates = tree.nodes.slice(1);
  const said = (["kept", "finished", "cut", "dropped"] as const)
    .map((status) => [candidates.filter((node) => node.status === status).length, status] as const)
    .filter(([count]) => count > 0)
    .map(([count, status]) => `${count} ${status}`);
  return (
    <>
      A box is a token: its own log P on the left, the score of the path so far on the right; the
      best of each step stands highest. Thick line: the winner. Dotted: where {otherName} went.{" "}
      {candidates.length} candidates: {said.join(", ")}. The search stopped because{" "}
      {whyStopped(tree)}.
    </>
  );
}
