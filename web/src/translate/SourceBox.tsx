/** The box one types into. A copy of its text lies behind it and shows marks under words. */
import { useEffect, useRef } from "preact/hooks";
import { counted } from "../drawing/numbers.ts";
import { address, go, model, newText, write } from "../state/store.ts";
import { type Aligned, markOf } from "./alignment.ts";
import { exampleFor } from "./examples.ts";
import { letters, mostLetters, pointed } from "./translation.ts";
import { wordAt } from "./words.ts";

/** What SourceBox needs. */
export interface SourceBoxProps {
  between: Aligned | null;
  /** The name of the language; its code, where there is one. */
  language: string;
  lang: string | undefined;
}

/** The box, how long its text is, and an example where it is empty. */
export function SourceBox({ between, language, lang }: SourceBoxProps) {
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
    const mark = markOf(between, at, { side: "source", number });
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
