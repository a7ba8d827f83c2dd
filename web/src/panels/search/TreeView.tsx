/** The tree itself: boxes that can be walked with the arrow keys, lines behind them. */

import { useEffect, useRef } from "preact/hooks";
import type { SearchTree, TreeNode } from "../../api/types.ts";
import { Num, printed } from "../../drawing/Number.tsx";
import { plain, spoken } from "../../drawing/pieces.ts";
import { BOX, curve, type Direction, neighbour, type Place, type TreeLayout } from "./layout.ts";
import { nodeAt } from "./outcome.ts";

/** What is drawn, and how. */
interface TreeProps {
  label: string;
  tree: SearchTree;
  layout: TreeLayout;
  pieces: Record<string, string>;
  /** Nodes of the translation that won. */
  won: ReadonlySet<number>;
  /** Nodes that the other search passes too. */
  other: ReadonlySet<number>;
  otherName: string;
  chosen: number;
  /** Step whose column is marked, as the tree counts: from 1. */
  at: number;
  /** Steps after this one are not shown. */
  until: number;
  /** Dropped candidates of each step that are shown. */
  dropped: number;
  choose: (node: number) => void;
  unfold: () => void;
}

/** The scrolling box with the tree in it. */
export function TreeView(props: TreeProps) {
  const { layout, at, until } = props;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current !== null) bringIntoSight(box.current, at);
  }, [at]);
  return (
    <div class="search-scroll" ref={box}>
      <div
        class="search-canvas"
        style={{ width: `${layout.width}px`, height: `${layout.height}px` }}
      >
        <Columns layout={layout} at={at} until={until} />
        <Lines {...props} />
        <Boxes {...props} />
        <Folds {...props} />
      </div>
    </div>
  );
}

/** Scroll the box sideways to a step, if it is not in sight; the page itself never moves. */
function bringIntoSight(frame: HTMLElement, at: number): void {
  const column = BOX.margin + at * (BOX.width + BOX.across);
  const [left, right] = [frame.scrollLeft, frame.scrollLeft + frame.clientWidth];
  if (column - BOX.across >= left && column + BOX.width + BOX.across <= right) return;
  frame.scrollLeft = column - frame.clientWidth / 2 + BOX.width / 2;
}

function Folds({ layout, until, dropped, unfold }: TreeProps) {
  return layout.folds
    .filter(({ step }) => step <= until)
    .map(({ step, count, x, y }) => (
      <button
        type="button"
        key={step}
        class="search-fold"
        style={{ left: `${x}px`, top: `${y}px`, width: `${BOX.width}px` }}
        aria-label={`Show more of the ${count} candidates dropped at step ${step}`}
        onClick={unfold}
      >
        {count} {dropped > 0 ? "more" : "dropped"}
      </button>
    ));
}

function Columns({ layout, at, until }: Pick<TreeProps, "layout" | "at" | "until">) {
  const steps = Array.from({ length: Math.min(layout.steps, until) }, (_, index) => index + 1);
  return (
    <div aria-hidden="true">
      {steps.map((step) => (
        <span
          key={step}
          class="search-column"
          data-current={step === at || undefined}
          style={{
            left: `${BOX.margin + step * (BOX.width + BOX.across) - 6}px`,
            width: `${BOX.width + 12}px`,
            height: `${layout.height}px`,
          }}
        >
          step {step}
        </span>
      ))}
    </div>
  );
}

/** Lines: dropped ones first, those that won last, so that they lie on top. */
function Lines({ tree, layout, won, other, until }: TreeProps) {
  const drawn = layout.edges
    .filter(({ to }) => nodeAt(tree, to).step <= until)
    .map(({ from, to }) => ({
      to,
      kind: won.has(to) ? "won" : nodeAt(tree, to).status === "dropped" ? "dropped" : "kept",
      d: curve(layout.places.get(from) as Place, layout.places.get(to) as Place),
    }));
  drawn.sort((a, b) => a.kind.localeCompare(b.kind));
  return (
    <svg class="search-lines" width={layout.width} height={layout.height} aria-hidden="true">
      {drawn.map(({ to, kind, d }) => (
        <path key={to} class={`search-line search-line-${kind}`} d={d} />
      ))}
      {drawn
        .filter(({ to }) => other.has(to) && !won.has(to))
        .map(({ to, d }) => (
          <path key={`other ${to}`} class="search-line search-line-other" d={d} />
        ))}
    </svg>
  );
}

const KEYS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};

function Boxes(props: TreeProps) {
  const { tree, layout, chosen, choose, until } = props;
  const list = useRef<HTMLDivElement>(null);
  const shown = [...layout.places.values()].filter(({ node }) => nodeAt(tree, node).step <= until);
  const move = (event: KeyboardEvent) => {
    const direction = KEYS[event.key];
    if (direction === undefined) return;
    event.preventDefault();
    const next = neighbour(tree, layout, chosen, direction);
    const { step } = nodeAt(tree, next);
    if (step === 0 || step > until) return;
    choose(next);
    list.current?.querySelector<HTMLElement>(`[data-node="${next}"]`)?.focus();
  };
  return (
    <>
      <div class="search-box search-root" aria-hidden="true" style={corners(shown[0] as Place)}>
        {plain(props.pieces[nodeAt(tree, 0).token] ?? "<s>")}
      </div>
      <div role="tree" aria-label={props.label} ref={list} data-own-keys onKeyDown={move}>
        {shown.slice(1).map((place) => (
          <Box key={place.node} {...props} place={place} />
        ))}
      </div>
    </>
  );
}

function corners({ x, y }: Place) {
  return { left: `${x}px`, top: `${y}px`, width: `${BOX.width}px`, height: `${BOX.height}px` };
}

function Box(props: TreeProps & { place: Place }) {
  const { tree, won, other, chosen, choose, place } = props;
  const node = nodeAt(tree, place.node);
  const piece = props.pieces[node.token] ?? `#${node.token}`;
  return (
    <div
      role="treeitem"
      tabIndex={place.node === chosen ? 0 : -1}
      aria-level={node.step}
      aria-selected={place.node === chosen}
      aria-label={named(props, node, piece)}
      class="search-box"
      data-node={place.node}
      data-status={node.status}
      data-won={won.has(place.node) || undefined}
      data-other={other.has(place.node) || undefined}
      style={corners(place)}
      onFocus={() => place.node !== chosen && choose(place.node)}
    >
      <span class="search-piece">
        <span>{plain(piece)}</span>
        {node.status !== "kept" && <i aria-hidden="true">{MARKS[node.status]}</i>}
      </span>
      <span class="search-numbers">
        <Num value={node.log_prob} digits={2} />
        <Num value={node.score} digits={2} />
      </span>
    </div>
  );
}

function named(props: TreeProps & { place: Place }, node: TreeNode, piece: string): string {
  const { won, other, otherName, place } = props;
  return [
    spoken(piece),
    `log P ${printed(node.log_prob, 3)}`,
    `score ${printed(node.score, 3)}`,
    node.status,
    ...(won.has(place.node) ? ["on the winner's path"] : []),
    ...(other.has(place.node) ? [`on ${otherName}'s path`] : []),
  ].join(", ");
}

/** A mark beside the colour, so that the fate of a box does not hang on colour alone. */
const MARKS = { dropped: "✕", finished: "■", cut: "↻" } as const;
