/** The keys of the page, and a few words about it. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { canBeKey, keyRefused, keyWanted, setKey } from "../api/client.ts";
import { saved } from "../api/saved.ts";
import { PANELS } from "../panels/index.ts";
import { models, retry } from "../state/store.ts";
import { helpOpen, keysOn, PANEL_DIGITS, switchKeys } from "./shortcuts.ts";

const KEYS: [string[], string][] = [
  [["Space"], "play or pause the steps of decoding"],
  [["←", "→"], "one step back or forward"],
  [["Home", "End"], "first or last step"],
  [["/"], "go to the sentence box"],
  [["t"], "open the Translate view"],
  [["?"], "show this list"],
];

/** The list, while it is open. */
export function Help() {
  if (!helpOpen.value) return null;
  const version = models.value.value?.version;
  return (
    <Dialog
      title="Keys"
      onClose={() => {
        helpOpen.value = false;
      }}
    >
      <dl class="keys">
        {KEYS.filter(([[key = ""]]) => !saved || !"/t".includes(key)).map(([keys, words]) => (
          <div key={words}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
        {PANELS.slice(0, PANEL_DIGITS.length).map((panel, index) => (
          <div key={panel.key}>
            <dt>
              <kbd>{PANEL_DIGITS[index]}</kbd>
            </dt>
            <dd>
              {panel.title}: {panel.short}
            </dd>
          </div>
        ))}
      </dl>
      <p>In a matrix, the arrow keys move from cell to cell and Enter selects.</p>
      <label class="check">
        <input
          type="checkbox"
          checked={keysOn.value}
          onChange={(event) => switchKeys(event.currentTarget.checked)}
        />
        Enable these single-key shortcuts
      </label>
      <p class="muted">
        Translucid{version ? ` ${version}` : ""}
        {!saved && (
          <>
            {" "}
            · <a href="./docs">the API of this server</a>
          </>
        )}
      </p>
    </Dialog>
  );
}

/* Asks for the API key, if the server wants one. */

/** The question, while a key is wanted. */
export function KeyPrompt() {
  const [typed, setTyped] = useState("");
  const [unfit, setUnfit] = useState(false);
  if (!keyWanted.value) return null;
  return (
    <Dialog
      title="This server requires a key"
      onClose={() => {
        keyWanted.value = false;
      }}
    >
      <form
        class="key-form"
        onSubmit={(event) => {
          event.preventDefault();
          const key = typed.trim();
          const fit = canBeKey(key);
          setUnfit(!fit);
          if (!fit) return;
          setKey(key);
          retry();
        }}
      >
        {unfit ? (
          <p role="alert">
            That is not a key: it has a space or a character other than unaccented letters, digits
            and the signs of a keyboard. Copy it again.
          </p>
        ) : (
          keyRefused.value && <p role="alert">The server does not know that key.</p>
        )}
        <label class="field">
          <span>
            API key: letters without accents, digits and signs, no spaces. It is kept until you
            close this tab.
          </span>
          <input
            type="password"
            autocomplete="off"
            required
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button button-main">
          Use this key
        </button>
      </form>
    </Dialog>
  );
}

/* A box over the page that keeps the focus inside it. */

/** What Dialog needs. */
interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** Escape and the cross close it. */
function Dialog({ title, onClose, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = box.current;
    if (dialog && !dialog.open) dialog.showModal();
  }, []);
  return (
    <dialog ref={box} class="dialog" aria-labelledby={id} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button
          type="button"
          class="quiet-button icon-button"
          aria-label="Close"
          onClick={() => box.current?.close()}
        >
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}
