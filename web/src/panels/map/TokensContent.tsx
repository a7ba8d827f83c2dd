/** The tokens that enter a stack. */

import type { WordSpan } from "../../api/types.ts";
import { isSymbol, plain } from "../../drawing/pieces.ts";
import { highlight } from "../../state/store.ts";
import type { Box } from "./layout.ts";
import { fitting, phasesNow, type Scene, useNow } from "./scene.ts";

interface Props {
  box: Box;
  scene: Scene;
  title: string;
  shape: string;
}

/** Source: the first tokens that fit. Target: the last ones, up to the one that is read now. */
export function TokensContent({ box, scene, title, shape }: Props) {
  const { trace, step } = scene;
  const encoder = box.stack === "encoder";
  const arrived = useNow(scene, (now) => encoder || phasesNow(now).feedback >= 1);
  const all = encoder ? trace.source_tokens : trace.target_tokens.slice(0, step + 1);
  const tokens = arrived ? all : all.slice(0, -1);
  const names = tokens.map((token) => plain(token.piece));
  const { from, to } = fitting(names, box.width - 24, 1, encoder ? "first" : "last");
  const stream = encoder ? "source" : "target";
  const lit = highlight.value?.stream === stream ? highlight.value.index : -1;
  return (
    <>
      <span class="map-line">
        <span class="map-title">{title}</span>
        <span class="map-shape">{shape}</span>
      </span>
      <span class="map-chips" data-cut={from > 0}>
        {from > 0 && <span class="map-more">… {from}</span>}
        {tokens.slice(from, to).map((token, order) => (
          <span
            key={from + order}
            class="map-chip"
            data-symbol={isSymbol(token.piece)}
            data-new={!encoder && from + order === step}
            data-lit={from + order === lit}
            data-joined={order > 0 && goesOn(trace.words[stream], from + order)}
          >
            {plain(token.piece)}
          </span>
        ))}
        {to < tokens.length && <span class="map-more">+{tokens.length - to}</span>}
      </span>
    </>
  );
}

/** Whether a token goes on with the word of the one before it. */
function goesOn(words: readonly WordSpan[], index: number): boolean {
  return words.some(([first, end]) => first < index && index < end);
}
