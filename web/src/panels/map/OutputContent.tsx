/** What comes out of the softmax at a step: the token that was written, and its rivals. */

import { Num } from "../../drawing/Number.tsx";
import { plain } from "../../drawing/pieces.ts";
import type { Box } from "./layout.ts";
import { type Scene, stateNow, useNow } from "./scene.ts";

const RIVALS = 3;

interface Props {
  box: Box;
  scene: Scene;
  title: string;
  shape: string;
}

/** The likeliest tokens as bars; the written one is among them, or comes last. */
export function OutputContent({ box, scene, title, shape }: Props) {
  const { trace, step } = scene;
  const here = trace.steps[step];
  const isOut = useNow(scene, (now) => stateNow(now, box.stack, box.reached) !== "waiting");
  if (!here) return null;
  const { token } = here;
  const top = here.top.slice(0, RIVALS);
  const written = { id: token.id, piece: token.piece, log_prob: here.log_prob };
  const shown = top.some((one) => one.id === token.id)
    ? top
    : [...top.slice(0, RIVALS - 1), written];
  return (
    <>
      <span class="map-line">
        <span class="map-title">{title}</span>
        <span class="map-shape">{shape}</span>
      </span>
      <span class="map-rivals" data-out={isOut}>
        {shown.map((one) => (
          <span key={one.id} class="map-rival" data-written={one.id === token.id}>
            <span class="map-rival-name">{plain(one.piece)}</span>
            <span class="map-rival-track">
              <span
                class="map-rival-bar"
                style={{ width: `${isOut ? 100 * Math.exp(one.log_prob) : 0}%` }}
              />
            </span>
            <Num value={Math.exp(one.log_prob)} digits={3} />
          </span>
        ))}
      </span>
    </>
  );
}
