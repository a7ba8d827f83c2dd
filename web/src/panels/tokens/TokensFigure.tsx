/** The tokens of one stream: chips with ids, the text with its cuts, and the chosen one in words. */

import type { Trace, TraceToken } from "../../api/types.ts";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import type { Table } from "../../drawing/files.ts";
import { counted } from "../../drawing/Number.tsx";
import { plain, tagLanguage } from "../../drawing/pieces.ts";
import { TokenRow } from "../../drawing/Tokens.tsx";
import { step } from "../../state/player.ts";
import { highlight } from "../../state/store.ts";
import { tokensPicture } from "./picture.ts";
import {
  describe,
  findWord,
  getCharacters,
  getText,
  getTokens,
  getWords,
  type Stream,
} from "./positions.ts";

interface Props {
  trace: Trace;
  stream: Stream;
}

const TITLES = {
  source: "Source: what the encoder reads",
  target: "Target: what the decoder reads",
};

/** Chips, the text below them with the span of the chosen token, and what that token is. */
export function TokensFigure({ trace, stream }: Props) {
  const tokens = getTokens(trace, stream);
  const current = stream === "target" ? step.value : null;
  return (
    <Figure
      name={`tokens-${stream}`}
      title={TITLES[stream]}
      caption={<Caption trace={trace} stream={stream} />}
      picture={() => tokensPicture(trace, stream, palette())}
      table={() => tokenTable(trace, stream)}
    >
      <TokenRow
        tokens={tokens}
        stream={stream}
        label={TITLES[stream]}
        current={current}
        ids
        note={(at) => (tokens[at] ? `id ${tokens[at].id}, position ${at + 1}` : undefined)}
      />
      <Text trace={trace} stream={stream} />
      <Chosen trace={trace} stream={stream} />
      <AllTokens trace={trace} stream={stream} />
    </Figure>
  );
}

function Caption({ trace, stream }: Props) {
  const tokens = getTokens(trace, stream);
  const size = stream === "source" ? trace.model.source_vocab_size : trace.model.target_vocab_size;
  const words = getWords(trace, stream).length;
  return (
    <>
      {tokens.length} tokens in {words} groups, out of a vocabulary of {counted(size)}. Pieces of
      one word are tied together.
      {stream === "target" && " In row t the decoder reads this token and predicts the next one."}
    </>
  );
}

/** The text, cut where the tokens meet. */
function Text({ trace, stream }: Props) {
  const text = getText(trace, stream);
  const lit = highlight.value?.stream === stream ? highlight.value.index : -1;
  return (
    <p class="tokens-text" lang={stream === "target" ? trace.target : undefined}>
      {getTokens(trace, stream).map((token, at) => {
        const characters = getCharacters(token, text);
        return characters === "" ? null : (
          <span key={at} data-lit={at === lit}>
            {characters}
          </span>
        );
      })}
    </p>
  );
}

/** The token under the pointer or the keyboard's cursor; the first one while there is none. */
function Chosen({ trace, stream }: Props) {
  const tokens = getTokens(trace, stream);
  const index = highlight.value?.stream === stream ? highlight.value.index : 0;
  const token = tokens[index];
  if (!token) return null;
  const { word, size } = findWord(getWords(trace, stream), index);
  const { kind, says } = describe(token, getText(trace, stream));
  return (
    <p class="tokens-chosen" data-token={index} data-kind={kind}>
      <b>{tagLanguage(token.piece) === null ? token.piece : plain(token.piece)}</b>{" "}
      <span class="num">id {token.id}</span> <span class="num">position {index + 1}</span>{" "}
      <Span token={token} /> {size > 1 && `Piece of word ${word + 1}, which has ${size}. `}
      {says}
    </p>
  );
}

function Span({ token }: { token: TraceToken }) {
  if (token.start === token.end) return <span class="num">no characters</span>;
  return (
    <span class="num">
      characters {token.start + 1} to {token.end}
    </span>
  );
}

/** Every token in a table, for reading on and for screen readers. */
function AllTokens({ trace, stream }: Props) {
  const { columns, rows } = tokenTable(trace, stream);
  return (
    <details class="tokens-all">
      <summary>All tokens in a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so that the keyboard must reach it */}
      <section class="scroll-x" tabIndex={0} aria-label={`Tokens of the ${stream}`}>
        <table>
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {row.map((value, column) => (
                  <td key={column}>{value}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}

/** The tokens as a table to save. */
function tokenTable(trace: Trace, stream: Stream): Table {
  const text = getText(trace, stream);
  return {
    columns: ["position", "piece", "id", "first", "last", "characters", "word", "what it is"],
    rows: getTokens(trace, stream).map((token, at) => [
      at + 1,
      token.piece,
      token.id,
      ...(token.start === token.end ? ["", ""] : [token.start + 1, token.end]),
      getCharacters(token, text),
      findWord(getWords(trace, stream), at).word + 1,
      describe(token, text).says,
    ]),
  };
}
