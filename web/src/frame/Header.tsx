/** The top of the page: its name, the two views, and what holds for both. */
import { useEffect, useRef } from "preact/hooks";
import { saved } from "../api/saved.ts";
import { oneSentence } from "../state/requests.ts";
import { address, link, trace, write } from "../state/store.ts";
import { DirectionChoice } from "./DirectionChoice.tsx";
import { SaveButton } from "./Saved.tsx";
import { SearchChoice } from "./SearchChoice.tsx";
import { Share } from "./Share.tsx";
import { helpOpen } from "./shortcuts.ts";
import { ThemeSwitch } from "./ThemeSwitch.tsx";

/** The header; in the Explore view, with the sentence and its translation. */
export function Header() {
  const { view } = address.value;
  const current = (name: string) => (view === name ? "page" : undefined);
  return (
    <header class="header">
      <div class="header-row">
        <a class="brand" href={link({ view: saved ? "explore" : "translate" })}>
          <Mark />
          <span>Translucid</span>
        </a>
        {!saved && (
          <nav class="segmented views" aria-label="Views">
            <a href={link({ view: "translate" })} aria-current={current("translate")}>
              Translate
            </a>
            <a href={link({ view: "explore" })} aria-current={current("explore")}>
              Explore
            </a>
          </nav>
        )}
        <div class="header-tools">
          {view === "explore" && <SaveButton />}
          {!saved && <Share />}
          <ThemeSwitch />
          <button
            type="button"
            class="quiet-button icon-button"
            aria-label="Keys and help"
            title="Keys and help"
            onClick={() => {
              helpOpen.value = true;
            }}
          >
            ?
          </button>
        </div>
      </div>
      {view === "explore" && <SentenceBox />}
    </header>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <path d="M4 5h16M12 5v15" stroke="currentColor" stroke-width="2.6" stroke-linecap="round" />
      <g fill="currentColor" stroke="currentColor" opacity="0.55">
        <path d="M7 16.5l3.6-3.6M17 16.5l-3.6-3.6" fill="none" stroke-width="1.4" />
        <circle cx="5.8" cy="17.8" r="1.5" />
        <circle cx="18.2" cy="17.8" r="1.5" />
      </g>
    </svg>
  );
}

/** One sentence, and its translation beside it. */
function SentenceBox() {
  const box = useRef<HTMLTextAreaElement>(null);
  const text = address.value.text.replace(/\s*[\r\n]+\s*/g, " ");
  useEffect(() => {
    const element = box.current;
    if (!element || CSS.supports("field-sizing", "content")) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight + 2}px`;
  }, [text]);
  return (
    <div class="sentence">
      <label class="sentence-source">
        <span class="visually-hidden">Sentence</span>
        <textarea
          id="sentence"
          ref={box}
          dir="auto"
          rows={1}
          value={text}
          readOnly={saved !== null}
          placeholder="Type a sentence"
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => write(event.currentTarget.value.replace(/\s*[\r\n]+\s*/g, " "))}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.isComposing) event.preventDefault();
          }}
        />
      </label>
      <div class="choices">
        <DirectionChoice />
        <SearchChoice />
      </div>
      <Translated empty={oneSentence(text) === ""} />
    </div>
  );
}

function Translated({ empty }: { empty: boolean }) {
  const { state, value } = trace.value;
  // After a fault, the value is that of another sentence.
  const words = empty || state === "failed" ? "" : (value?.translation ?? "");
  return (
    <output
      class={state === "loading" ? "sentence-target sentence-waiting" : "sentence-target"}
      aria-label="Translation"
      for="sentence"
      data-state={state}
      dir="auto"
    >
      {words || (empty ? "" : state === "failed" ? "–" : "…")}
    </output>
  );
}
