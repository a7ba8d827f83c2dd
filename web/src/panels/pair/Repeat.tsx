/** Does it hold? The same decision in other sentences, with the same words exchanged. */
import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, isAbort, repeatPatch } from "../../api/client.ts";
import { saved } from "../../api/saved.ts";
import type { Patching, Repetition, Trace } from "../../api/types.ts";
import { Num } from "../../drawing/Number.tsx";
import { NeedsServer } from "../../frame/Saved.tsx";
import { say, tell } from "../../state/notices.ts";
import { traceRequest } from "../../state/requests.ts";
import { address, models } from "../../state/store.ts";
import { nameOf } from "./cells.ts";

const PAIRS = 10;
const SHOWN = 4;

/** A button, and what was found. */
export function Repeat({ trace, patching }: { trace: Trace; patching: Patching }) {
  const [found, setFound] = useState<Repetition | null>(null);
  const [busy, setBusy] = useState(false);
  const underWay = useRef<AbortController | null>(null);
  useEffect(() => {
    setFound(null);
    return () => underWay.current?.abort();
  }, [trace, patching]);
  if (saved) return <NeedsServer what="try the same in other sentences" />;
  const act = async (): Promise<void> => {
    const request = traceRequest(address.peek(), models.peek().value);
    if (busy || !request?.against) return;
    const abort = new AbortController();
    underWay.current = abort;
    setBusy(true);
    const { against } = request;
    const { level: _level, prefix: _prefix, decision, ...rest } = request;
    const pair = { ...rest, ...decision, against };
    try {
      const limit = models.peek().value?.limits.max_patch_pairs ?? PAIRS;
      const answer = await repeatPatch({ ...pair, count: Math.min(PAIRS, limit) }, abort.signal);
      setFound(answer);
      say(`${answer.pairs.length} other pairs were measured.`);
    } catch (error) {
      if (!isAbort(error)) tell(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="pair-repeat">
      <h3>Does it hold?</h3>
      <p>
        The same words exchanged in other sentences of the lesson, where the same two tokens
        compete.{" "}
        <button type="button" class="button" aria-busy={busy} disabled={busy} onClick={act}>
          {busy ? "Measuring …" : `Try ${PAIRS} other pairs`}
        </button>
      </p>
      {found && <Found found={found} />}
    </section>
  );
}

function Found({ found }: { found: Repetition }) {
  const count = found.pairs.length;
  if (count === 0) {
    return (
      <p>
        None of {found.tried} other pairs with “{found.exchanged[0]}” and “{found.exchanged[1]}” has
        this decision.
      </p>
    );
  }
  return (
    <>
      <table class="pair-looks">
        <thead>
          <tr>
            <th scope="col">head</th>
            <th scope="col">leads in</th>
            <th scope="col">mean share</th>
            <th scope="col">least</th>
            <th scope="col">most</th>
          </tr>
        </thead>
        <tbody>
          {found.heads.slice(0, SHOWN).map((head) => (
            <tr key={nameOf(head.cell)} data-head={nameOf(head.cell)}>
              <th scope="row">{nameOf(head.cell)}</th>
              <td>
                {head.leads} of {count}
              </td>
              <td>
                <Num value={head.mean} digits={2} />
              </td>
              <td>
                <Num value={head.least} digits={2} />
              </td>
              <td>
                <Num value={head.most} digits={2} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <ol class="pair-pairs">
        {found.pairs.map((pair) => (
          <li key={pair.first}>
            {pair.first} <span class="muted">→ {pair.first_translation}</span>
            <br />
            {pair.second} <span class="muted">→ {pair.second_translation}</span>
          </li>
        ))}
      </ol>
    </>
  );
}
