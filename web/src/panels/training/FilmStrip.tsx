/** The film strip: one head over the checkpoints of a run, on the reader's own sentence. */
import { useEffect, useState } from "preact/hooks";
import { asProblem, isAbort, film as makeFilm, type Problem } from "../../api/client.ts";
import { saved } from "../../api/saved.ts";
import type { Film, FilmRequest, Run } from "../../api/types.ts";
import { PanelProblem } from "../../frame/PanelFrame.tsx";
import { oneSentence, targetOf } from "../../state/requests.ts";
import { address, model, retries } from "../../state/store.ts";
import { FilmPlayer } from "./FilmPlayer.tsx";
import { filmRequest, headWithin, sameSentence, sizesOf } from "./filmView.ts";
import { HeadChoice } from "./HeadChoice.tsx";
import { keep } from "./keep.ts";

/** How long typing must rest before a film is asked for. */
const REST = 350;

/** Made when it is asked for: every checkpoint has to be loaded and has to translate. */
export function FilmStrip({ run }: { run: Run }) {
  const text = oneSentence(address.value.text);
  const sizes = sizesOf(run);
  const head = headWithin(address.value, sizes);
  const wanted = (saved !== null || address.value.extra.film === "1") && text !== "";
  const request = filmRequest(run, text, head, targetOf(model.value, address.value));
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
      ) : (
        <div class="training-choice">
          <HeadChoice head={head} sizes={sizes} />
          {!wanted && (
            <button type="button" class="button" onClick={() => keep({ film: "1" })}>
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
          (made) => setFilm({ film: made, request }),
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
