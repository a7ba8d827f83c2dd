/** Asks for the API key, if the server wants one. */
import { useState } from "preact/hooks";
import { canBeKey, keyRefused, keyWanted, setKey } from "../api/client.ts";
import { retry } from "../state/store.ts";
import { Dialog } from "./Dialog.tsx";

/** The question, while a key is wanted. */
export function KeyPrompt() {
  const [typed, setTyped] = useState("");
  const [unfit, setUnfit] = useState(false);
  if (!keyWanted.value) return null;
  return (
    <Dialog
      title="This server wants a key"
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
            That is no key: it has a space or a character other than unaccented letters, digits and
            the signs of a keyboard. Copy it again.
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
