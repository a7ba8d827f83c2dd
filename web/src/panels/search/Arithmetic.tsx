/** The score of one path written out, and how the ends compare. */

import type { SearchTree, Trace } from "../../api/types.ts";
import { Fraction, Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import {
  arithmetic,
  ends,
  nodeAt,
  type Arithmetic as Sum,
  spelled,
  whatBecame,
} from "./outcome.ts";

interface Props {
  trace: Trace;
  node: number;
}

/** The score of the path to the chosen box, with its numbers put in. */
export function Arithmetic({ name, trace, node }: Props & { name: string }) {
  if (trace.tree === null) return null;
  const { tree, search } = trace;
  const found = arithmetic(tree, node, search);
  const pieces = found.path.map((one) => trace.pieces[nodeAt(tree, one).token] ?? "");
  return (
    <section class="search-arithmetic" aria-label={`Score of the chosen path: ${name}`}>
      <p>
        <b>“{spelled(pieces) || plain(pieces.at(-1) ?? "")}”</b>{" "}
        <span class="muted">{whatBecame(nodeAt(tree, node))}</span>
      </p>
      <div class="search-sum">
        <span class="search-name">log P =</span>
        {found.path.map((one, index) => (
          <span key={one} class="search-term">
            <span>
              {index > 0 && "+ "}(<Num value={nodeAt(tree, one).log_prob} digits={3} />)
            </span>
            <small>{plain(pieces[index] ?? "")}</small>
          </span>
        ))}
        <span data-part="log-prob">
          = <Num value={found.logProb} digits={4} />
        </span>
      </div>
      <Penalty {...found} form={search.length_form} alpha={search.length_penalty} />
      <Score {...found} covered={search.coverage_penalty > 0} />
    </section>
  );
}

function Score({ logProb, penalty, coverage, score, covered }: Sum & { covered: boolean }) {
  return (
    <div class="search-sum">
      <span class="search-name">score =</span>
      <Fraction
        above={<Num value={logProb} digits={4} />}
        below={<Num value={penalty} digits={4} />}
      />
      {covered && (
        <span>
          + coverage (<Num value={coverage} digits={4} />)
        </span>
      )}
      <span data-part="score">
        ={" "}
        <b>
          <Num value={score} digits={4} />
        </b>
      </span>
    </div>
  );
}

interface PenaltyProps {
  length: number;
  penalty: number;
  form: "paper" | "plain";
  alpha: number;
}

function Penalty({ length, penalty, form, alpha }: PenaltyProps) {
  return (
    <div class="search-sum">
      <span class="search-name">lp({length}) =</span>
      {form === "paper" ? (
        <span class="search-power">
          (<Fraction above={<>5 + {length}</>} below={6} />)<sup>{alpha}</sup>
        </span>
      ) : (
        <span class="search-power">
          {length}
          <sup>{alpha}</sup>
        </span>
      )}
      <span data-part="penalty">
        = <Num value={penalty} digits={4} />
      </span>
      <span class="muted">
        {length} {length === 1 ? "token" : "tokens"}, α = {alpha}
        {alpha === 0 && ": no penalty"}
      </span>
    </div>
  );
}

const MOST = 8;

/** The hypotheses that ended, best first; pressing one chooses it. */
export function Ends({ trace, node, choose }: Props & { choose: (node: number) => void }) {
  if (trace.tree === null) return null;
  const all = ends(trace.tree);
  return (
    <div class="scroll-x">
      <table class="search-ends">
        <thead>
          <tr>
            <th scope="col">#</th>
            <th scope="col">ended as</th>
            <th scope="col">log P</th>
            <th scope="col">n</th>
            <th scope="col">lp(n)</th>
            <th scope="col">score</th>
          </tr>
        </thead>
        <tbody>
          {all.slice(0, MOST).map((end, rank) => (
            <End
              key={end}
              trace={trace}
              node={end}
              rank={rank}
              isChosen={end === node}
              choose={choose}
            />
          ))}
        </tbody>
      </table>
      {all.length > MOST && <p class="muted">{all.length - MOST} more ended with lower scores.</p>}
    </div>
  );
}

interface EndProps extends Props {
  rank: number;
  isChosen: boolean;
  choose: (node: number) => void;
}

function End({ trace, node, rank, isChosen, choose }: EndProps) {
  const tree = trace.tree as SearchTree;
  const found = arithmetic(tree, node, trace.search);
  const pieces = found.path.map((one) => trace.pieces[nodeAt(tree, one).token] ?? "");
  return (
    <tr data-end={node} data-chosen={isChosen || undefined}>
      <td>{rank + 1}</td>
      <th scope="row">
        <button type="button" class="search-end" onClick={() => choose(node)}>
          {spelled(pieces) || "(nothing)"}
        </button>
        {rank === 0 && <span class="search-badge">won</span>}
        {nodeAt(tree, node).status === "cut" && <span class="muted"> in circles</span>}
      </th>
      <td>
        <Num value={found.logProb} digits={3} />
      </td>
      <td>{found.length}</td>
      <td>
        <Num value={found.penalty} digits={3} />
      </td>
      <td>
        <Num value={found.score} digits={3} />
      </td>
    </tr>
  );
}
