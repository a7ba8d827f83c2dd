/** Who decides? Two sentences, the step where their translations part, and what makes them part. */

import { useEffect, useState } from "preact/hooks";
import { asProblem, isAbort, type Problem, patchCells } from "../../api/client.ts";
import { saved } from "../../api/saved.ts";
import type { Cell, CellShare, PatchedRun, Patching, Trace } from "../../api/types.ts";
import { compareTexts } from "../../drawing/differences.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Marked, Num, printed } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import { Segmented } from "../../drawing/Segmented.tsx";
import { PanelFrame } from "../../frame/PanelFrame.tsx";
import { NeedsServer } from "../../frame/Saved.tsx";
import { likeModels, oneSentence, traceRequest } from "../../state/requests.ts";
import { address, model, models, setExtra } from "../../state/store.ts";
import { CellMap } from "./CellMap.tsx";
import {
  clicked,
  competing,
  describe,
  hasHeads,
  type Into,
  keyOf,
  looksOf,
  nameOf,
  parseCells,
  patched,
  ranked,
  shareOf,
  writeCells,
} from "./cells.ts";
import { Repeat } from "./Repeat.tsx";
import "./pair.css";

export default function PairPanel() {
  return (
    <PanelFrame
      title="Who decides?"
      lead="Patch one activation from the other sentence: does the decision move?"
      above={saved ? <SavedSentence /> : <OtherSentence />}
    >
      {(trace) =>
        trace.patching ? (
          <Pair trace={trace} patching={trace.patching} />
        ) : saved ? (
          <NeedsServer what="compare two sentences, because it was saved with one" />
        ) : (
          <p class="pair-hint">
            Write the sentence once more with a word changed, such as “… too dark” for “… too
            tired”.
          </p>
        )
      }
    </PanelFrame>
  );
}

/** The second sentence of a saved page, which cannot be changed. */
function SavedSentence() {
  const other = saved?.trace.patching?.second;
  return other ? (
    <p class="pair-other">
      <span class="muted">Other sentence</span> {other}
    </p>
  ) : null;
}

