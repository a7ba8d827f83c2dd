/** One search as a figure: its tree, the score of the chosen box, and how the ends compare. */

import { useMemo } from "preact/hooks";
import type { SearchTree, Trace } from "../../api/types.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { playing, step, steps } from "../../state/player.ts";
import { address, go } from "../../state/store.ts";
import { wholeOf, withExtra } from "../output/extra.ts";
import { Arithmetic, Ends } from "./Arithmetic.tsx";
import { chosenNode, type Moment, stepOf, writtenPath } from "./choice.ts";
import { layOut } from "./layout.ts";
import { nodeAt, pathTo, whyStopped } from "./outcome.ts";
import { follow } from "./parting.ts";
import { treePicture, treeTable } from "./pictures.ts";
import { TreeView } from "./TreeView.tsx";
import { resultOf, stepInWords } from "./words.ts";

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
export function TreeSection(props: Props) {
  const { tree } = props.trace;
  return tree === null ? null : <WithTree {...props} tree={tree} />;
}

function WithTree({ name, title, trace, other, otherName, tree }: Props & { tree: SearchTree }) {
  const dropped = wholeOf(address.value.extra.dropped, MOST, 0);
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
        <p class="search-step">{stepInWords(trace, tree, at)}</p>
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
      other: new Set(other ? follow(tree, resultOf(other).tokens).nodes : []),
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
  go({ step: stepOf(tree, node, steps.value), extra }, { replace: true });
}

function showDropped(count: number): void {
  const dropped = count === 0 ? null : String(Math.min(count, MOST));
  go({ extra: withExtra(address.value.extra, { dropped }) }, { replace: true });
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
      A box is a token: left log P of it alone, right the score of the path as far as this; the best
      of a step stands highest. Thick line: the winner. Dotted: where {otherName} went.{" "}
      {candidates.length} candidates: {said.join(", ")}. The search stopped because{" "}
      {whyStopped(tree)}.
    </>
  );
}
