/** What the panel says of a search, in sentences. */

import type { NodeStatus, SearchTree, Trace } from "../../api/types.ts";
import { printed, timesAs } from "../../drawing/Number.tsx";
import { plain, written } from "../../drawing/pieces.ts";
import { hasBeam } from "../../state/requests.ts";
import { follow, nodeAt, partingAt, pathTo, type Result, verdict } from "./outcome.ts";

/** What a trace's search found. */
export function getResult(trace: Trace): Result {
  const tokens = trace.steps.map(({ token }) => token.id);
  return { tokens, logProb: trace.log_prob, score: trace.score };
}

/** Say how greedy and beam compare; of samples, whose scores mean something else, only log P. */
export function comparison(greedy: Trace, beam: Trace): string {
  const [g, b] = [getResult(greedy), getResult(beam)];
  if (!hasBeam(beam.search.method)) {
    return `log P of the one that won is ${printed(b.logProb, 3)}, of the greedy one ${printed(g.logProb, 3)}.`;
  }
  const probabilities = `log P ${printed(b.logProb, 3)} against ${printed(g.logProb, 3)}`;
  const scores = `score ${printed(b.score, 3)} against ${printed(g.score, 3)}`;
  const times = timesAs(Math.exp(Math.abs(b.logProb - g.logProb)));
  const less = `The beam's translation is less probable than the greedy one: ${probabilities}.`;
  const found = verdict(g, b);
  if (greedy.flags.looped && (found === "worse" || found === "longer")) {
    return (
      `${less} But the greedy one went in circles and was ended, which ranks below all that ` +
      "ends by itself."
    );
  }
  return {
    same:
      "Both wrote the same translation: at every step the most probable token was on the best " +
      "path.",
    "more probable":
      `The beam found a translation that is more probable than the greedy one: ${probabilities}, ` +
      `${times} times as probable.`,
    longer:
      `${less} It won all the same, because it is longer and the length penalty weighs that: ` +
      `${scores}.`,
    worse:
      `${less} The greedy path fell out of the beam on the way: a beam is no promise of the best ` +
      "translation.",
    equal: `They wrote different tokens of the same probability: ${probabilities}.`,
  }[found];
}

/** Say where greedy and beam part, and what became of greedy's path inside; null: nothing to say. */
export function parting(greedy: Trace, beam: Trace): string | null {
  const [g, b] = [getResult(greedy), getResult(beam)];
  const at = partingAt(g.tokens, b.tokens);
  if (at === null || !hasBeam(beam.search.method)) return null;
  const said = (trace: Trace) => plain(trace.steps[at]?.token.piece ?? "nothing");
  const fork = `They part at step ${at + 1}: greedy writes “${said(greedy)}”, the beam “${said(beam)}”.`;
  if (beam.tree === null) return fork;
  const { nodes, fate } = follow(beam.tree, g.tokens);
  if (fate === "kept")
    return `${fork} Greedy's path stayed in the beam to its end, and scored lower.`;
  if (fate === "dropped")
    return `${fork} Inside the beam, greedy's path was dropped at step ${nodes.length}.`;
  return `${fork} Greedy's path was not among the beam's candidates from step ${nodes.length + 1} on.`;
}

/** Say what happened at one step: how many candidates there were, and which went on. */
export function describeStep(trace: Trace, tree: SearchTree, at: number): string {
  const here = tree.nodes.flatMap((node, number) => (node.step === at ? [number] : []));
  here.sort((a, b) => nodeAt(tree, b).score - nodeAt(tree, a).score);
  const named = (status: NodeStatus) =>
    here
      .filter((number) => nodeAt(tree, number).status === status)
      .map((number) => `“${ending(trace, tree, number)}”`);
  const [kept, finished, dropped] = [named("kept"), named("finished"), named("dropped")];
  const parts = [
    ...(kept.length > 0 ? [`${listed(kept)} ${kept.length === 1 ? "continues" : "continue"}`] : []),
    ...(finished.length > 0 ? [`${several(finished.length, "path")} ended`] : []),
    ...(dropped.length > 0 ? [`${dropped.length} dropped, the best of them ${dropped[0]}`] : []),
  ];
  return `Step ${at}: ${several(here.length, "candidate")}; ${parts.join("; ")}.`;
}

/** The last two tokens of a path: with the one before, equal tokens can be told apart. */
function ending(trace: Trace, tree: SearchTree, number: number): string {
  const pieces = pathTo(tree, number)
    .slice(-2)
    .map((one) => {
      const { token } = nodeAt(tree, one);
      return trace.pieces[token] ?? `#${token}`;
    });
  return written(pieces);
}

function listed(names: string[]): string {
  const most = 6;
  if (names.length <= most) return names.join(", ");
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

function several(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
