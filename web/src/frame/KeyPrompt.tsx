/** Asks for the API key, if the server wants one. */
import { useState } from "preact/hooks";
import { keyRefused, keyWanted, setKey } from "../api/client.ts";
import { retry } from "../state/store.ts";
import { Dialog } from "./Dialog.tsx";

/** The question, while a key is wanted. */
export function KeyPrompt() {
  const [typed, setTyped] = useState("");
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
          setKey(typed.trim());
          retry();
        }}
      >
        {keyRefused.value && <p role="alert">The server does not know that key.</p>}
        <label class="field">
          <span>API key. It is kept until you close this tab.</span>
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
