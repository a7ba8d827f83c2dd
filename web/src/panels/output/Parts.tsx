/** A token's logit taken apart: what every head and every feed-forward network adds to it. */
import { hasTensor } from "../../api/tensors.ts";
import type { Step, Trace } from "../../api/types.ts";
import { diverging, inkOn } from "../../drawing/colours.ts";
import { Figure, Scrolled } from "../../drawing/Figure.tsx";
import { Num, printed } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import { address, link, setExtra } from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import { headName } from "../lens/headList.ts";
import { comparedTokens, type LogitParts, logitParts, type Share } from "./parts.ts";

/** The figure; nothing where the trace was saved without its network. */
export function Parts({ trace, at, step }: { trace: Trace; at: number; step: Step }) {
  const known = hasTensor(trace, "contributions");
  const shares = useTensor(trace, known ? "contributions" : null, [at]);
  if (!shares) return null;
  const tokens = comparedTokens(step);
  const { of, less } = address.value.extra;
  const chosen = tokens.find(({ token }) => String(token.id) === of) ?? tokens[0];
  const rival = tokens.find(({ token }) => String(token.id) === less && token !== chosen?.token);
  if (!chosen) return null;
  const parts = logitParts(shares, trace.model, chosen.row, rival?.row ?? null);
  const name = plain(chosen.token.piece);
  const choose = (key: "of" | "less") => (event: { currentTarget: HTMLSelectElement }) =>
    setExtra({ [key]: event.currentTarget.value || null }, { replace: true });
  return (
    <Figure
      name="logit-parts"
      title={`Who adds to the logit of “${name}”`}
      controls={
        <>
          <label>
            Logit of{" "}
            <select value={String(chosen.token.id)} onChange={choose("of")}>
              {tokens.map(({ token }) => (
                <option key={token.id} value={String(token.id)}>
                  {plain(token.piece)}
                </option>
              ))}
            </select>
          </label>
          <label>
            less that of{" "}
            <select value={rival ? String(rival.token.id) : ""} onChange={choose("less")}>
              <option value="">nothing</option>
              {tokens
                .filter(({ token }) => token !== chosen.token)
                .map(({ token }) => (
                  <option key={token.id} value={String(token.id)}>
                    {plain(token.piece)}
                  </option>
                ))}
            </select>
          </label>
        </>
      }
      caption={
        <>
          The decoder’s last state is the sum of all that was added on the way, so{" "}
          {rival ? "the difference of two logits" : "a logit"} is a sum too, with the divisor of the
          LayerNorm kept as it was. The cells add up to{" "}
          <span data-total>
            <Num value={parts.total} />
          </span>
          . A cell is not what would happen without that part: others would act differently. For
          that, <a href={link({ panel: "lens" })}>switch it off</a>.
        </>
      }
      table={() => ({
        columns: ["part", "adds"],
        rows: [
          ["embedding and positions", parts.embedding],
          ...parts.layers.flatMap((row, layer) =>
            row.map(({ head, value }) => [
              head ? headName(head) : `feed-forward ${layer + 1}`,
              value,
            ]),
          ),
          ["biases and shifts", parts.constants],
        ],
      })}
    >
      <PartsTable parts={parts} heads={trace.model.heads} />
    </Figure>
  );
}

function PartsTable({ parts, heads }: { parts: LogitParts; heads: number }) {
  const all = [parts.embedding, parts.constants, ...parts.layers.flat().map(({ value }) => value)];
  const most = Math.max(...all.map(Math.abs), 1e-9);
  return (
    <Scrolled label="What each part adds">
      <table class="output-parts">
        <thead>
          <tr>
            <td />
            <th scope="colgroup" colSpan={heads}>
              masked self-attention, heads
            </th>
            <th scope="colgroup" colSpan={heads}>
              cross-attention, heads
            </th>
            <th scope="col">feed-</th>
            <td />
          </tr>
          <tr>
            <td />
            {[0, 1].flatMap((side) =>
              Array.from({ length: heads }, (_, head) => (
                <th key={`${side}.${head}`} scope="col">
                  {head + 1}
                </th>
              )),
            )}
            <th scope="col">forward</th>
            <th scope="col">together</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">embedding</th>
            <td colSpan={2 * heads + 1} />
            <td class="output-parts-sum">
              <Num value={parts.embedding} digits={2} />
            </td>
          </tr>
          {parts.layers.map((row, layer) => (
            <tr key={layer}>
              <th scope="row">layer {layer + 1}</th>
              {row.map((share, at) => (
                <Cell key={at} share={share} layer={layer} most={most} />
              ))}
              <td class="output-parts-sum">
                <Num value={row.reduce((sum, { value }) => sum + value, 0)} digits={2} />
              </td>
            </tr>
          ))}
          <tr>
            <th scope="row">biases</th>
            <td colSpan={2 * heads + 1} />
            <td class="output-parts-sum">
              <Num value={parts.constants} digits={2} />
            </td>
          </tr>
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">sum</th>
            <td colSpan={2 * heads + 1} />
            <td class="output-parts-sum">
              <Num value={parts.total} digits={2} />
            </td>
          </tr>
        </tfoot>
      </table>
    </Scrolled>
  );
}

/** One part, which leads to where it is drawn large. */
function Cell({ share, layer, most }: { share: Share; layer: number; most: number }) {
  const { value, head } = share;
  const colour = diverging(value / most);
  const name = head ? headName(head) : `feed-forward ${layer + 1}`;
  const href = head
    ? link({ panel: "attention", ...head })
    : link({ panel: "feed", side: "decoder", layer });
  return (
    <td>
      <a
        href={href}
        class="output-part"
        title={`${name}: ${printed(value, 4)}`}
        aria-label={`${name}: ${printed(value, 2)}`}
        data-value={String(value)}
        style={{ backgroundColor: colour, color: inkOn(colour) }}
      >
        {printed(value, 1)}
      </a>
    </td>
  );
}
