/** Train live: the course of a run, its samples, and how attention came to be. */

import { useEffect, useState } from "preact/hooks";
import { asProblem, isAbort, film as makeFilm, type Problem } from "../../api/client.ts";
import { saved } from "../../api/saved.ts";
import type { Film, FilmRequest, HeadId, Run, Side } from "../../api/types.ts";
import { languageName } from "../../drawing/languages.ts";
import { counted, Num } from "../../drawing/Number.tsx";
import { directionName } from "../../frame/Choices.tsx";
import { PanelHead, PanelProblem } from "../../frame/PanelFrame.tsx";
import { NeedsServer } from "../../frame/Saved.tsx";
import { findTarget, oneSentence } from "../../state/requests.ts";
import { address, go, model, retries, setExtra, trace } from "../../state/store.ts";
import { clampHead, SIDES } from "../lens/headList.ts";
import { Charts } from "./Charts.tsx";
import { duration, lastStep, secondsLeft } from "./course.ts";
import { FilmPlayer, filmRequest, readSizes, type Sizes, sameSentence } from "./FilmPlayer.tsx";
import { type Followed, useCourse, useRuns } from "./follow.ts";
import { Samples } from "./Samples.tsx";
import "./training.css";

export default function TrainingPanel() {
  const { runs, problem } = useRuns();
  return (
    <section class="panel" aria-labelledby="panel-title" aria-busy={runs === null}>
      <PanelHead
        title="Training"
        lead="The course of a run, what it made of the same sentences on the way, and how one head found where to look (section 5)."
      />
      {problem && <PanelProblem problem={problem} />}
      {runs?.length === 0 && <NoRun />}
      {runs && runs.length > 0 && <OneRun runs={runs} />}
    </section>
  );
}

function OneRun({ runs }: { runs: Run[] }) {
  const chosen = runs.find(({ name }) => name === address.value.extra.run) ?? (runs[0] as Run);
  const { followed, problem } = useCourse(chosen.name);
  const choose = (name: string) =>
    setExtra({ run: name, at: null, sample: null, frame: null }, { replace: true });
  return (
    <>
      <RunHead runs={runs} run={chosen} followed={followed} onChoose={choose} />
      {problem && <PanelProblem problem={problem} />}
      {followed ? (
        <>
          <Charts course={followed.course} />
          <Samples course={followed.course} />
        </>
      ) : (
        <p class="panel-waiting">Reading the course of the run …</p>
      )}
      <FilmStrip key={chosen.name} run={chosen} />
    </>
  );
}

/* The film strip: one head over the checkpoints of a run, on the reader's own sentence. */

/** How long typing must rest before a film is asked for. */
const REST = 350;

/** Made when it is asked for: every checkpoint has to be loaded and has to translate. */
function FilmStrip({ run }: { run: Run }) {
  const text = oneSentence(address.value.text);
  const sizes = readSizes(run);
  const head = clampHead(address.value, sizes);
  const into = trace.value.value?.target;
  const foreign = !saved && into !== undefined && !run.directions.some(([, to]) => to === into);
  const wanted = !foreign && (saved !== null || address.value.extra.film === "1") && text !== "";
  const request = filmRequest(run, text, head, into ?? findTarget(model.value, address.value));
  const { film, problem, waiting } = useFilm(run.name, wanted ? request : null);
  return (
    <div class="training-film">
      <h3>Film strip</h3>
      <p>
        Every checkpoint that the run has kept translates your sentence. Then each reads the newest
        one’s translation, so that their attention can be compared word by word.
      </p>
      {text === "" ? (
        <p class="muted">Type a sentence above first.</p>
      ) : foreign ? (
        <p class="muted">
          This run translates{" "}
          {run.directions.map(([from, to]) => directionName([from], to)).join(" and ")}; your
          sentence is translated into {languageName(into)}. Write one in a language that it reads.
        </p>
      ) : (
        <div class="training-choice">
          <HeadChoice head={head} sizes={sizes} />
          {!wanted && (
            <button
              type="button"
              class="button"
              onClick={() => setExtra({ film: "1" }, { replace: true })}
            >
              Make the film
            </button>
          )}
        </div>
      )}
      {waiting && <p aria-busy="true">Loading checkpoints, translating with each …</p>}
      {problem && <PanelProblem problem={problem} />}
      {film && <FilmPlayer film={film.film} head={film.request} />}
    </div>
  );
}

