/** The plain view: two boxes. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { asProblem } from "../api/client.ts";
import type { Translation } from "../api/types.ts";
import { languageName } from "../drawing/languages.ts";
import { counted, Num } from "../drawing/Number.tsx";
import { DirectionChoice, getLangTag, SearchChoice } from "../frame/Choices.tsx";
import { leaveField } from "../frame/shortcuts.ts";
import { say, tell } from "../state/notices.ts";
import { findTarget, listSources } from "../state/requests.ts";
import { address, go, model, newText, write } from "../state/store.ts";
import { exampleFor } from "./examples.ts";
import { TargetBox } from "./TargetBox.tsx";
import {
  type Finished,
  finished,
  letters,
  mostLetters,
  pick,
  picked,
  pointed,
} from "./translation.ts";
import { Welcome, WHAT_THIS_IS } from "./Welcome.tsx";
import { type Aligned, aligned, differing, findMark, wordAt } from "./words.ts";

/** The view. */
export function Translate() {
  const done = finished.value.value;
  const found = picked.value ?? done?.translation ?? null;
  // After a fault, the last translation may be that of another text.
  const shown = finished.value.state === "failed" && !sameText(found) ? null : found;
  const between = useMemo(
    () => (shown ? aligned(shown.source, shown.text, shown.alignment) : null),
    [shown],
  );
  const detected = sameText(done?.translation ?? null) ? done?.target : undefined;
  const target = (detected || findTarget(model.value, address.value)) ?? "";
  const sources = listSources(model.value, target);
  const current = finished.value.state === "ready";
  const welcome = address.value.text.trim() === "";
  useEffect(() => {
    if (current && done) say(`Translation: ${done.translation.text}`);
  }, [current, done]);
  return (
    <main id="content" class="translate" tabIndex={-1} data-welcome={welcome}>
      {welcome ? (
        <h1 class="welcome-title">{WHAT_THIS_IS}</h1>
      ) : (
        <h1 class="visually-hidden">Translate</h1>
      )}
      <div class="translate-direction choices">
        <DirectionChoice detected={detected} />
        <Swap source={sources[0]} target={target} text={current ? shown?.text : undefined} />
        <SearchChoice />
      </div>
      <div class="boxes">
        <SourceBox
          between={sameText(shown) ? between : null}
          language={sources.map(languageName).join(", ")}
          lang={sources.length === 1 ? getLangTag(sources[0]) : undefined}
        />
        <TargetBox
          shown={shown}
          between={between}
          language={target && languageName(target)}
          lang={getLangTag(target)}
        />
      </div>
      {welcome && <Welcome />}
      {current && done && <Alternatives done={done} lang={getLangTag(target)} />}
    </main>
  );
}

/** Whether a translation is that of the text in the box. */
function sameText(shown: Translation | null): boolean {
  return shown?.source === address.value.text;
}

interface SwapProps {
  source: string | undefined;
  target: string;
  text: string | undefined;
}

/** Turns the direction round, where the model goes both ways; the translation becomes the text. */
function Swap({ source, target, text }: SwapProps) {
  const both = model.value?.directions.some(([from, into]) => from === target && into === source);
  if (!source || !both) return null;
  return (
    <button
      type="button"
      class="button"
      onClick={() =>
        go({ target: source, text: text ?? address.value.text, prefix: [], without: [] })
      }
    >
      <span aria-hidden="true">⇄</span> Swap
    </button>
  );
}

/* The other translations that the search has found; one can be picked. */

/** The list, best first; nothing where there is only one. */
function Alternatives({ done, lang }: { done: Finished; lang: string | undefined }) {
  const { n_best: found, text: best } = done.translation;
  if (found.length < 2) return null;
  const shown = picked.value?.text ?? best;
  return (
    <section class="alternatives" aria-labelledby="alternatives">
      <h2 id="alternatives">Alternatives</h2>
      <p class="muted">
        The beam’s best translations. The score is log P divided by the length penalty.
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

/* The box one types into. A copy of its text lies behind it and shows marks under words. */

/** What SourceBox needs. */
interface SourceBoxProps {
  between: Aligned | null;
  /** The name of the language; its code, where there is one. */
  language: string;
  lang: string | undefined;
}

/** The box, how long its text is, and an example where it is empty. */
function SourceBox({ between, language, lang }: SourceBoxProps) {
  const box = useRef<HTMLTextAreaElement>(null);
  const mirror = useRef<HTMLDivElement>(null);
  const { text } = address.value;
  useEffect(() => {
    const element = box.current;
    if (!element || CSS.supports("field-sizing", "content")) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight + 2}px`;
  }, [text]);
  const point = (number: number): void => {
    pointed.value = number < 0 ? null : { side: "source", number };
  };
  const caret = (): void => {
    if (between && box.current) point(wordAt(between.source, box.current.selectionStart));
  };
  return (
    <div class="box">
      <div class="box-text">
        <div class="mirror" aria-hidden="true" dir="auto" lang={lang} ref={mirror}>
          <Words text={text} between={between} />
        </div>
        <textarea
          id="sentence"
          ref={box}
          aria-label={`Text to translate${language ? `, ${language}` : ""}`}
          aria-describedby="letters"
          value={text}
          spellcheck={false}
          dir="auto"
          lang={lang}
          placeholder="Type or paste a text"
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") leaveField(event.currentTarget);
          }}
          onPointerMove={(event) => point(wordUnder(event))}
          onPointerLeave={(event) => {
            if (event.pointerType !== "touch") point(-1);
          }}
          onClick={caret}
          onKeyUp={caret}
          onScroll={(event) => {
            if (mirror.current) mirror.current.scrollTop = event.currentTarget.scrollTop;
          }}
          onBlur={() => point(-1)}
        />
      </div>
      <div class="box-foot">
        <Letters />
        {text === "" ? (
          <Example />
        ) : (
          <button
            type="button"
            class="quiet-button"
            onClick={() => {
              go(newText(""));
              box.current?.focus();
            }}
          >
            Clear
          </button>
        )}
      </div>
    </div>
  );
}

/** The copy lies under the box, where the pointer reaches it by asking for all that is there. */
function wordUnder(event: PointerEvent): number {
  const found = document
    .elementsFromPoint(event.clientX, event.clientY)
    .find((element) => element instanceof HTMLElement && element.dataset.word !== undefined);
  return found instanceof HTMLElement ? Number(found.dataset.word) : -1;
}

function Words({ text, between }: { text: string; between: Aligned | null }) {
  const at = pointed.value;
  if (!between) return <>{`${text}\n`}</>;
  let end = 0;
  const parts = between.source.map(([start, stop], number) => {
    const gap = text.slice(end, start);
    end = stop;
    const mark = findMark(between, at, { side: "source", number });
    return (
      <>
        {gap}
        <span key={number} data-word={number} class={mark ? `word word-${mark}` : "word"}>
          {text.slice(start, stop)}
        </span>
      </>
    );
  });
  return (
    <>
      {parts}
      {`${text.slice(end)}\n`}
    </>
  );
}

function Letters() {
  const most = mostLetters.value;
  const over = most !== null && letters.value > most;
  return (
    <p id="letters" class={over ? "letters letters-over" : "letters muted"}>
      <span class="num">{counted(letters.value)}</span>
      {most !== null && ` of ${counted(most)} characters`}
      {over && ": too long for this server. Shorten it, or translate it in parts."}
    </p>
  );
}

function Example() {
  const example = exampleFor(model.value, address.value.target);
  if (!example) return null;
  return (
    <button type="button" class="quiet-button" onClick={() => go(newText(example))}>
      Try an example
    </button>
  );
}
