/** The film strip: one head over the checkpoints of a run, on the reader's own sentence. */
import { useEffect, useState } from "preact/hooks";
import { asProblem, isAbort, film as makeFilm, type Problem } from "../../api/client.ts";
import type { Film, FilmRequest, HeadId, Run } from "../../api/types.ts";
import { PanelProblem } from "../../frame/PanelFrame.tsx";
import { oneSentence, targetOf } from "../../state/requests.ts";
import { address, model, retries } from "../../state/store.ts";
import { FilmPlayer } from "./FilmPlayer.tsx";
import { headWithin, sizesOf } from "./filmView.ts";
import { HeadChoice } from "./HeadChoice.tsx";
import { keep } from "./keep.ts";

/** Made when it is asked for: every checkpoint has to be loaded and has to translate. */
export function FilmStrip({ run }: { run: Run }) {
  const text = oneSentence(address.value.text);
  const sizes = sizesOf(run);
  const head = headWithin(address.value, sizes);
  const wanted = address.value.extra.film === "1" && text !== "";
  const target = targetOf(model.value, address.value);
  const request = { text, ...head, ...(target ? { target } : {}) };
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
      {film && <FilmPlayer film={film.film} head={film.head} />}
    </div>
  );
}

/** The film of a request; the last one stays while another head of it is on its way. */
function useFilm(run: string, request: FilmRequest | null) {
  const [film, setFilm] = useState<{ film: Film; head: HeadId } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [waiting, setWaiting] = useState(false);
  const key = JSON.stringify(request);
  useEffect(() => {
    setProblem(null);
    if (request === null) return;
    const mine = new AbortController();
    const { side, layer, head } = request;
    setWaiting(true);
    makeFilm(run, request, mine.signal)
      .then(
        (made) => setFilm({ film: made, head: { side, layer, head } }),
        (error) => {
          if (isAbort(error)) return;
          setFilm(null);
          setProblem(asProblem(error));
        },
      )
      .finally(() => mine.signal.aborted || setWaiting(false));
    return () => mine.abort();
  }, [run, key, retries.value]);
  return { film: request ? film : null, problem, waiting: waiting && request !== null };
}