/** The film of a request; the last one stays while another head of it is on its way. */
function useFilm(run: string, request: FilmRequest | null) {
  const [film, setFilm] = useState<{ film: Film; request: FilmRequest } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [waiting, setWaiting] = useState(false);
  const key = JSON.stringify(request);
  useEffect(() => {
    setProblem(null);
    if (request === null) return;
    const mine = new AbortController();
    const ask = (): Promise<void> =>
      makeFilm(run, request, mine.signal)
        .then(
          (made) => {
            if (!mine.signal.aborted) setFilm({ film: made, request });
          },
          (error) => {
            if (isAbort(error)) return;
            setFilm(null);
            setProblem(asProblem(error));
          },
        )
        .finally(() => mine.signal.aborted || setWaiting(false));
    setWaiting(true);
    const timer = setTimeout(ask, REST);
    return () => {
      clearTimeout(timer);
      mine.abort();
    };
  }, [run, key, retries.value]);
  const shown = request && film && sameSentence(film.request, request) ? film : null;
  return { film: shown, problem, waiting: waiting && request !== null };
}

/* Which head: attention, layer, number. */

function HeadChoice({ head, sizes }: { head: HeadId; sizes: Sizes }) {
  const layers = head.side === "encoder" ? sizes.encoder_layers : sizes.decoder_layers;
  const choose = (changes: Partial<HeadId>) => go({ ...head, ...changes }, { replace: true });
  return (
    <>
      <label class="field">
        Attention
        <select
          value={head.side}
          onChange={(event) => choose({ side: event.currentTarget.value as Side })}
        >
          {SIDES.map(({ side, title }) => (
            <option key={side} value={side}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <NumberChoice
        name="Layer"
        value={head.layer}
        count={layers}
        onChoose={(layer) => choose({ layer })}
      />
      <NumberChoice
        name="Head"
        value={head.head}
        count={sizes.heads}
        onChoose={(number) => choose({ head: number })}
      />
    </>
  );
}

interface NumberChoiceProps {
  name: string;
  value: number;
  count: number;
  onChoose: (value: number) => void;
}

function NumberChoice({ name, value, count, onChoose }: NumberChoiceProps) {
  return (
    <label class="field">
      {name}
      <select value={value} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {Array.from({ length: count }, (_, number) => (
          <option key={number} value={number}>
            {number + 1}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What to do when the server shows no run: two commands. */
function NoRun() {
  if (saved) return <NeedsServer what="show how the network learned: it was saved without a run" />;
  return (
    <div class="training-none">
      <p>
        This server shows no training run. Start one, and give its folder to the server; it may be
        watched while it trains:
      </p>
      <pre>
        <code>{"translucid train DATA -o RUN\ntranslucid serve -m RUN --run RUN"}</code>
      </pre>
      <p class="muted">
        <code>DATA</code> is what <code>translucid prepare</code> has made of your sentence pairs;{" "}
        <code>-m RUN</code> is its best model, which is there from the first validation on. Without
        data, <code>translucid demo</code> trains on a built-in lesson in a few minutes; its run is{" "}
        <code>translucid-demo/run</code>.
      </p>
    </div>
  );
}

/* Which run, its state, how far it is, and when it will be done. */

const STATES: Record<Run["state"], string> = {
  training: "is training",
  finished: "has finished",
  stopped: "has stopped",
};

interface RunHeadProps {
  runs: Run[];
  run: Run;
  followed: Followed | null;
  onChoose: (name: string) => void;
}

function RunHead({ runs, run, followed, onChoose }: RunHeadProps) {
  const state = followed?.state ?? run.state;
  const step = followed ? Math.max(run.step, lastStep(followed.course)) : run.step;
  const most = run.max_steps ?? step;
  const left = followed && state === "training" ? secondsLeft(followed.course, most) : null;
  return (
    <div class="training-head">
      <label class="field">
        Run
        <select value={run.name} onChange={(event) => onChoose(event.currentTarget.value)}>
          {runs.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <div class="training-state" data-state={state}>
        <p>
          It <b>{STATES[state]}</b>: step <span data-value={step}>{counted(step)}</span> of{" "}
          {counted(most)}
          {left !== null && <>, about {duration(left)} to go at the current pace</>}.
        </p>
        <progress value={step} max={Math.max(1, most)} aria-label="Steps done" />
      </div>
      {followed && <Latest followed={followed} />}
    </div>
  );
}

function Latest({ followed: { course } }: { followed: Followed }) {
  const trained = course.trained.at(-1);
  const validated = course.validated.at(-1);
  if (!trained) return null;
  return (
    <dl class="training-latest">
      <Entry name="training loss" value={Math.log(trained.perplexity)} />
      {validated && (
        <>
          <Entry name="dev loss" value={validated.loss} />
          <Entry name="dev perplexity" value={validated.perplexity} digits={2} />
          <Entry name="BLEU" value={validated.bleu} digits={1} />
          <Entry name="chrF" value={validated.chrf} digits={1} />
        </>
      )}
      {course.skipped.length > 0 && (
        <Entry name="steps skipped" value={course.skipped.length} digits={0} />
      )}
    </dl>
  );
}

function Entry({ name, value, digits = 3 }: { name: string; value: number; digits?: number }) {
  return (
    <div data-entry={name}>
      <dt>{name}</dt>
      <dd>
        <Num value={value} digits={digits} />
      </dd>
    </div>
  );
}
