/** The translation: firm as far as it is certain, its words tied to those of the source. */
import { useState } from "preact/hooks";
import type { Flags, Translation } from "../api/types.ts";
import { copyText } from "../drawing/files.ts";
import { Num } from "../drawing/Number.tsx";
import { say } from "../state/notices.ts";
import { address, link, newText, retry } from "../state/store.ts";
import { describeDoubt, finished, partial, pointed } from "./translation.ts";
import { type Aligned, findMark, linkedTo } from "./words.ts";

const FLAGS: [keyof Flags, string][] = [
  ["truncated", "The translation reached the length limit: something may be missing."],
  ["unknown", "The text has characters that this model cannot spell."],
  ["looped", "The translation went in circles and was ended."],
  ["split", "A line was too long and was translated in several parts."],
  [
    "between_spans",
    "This model has no placeholders: the text between tags, addresses and the like was translated piece by piece.",
  ],
  ["forced_spans", "A tag, an address or the like stands where the model would not have put it."],
];

/** What TargetBox needs. */
interface TargetBoxProps {
  shown: Translation | null;
  between: Aligned | null;
  /** The name of the language; its code, where there is one. */
  language: string;
  lang: string | undefined;
}

/** The box: the growing translation, the finished one, or what is wrong. */
export function TargetBox({ shown, between, language, lang }: TargetBoxProps) {
  const now = finished.value;
  const growing = now.state === "loading" && partial.value !== null;
  const empty = address.value.text.trim() === "";
  return (
    <div class="box box-target">
      <div class="box-text" aria-busy={now.state === "loading"}>
        {growing ? (
          <p class="target-text" dir="auto" lang={lang}>
            {partial.value?.stable}
            <span class="tail">{partial.value?.tail}</span>
          </p>
        ) : shown && between && !empty ? (
          <TargetWords shown={shown} between={between} language={language} lang={lang} />
        ) : (
          <p class="target-text muted">
            {empty ? "Translation" : now.state === "failed" ? "–" : "…"}
          </p>
        )}
      </div>
      {now.state === "failed" && now.problem && (
        <div class="notice" role="alert">
          <p>
            <strong>{now.problem.title}.</strong> {now.problem.detail}
          </p>
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        </div>
      )}
      {shown && !empty && (
        <>
          <Warnings shown={shown} />
          <Foot shown={shown} />
        </>
      )}
    </div>
  );
}

/** The words: a pointer or the arrow keys show what each was translated from. */
function TargetWords({
  shown,
  between,
  language,
  lang,
}: TargetBoxProps & {
  shown: Translation;
  between: Aligned;
}) {
  const at = pointed.value;
  const point = (number: number): void => {
    if (number < 0 || number >= between.target.length) return;
    pointed.value = { side: "target", number };
    say(describeWord(shown, between, number));
  };
  const keys = (event: KeyboardEvent): void => {
    const now = at?.side === "target" ? at.number : -1;
    if (event.key === "ArrowRight") point(now + 1);
    else if (event.key === "ArrowLeft") point(now - 1);
    else return;
    event.preventDefault();
  };
  let end = 0;
  return (
    <div
      id="translation"
      class={finished.value.state === "loading" ? "target-text tail" : "target-text"}
      dir="auto"
      lang={lang}
      role="textbox"
      aria-readonly="true"
      aria-multiline="true"
      aria-label={`Translation${language ? `, ${language}` : ""}. Arrow keys go from word to word.`}
      tabIndex={0}
      data-own-keys
      onKeyDown={keys}
      onBlur={() => {
        pointed.value = null;
      }}
    >
      {between.target.map(([start, stop], number) => {
        const gap = shown.text.slice(end, start);
        end = stop;
        const mark = findMark(between, at, { side: "target", number });
        return (
          <>
            {gap}
            <span
              key={number}
              data-word={number}
              class={mark ? `word word-${mark}` : "word"}
              onPointerEnter={() => {
                pointed.value = { side: "target", number };
              }}
              onPointerLeave={(event) => {
                // A finger that is lifted has pointed: the marks stay until it touches elsewhere.
                if (event.pointerType !== "touch") pointed.value = null;
              }}
            >
              {shown.text.slice(start, stop)}
            </span>
          </>
        );
      })}
      {shown.text.slice(end)}
    </div>
  );
}

function describeWord(shown: Translation, between: Aligned, number: number): string {
  const cut = (text: string, span: readonly [number, number] | undefined): string =>
    span ? text.slice(...span) : "";
  const from = linkedTo(between, { side: "target", number }).map((word) =>
    cut(shown.source, between.source[word]),
  );
  return `${cut(shown.text, between.target[number])}, aligned with ${from.join(", ") || "nothing"}`;
}

function Warnings({ shown }: { shown: Translation }) {
  const raised = FLAGS.filter(([flag]) => shown.flags[flag]);
  const doubt = describeDoubt(shown.confidence);
  if (raised.length === 0 && doubt === null) return null;
  return (
    <ul class="warnings">
      {doubt !== null && <li>{doubt}</li>}
      {raised.map(([flag, words]) => (
        <li key={flag}>{words}</li>
      ))}
    </ul>
  );
}

function Foot({ shown }: { shown: Translation }) {
  const [copied, setCopied] = useState("");
  const mean = shown.log_probs.reduce((sum, value) => sum + value, 0) / shown.log_probs.length;
  const copy = async (): Promise<void> => {
    if (!(await copyText(shown.text))) return;
    setCopied(shown.text);
    say("Translation copied");
  };
  return (
    <div class="box-foot">
      {shown.log_probs.length > 0 && (
        <p class="muted">
          probability per token <Num value={Math.exp(mean)} digits={2} />
        </p>
      )}
      {navigator.clipboard && (
        <button type="button" class="quiet-button" onClick={copy}>
          {copied === shown.text ? "Copied" : "Copy"}
        </button>
      )}
      <a class="button" href={link({ view: "explore", ...newText(firstLine(shown.source)) })}>
        Look inside
      </a>
    </div>
  );
}

function firstLine(text: string): string {
  return text.split("\n").find((line) => line.trim() !== "") ?? "";
}
