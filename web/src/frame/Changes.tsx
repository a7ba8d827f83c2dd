/** What the reader has changed in the network or in its output, and what that did. */
import { saved } from "../api/saved.ts";
import type { Trace } from "../api/types.ts";
import { written } from "../drawing/pieces.ts";
import { address, baseline, go, trace } from "../state/store.ts";

/**
 * Nothing is shown while nothing is changed. It stands at the foot of the window, where it does not
 * push away what the reader has just pressed.
 */
export function Changes() {
  const { prefix, without } = address.value;
  if (prefix.length === 0 && without.length === 0) return null;
  const now = trace.value.value;
  const before = saved ? undefined : baseline.value.value;
  const forced = forcedPieces(prefix, now);
  const same = now !== undefined && before?.translation === now.translation;
  return (
    <aside class="changes" aria-label="Changes">
      {prefix.length > 0 && (
        <p>
          <span>
            Forced beginning: <strong>{written(forced)}</strong>
          </span>
          {!saved && (
            <button
              type="button"
              class="quiet-button"
              onClick={() => go({ prefix: [], query: null })}
            >
              Undo
            </button>
          )}
        </p>
      )}
      {without.length > 0 && (
        <p>
          <span>
            Heads off: <strong>{without.map(headName).join(", ")}</strong>
          </span>
          {!saved && (
            <button type="button" class="quiet-button" onClick={() => go({ without: [] })}>
              All on
            </button>
          )}
        </p>
      )}
      {before && (
        <p class="muted">
          {same
            ? "The translation is the same as without this."
            : `Without this: ${before.translation}`}
        </p>
      )}
    </aside>
  );
}

/** The pieces of a forced beginning; a trace that is still of another one may not know them all. */
export function forcedPieces(
  prefix: number[],
  now: Pick<Trace, "steps" | "pieces"> | undefined,
): string[] {
  return prefix.map((id, at) => {
    const token = now?.steps[at]?.token;
    return (token?.id === id ? token.piece : now?.pieces[id]) ?? ` ${id}`;
  });
}

function headName(head: { side: string; layer: number; head: number }): string {
  return `${head.side} ${head.layer}.${head.head}`;
}
