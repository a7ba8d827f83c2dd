/** The other translations that the search has found; one can be picked. */
import { asProblem } from "../api/client.ts";
import { Num } from "../drawing/Number.tsx";
import { tell } from "../state/notices.ts";
import { type Finished, pick, picked } from "./translation.ts";
import { differing } from "./words.ts";

/** The list, best first; nothing where there is only one. */
export function Alternatives({ done, lang }: { done: Finished; lang: string | undefined }) {
  const { n_best: found, text: best } = done.translation;
  if (found.length < 2) return null;
  const shown = picked.value?.text ?? best;
  return (
    <section class="alternatives" aria-labelledby="alternatives">
      <h2 id="alternatives">Alternatives</h2>
      <p class="muted">
        What the beam held for next best. The score is log P, divided by the length penalty.
      </p>
      <ol>
        {found.map((candidate, number) => (
          <li key={number}>
            <button
              type="button"
              aria-pressed={candidate.text === shown}
              onClick={() => {
                pick(done, number).catch((error) => tell(asProblem(error)));
              }}
            >
              <span class="alternative-text" dir="auto" lang={lang}>
                {number === 0
                  ? short(candidate.text)
                  : differing(short(candidate.text), best).map(({ word, differs }, at) =>
                      differs ? <strong key={at}>{word}</strong> : word,
                    )}
              </span>
              <span class="alternative-score muted">
                <Num value={candidate.score} digits={2} />
              </span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Without empty lines, so that the list stays a list. */
function short(text: string): string {
  return text.replace(/\n\s*\n/g, "\n");
}
