/** Saving the page as one file, and what a page that was saved says of itself. */
import { useState } from "preact/hooks";
import { asProblem, savedPage } from "../api/client.ts";
import { saved } from "../api/saved.ts";
import { save } from "../drawing/files.ts";
import { format } from "../state/address.ts";
import { say, tell } from "../state/notices.ts";
import { address, trace } from "../state/store.ts";

/** A button that saves the page with its trace as one HTML file, which opens without a server. */
export function SaveButton() {
  const [busy, setBusy] = useState(false);
  const { state, value } = trace.value;
  if (saved) return null;
  const ready = state === "ready" && value !== undefined && !busy;
  const act = async (): Promise<void> => {
    if (!ready) return;
    setBusy(true);
    try {
      const { name, content } = await savedPage(value, format(address.peek()));
      save(name, content);
      say("Page saved");
    } catch (error) {
      tell(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      class="quiet-button icon-button"
      aria-label="Save as one file"
      title="Save as one file: this page with its numbers, to open without a server"
      aria-busy={busy}
      aria-disabled={!ready}
      onClick={act}
    >
      <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
        <path
          d="M10 3v9M6 8.5l4 4 4-4M4 16.5h12"
          fill="none"
          stroke="currentColor"
          stroke-width="1.6"
          stroke-linecap="round"
          stroke-linejoin="round"
        />
      </svg>
    </button>
  );
}

/** On a saved page: what it is, and what it lacks. */
export function SavedNote() {
  if (!saved) return null;
  const { left_out: missing, trace: of } = saved;
  return (
    <aside class="saved-note" aria-label="About this file">
      A saved page of one translation by {of.model_name}. It cannot compute: to translate other
      sentences, start <code>translucid serve</code>.
      {missing.length > 0 && ` Left out to keep the file small: ${missing.join(", ")}.`}
    </aside>
  );
}

/** In place of what needs the network. */
export function NeedsServer({ what }: { what: string }) {
  return (
    <p class="saved-missing">
      This saved page cannot {what}. Start <code>translucid serve</code> to do so.
    </p>
  );
}