/** The field of the second sentence. It is compared when the reader is done with it. */
function OtherSentence() {
  const { against = "", reader = "" } = address.value.extra;
  const likes = model.value ? likeModels(models.value.value, model.value) : [];
  const [text, setText] = useState(against);
  useEffect(() => setText(against), [against]);
  const compare = (): void => {
    const sentence = oneSentence(text);
    if (sentence !== against)
      setExtra({ against: sentence || null, cells: null, at: null, between: null });
  };
  return (
    <form
      class="pair-other"
      onSubmit={(event) => {
        event.preventDefault();
        compare();
      }}
    >
      <label>
        <span>Other sentence</span>
        <input
          type="text"
          dir="auto"
          name="against"
          value={text}
          spellcheck={false}
          autocomplete="off"
          placeholder={address.value.text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {text === "" && (
        <button type="button" class="button" onClick={() => setText(address.peek().text)}>
          Copy the first
        </button>
      )}
      {likes.length > 0 && (
        <label class="pair-reader">
          <span>read by</span>
          <select
            value={reader}
            onChange={(event) =>
              setExtra({
                reader: event.currentTarget.value || null,
                cells: null,
                at: null,
                between: null,
              })
            }
          >
            <option value="">the same model</option>
            {likes.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <button type="submit" class="button button-main">
        Compare
      </button>
    </form>
  );
}

/** The pair: sentences, margin, map, details, and the same in other sentences. */
function Pair({ trace, patching }: { trace: Trace; patching: Patching }) {
  const { extra } = address.value;
  const cells = parseCells(extra.cells, patching);
  const into: Into = extra.into === "2" ? "2" : "1";
  const [collecting, setCollecting] = useState(false);
  const [pointed, setPointed] = useState<CellShare | null>(null);
  const run = usePatched(patching, cells, into);
  const { value } = run;
  const choose = (cell: Cell, more: boolean): void => {
    setExtra({ cells: writeCells(clicked(cells, cell, collecting || more)) }, { replace: true });
  };
  const [best] = ranked(patching, "encoder", "decoder", "cross");
  const shown = pointed ?? lastOf(patching, cells) ?? best ?? null;
  return (
    <div class="pair">
      <div class="pair-side">
        <DecisionChoice trace={trace} patching={patching} />
        <MarginBar patching={patching} into={into} run={value} />
        <Sentences patching={patching} into={into} run={value} chosen={cells.length > 0} />
        {run.problem && (
          <p class="panel-problem" role="alert">
            {run.problem.detail}
          </p>
        )}
        {saved && cells.length > 1 && <NeedsServer what="patch several cells together" />}
        {shown && <Detail patching={patching} share={shown} />}
      </div>
      <Figure
        name="who-decides"
        title="Where is it decided?"
        controls={
          <>
            <Segmented
              label="Which sentence is patched"
              choices={[
                { value: "1", name: "2 into 1" },
                { value: "2", name: "1 into 2" },
              ]}
              value={into}
              onChoose={(value: Into) => setExtra({ into: value === "1" ? null : value })}
            />
            <label
              class="pair-collect"
              title="Patch several cells together; Shift-click does the same"
            >
              <input
                type="checkbox"
                checked={collecting}
                onChange={(event) => setCollecting(event.currentTarget.checked)}
              />
              Collect
            </label>
            <button
              type="button"
              class="button"
              disabled={cells.length === 0}
              onClick={() => setExtra({ cells: null }, { replace: true })}
            >
              Clear
            </button>
          </>
        }
        table={() => shareTable(patching)}
        caption={
          <>
            A cell is the share of the difference between the two margins that moves with it, the
            mean of both directions; striped where the directions differ by more than a fifth.
            Layers, heads and tokens count from 1.
          </>
        }
      >
        <CellMap patching={patching} chosen={cells} onChoose={choose} onPoint={setPointed} />
      </Figure>
      {patching.models[0] === patching.models[1] && (
        <div class="pair-below">
          <Repeat trace={trace} patching={patching} />
        </div>
      )}
    </div>
  );
}

function lastOf(patching: Patching, cells: Cell[]): CellShare | undefined {
  const key = cells.at(-1);
  return key && patching.cells.find(({ cell }) => keyOf(cell) === keyOf(key));
}

/** What a run does with cells patched; its translation may be on its way, or not recorded. */
type Patched = Omit<PatchedRun, "translation"> & { translation: string | null };

/** What the patched run does: of one cell as it was measured, else as the server says. */
function usePatched(
  patching: Patching,
  cells: Cell[],
  into: Into,
): { value: Patched | null; problem: Problem | null } {
  const [answer, setAnswer] = useState<{ key: string; runs: PatchedRun[] } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const share = lastOf(patching, cells);
  const measured = cells.length === 1 && share ? patched(patching, share, into) : null;
  const unknown = cells.length > 0 && !measured?.translation;
  const { step, first, second } = patching.decision;
  const { models: both } = patching;
  const key = JSON.stringify([patching.first, patching.second, both, step, first, second, cells]);
  useEffect(() => {
    setProblem(null);
    const request = traceRequest(address.peek(), models.peek().value);
    if (!unknown || saved || !request?.against) return;
    const abort = new AbortController();
    const { text, model, target, search, without, against, against_model, decision } = request;
    const asked = {
      text,
      against,
      cells,
      ...decision,
      ...optional({ model, target, search, without, against_model }),
    };
    patchCells(asked, abort.signal)
      .then(({ forward, backward }) => setAnswer({ key, runs: [forward, backward] }))
      .catch((error) => {
        if (!isAbort(error)) setProblem(asProblem(error));
      });
    return () => abort.abort();
  }, [key, unknown]);
  const answered = answer?.key === key ? answer.runs[into === "1" ? 0 : 1] : undefined;
  return { value: unknown ? (answered ?? measured) : measured, problem };
}

/** The entries that have a value. */
function optional<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}

/* Which decision is meant: where the translations part, or one that the reader chooses. */

/** A step and two tokens, to be chosen; a saved page has those that were recorded. */
function DecisionChoice({ trace, patching }: { trace: Trace; patching: Patching }) {
  const { step, first, second, pieces } = patching.decision;
  const known = new Map([
    [first, pieces[0]],
    [second, pieces[1]],
    ...(trace.steps[step]?.top ?? []).map(({ id, piece }) => [id, piece] as const),
  ]);
  if (saved) {
    return (
      <p>
        Step {step + 1} writes “{plain(pieces[0])}” or “{plain(pieces[1])}”.
      </p>
    );
  }
  const choose = (at: number, one: number, other: number): void =>
    setExtra({ at: String(at + 1), between: `${one}.${other}`, cells: null });
  const chooseStep = (at: number): void => {
    const here = trace.steps[at];
    const rival = here?.top.find(({ id }) => id !== here.token.id);
    if (here && rival) choose(at, here.token.id, rival.id);
  };
  const chosen = address.value.extra.at !== undefined;
  return (
    <p class="pair-decision">
      <label>
        Step{" "}
        <select
          value={step}
          class="pair-step"
          onChange={(event) => chooseStep(Number(event.currentTarget.value))}
        >
          {trace.steps.map(({ token }, at) => (
            <option key={at} value={at}>
              {at + 1} {plain(token.piece)}
            </option>
          ))}
        </select>
      </label>{" "}
      writes{" "}
      <TokenChoice
        name="First token"
        known={known}
        value={first}
        not={second}
        onChoose={(id) => choose(step, id, second)}
      />{" "}
      or{" "}
      <TokenChoice
        name="Second token"
        known={known}
        value={second}
        not={first}
        onChoose={(id) => choose(step, first, id)}
      />{" "}
      {chosen && (
        <button
          type="button"
          class="quiet-button"
          onClick={() => setExtra({ at: null, between: null, cells: null })}
        >
          Where they part
        </button>
      )}
    </p>
  );
}

interface TokenChoiceProps {
  name: string;
  known: Map<number, string>;
  value: number;
  /** The other token, which cannot be chosen here. */
  not: number;
  onChoose: (id: number) => void;
}

function TokenChoice({ name, known, value, not, onChoose }: TokenChoiceProps) {
  return (
    <select
      aria-label={name}
      value={value}
      onChange={(event) => onChoose(Number(event.currentTarget.value))}
    >
      {[...known]
        .filter(([id]) => id !== not)
        .map(([id, piece]) => (
          <option key={id} value={id}>
            {plain(piece)}
          </option>
        ))}
    </select>
  );
}

/* The sentences, what differs, and what the patched run writes. */

interface RunProps {
  patching: Patching;
  into: Into;
  run: Patched | null;
}

/** `chosen`: cells are, though it may not be known yet what they do. */
function Sentences({ patching, run, into, chosen }: RunProps & { chosen: boolean }) {
  const [one, other] = patching.models;
  const named = one !== other;
  const { before, after } = compareTexts(patching.first_translation, patching.second_translation);
  const own = into === "1" ? patching.first_translation : patching.second_translation;
  const rewritten = run?.translation ? compareTexts(own, run.translation) : null;
  return (
    <dl class="pair-sentences">
      <div data-row="1">
        <dt>1</dt>
        <dd>
          <Marked parts={before} mark="ins" /> {named && <span class="muted">({one})</span>}
        </dd>
      </div>
      <div data-row="2">
        <dt>2</dt>
        <dd>
          <Marked parts={after} mark="ins" /> {named && <span class="muted">({other})</span>}
        </dd>
      </div>
      <div data-row="patched" aria-live="polite">
        <dt>
          {into}, patched{run && `: share ${printed(run.share, 2)}`}
        </dt>
        <dd>
          {rewritten ? (
            <Marked parts={rewritten.after} mark="ins" />
          ) : (
            <span class="muted">{waiting(chosen)}</span>
          )}
        </dd>
      </div>
    </dl>
  );
}

/** Why there is no rewritten sentence yet. */
function waiting(chosen: boolean): string {
  if (!chosen) return "Click a cell to patch it, and the sentence is written anew.";
  return saved ? "It moves too little: what is written then was not saved." : "Writing …";
}

/** The margin of both runs and of the patched one, on a line through 0. */
function MarginBar({ patching, into, run }: RunProps) {
  const [one, other] = competing(patching);
  const [first, second] = patching.decision.margins;
  const now = run?.margin ?? (into === "1" ? first : second);
  const most = 1.15 * Math.max(Math.abs(first), Math.abs(second), Math.abs(now));
  const place = (margin: number): string => `${50 - (50 * margin) / most}%`;
  return (
    <div class="pair-margin" data-margin={String(now)}>
      <p>
        Logit of “{one}” minus logit of “{other}”: <Num value={first} digits={2} /> in 1,{" "}
        <Num value={second} digits={2} /> in 2
        {run && (
          <>
            , <b>patched</b> <Num value={run.margin} digits={2} />
          </>
        )}
        .
      </p>
      <div class="pair-line" aria-hidden="true">
        <span class="pair-token">{one}</span>
        <span class="pair-track">
          <i class="pair-zero" />
          <i class="pair-mark" style={{ left: place(first) }}>
            1
          </i>
          <i class="pair-mark" style={{ left: place(second) }}>
            2
          </i>
          <i class="pair-now" style={{ left: place(now) }} />
        </span>
        <span class="pair-token">{other}</span>
      </div>
    </div>
  );
}

/* What is known of one cell. */

function Detail({ patching, share }: { patching: Patching; share: CellShare }) {
  const looks = looksOf(patching, share.cell);
  return (
    <section class="pair-detail" aria-label="The cell in numbers" data-cell={nameOf(share.cell)}>
      <h3>
        {nameOf(share.cell)}: {describe(share.cell, patching)}
      </h3>
      <p>
        Share of the flip: <Num value={share.forward} digits={2} /> with 2 patched into 1,{" "}
        <Num value={share.backward} digits={2} /> with 1 into 2
        {share.agrees ? "" : "; the directions disagree"}.{" "}
        {share.controls && (
          <>
            From an unrelated sentence, “{patching.control}”:{" "}
            <Num value={share.controls[0]} digits={2} /> in 1,{" "}
            <Num value={share.controls[1]} digits={2} /> in 2.
          </>
        )}
      </p>
      {looks && looks.looks.length > 0 && (
        <table class="pair-looks">
          <caption>
            {looks.from === null
              ? "Where it looks at the step of the decision"
              : `Where it looks from “${looks.from}”, the row that changes most`}
          </caption>
          <thead>
            <tr>
              <th scope="col">token</th>
              <th scope="col">1</th>
              <th scope="col">2</th>
              <th scope="col">2 − 1</th>
            </tr>
          </thead>
          <tbody>
            {looks.looks.map(({ label, first, second }, at) => (
              <tr key={at}>
                <th scope="row">{label}</th>
                <td>
                  <Num value={first} digits={2} />
                </td>
                <td>
                  <Num value={second} digits={2} />
                </td>
                <td>
                  <Num value={second - first} digits={2} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function shareTable(patching: Patching) {
  return {
    columns: ["part", "layer", "index", "2 into 1", "1 into 2", "mean", "agrees"],
    rows: patching.cells.map((one) => [
      one.cell.part,
      hasHeads(one.cell.part) ? one.cell.layer + 1 : one.cell.layer,
      one.cell.index + 1,
      one.forward,
      one.backward,
      shareOf(one),
      one.agrees ? "yes" : "no",
    ]),
  };
}
