/** The top of the page: its name, the two views, and what holds for both. */
import { useEffect, useRef, useState } from "preact/hooks";
import { saved } from "../api/saved.ts";
import { copyText } from "../drawing/files.ts";
import { say } from "../state/notices.ts";
import { oneSentence } from "../state/requests.ts";
import { address, link, sharedLink, trace, write } from "../state/store.ts";
import { chosenTheme, theme } from "../state/theme.ts";
import { DirectionChoice, SearchChoice } from "./Choices.tsx";
import { Menu } from "./Menu.tsx";
import { SaveButton } from "./Saved.tsx";
import { helpOpen, leaveField } from "./shortcuts.ts";

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
        {view === "explore" && (
          <div class="choices">
            <DirectionChoice detected={address.value.text.trim() && trace.value.value?.target} />
            <SearchChoice />
          </div>
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
            if (event.key === "Escape") leaveField(event.currentTarget);
          }}
        />
      </label>
      <Translated empty={oneSentence(text) === ""} />
    </div>
  );
}

function Translated({ empty }: { empty: boolean }) {
  const { state, value } = trace.value;
  // After a fault, the value is that of another sentence.
  const words = empty || state === "failed" ? "" : (value?.translation ?? "");
  const warnings = words ? (value?.confidence.warnings ?? []) : [];
  return (
    <div>
      <output
        class={state === "loading" ? "sentence-target sentence-waiting" : "sentence-target"}
        aria-label="Translation"
        for="sentence"
        data-state={state}
        dir="auto"
      >
        {words || (empty ? "" : state === "failed" ? "–" : "…")}
      </output>
      {warnings.length > 0 && <p class="sentence-warning">Doubtful: {warnings.join("; ")}.</p>}
    </div>
  );
}

/* The link to this view. */

/** A button that opens the link and copies it. */
function Share() {
  return (
    <Menu label={<Sign />} name="Share a link to this view" class="icon-menu">
      {(close) => <ShareBox close={close} />}
    </Menu>
  );
}

function ShareBox({ close }: { close: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  const shared = sharedLink();
  const copy = async (): Promise<void> => {
    field.current?.select();
    // Only pages on https or this machine have a clipboard: elsewhere the reader copies by hand.
    if (!navigator.clipboard) return;
    if (!(await copyText(shared))) return;
    setCopied(true);
    say("Link copied");
  };
  // A menu that the reader has closed meanwhile must not close again and take the focus.
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(close, 900);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <div class="share">
      <label class="field">
        <span>This link shows what you see now, sentence included.</span>
        <input
          ref={field}
          readOnly
          value={shared}
          onFocus={(event) => event.currentTarget.select()}
        />
      </label>
      <button type="button" class="button button-main" onClick={copy}>
        {copied ? "Copied" : "Copy link"}
      </button>
    </div>
  );
}

function Sign() {
  return (
    <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <g fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round">
        <path d="M8.5 11.5a3 3 0 0 0 4.2 0l3-3a3 3 0 0 0-4.2-4.2l-1 1" />
        <path d="M11.5 8.5a3 3 0 0 0-4.2 0l-3 3a3 3 0 0 0 4.2 4.2l1-1" />
      </g>
    </svg>
  );
}

/* Light or dark. */

/** A button that turns one into the other. */
function ThemeSwitch() {
  const dark = theme.value === "dark";
  const name = dark ? "Light colours" : "Dark colours";
  return (
    <button
      type="button"
      class="quiet-button icon-button"
      aria-label={name}
      title={name}
      onClick={() => {
        chosenTheme.value = dark ? "light" : "dark";
      }}
    >
      <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
        <circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" stroke-width="1.6" />
        <path d="M10 3a7 7 0 0 1 0 14z" fill="currentColor" />
      </svg>
    </button>
  );
}
