/** The token on its way: up through the decoder, and from the output back to the input. */

import { plain } from "../../drawing/pieces.ts";
import { pointAt } from "./layout.ts";
import { phasesNow, type Scene } from "./scene.ts";

/** A chip where the newest data is; nothing once the step is drawn. */
export function Pulse({ scene }: { scene: Scene }) {
  if (scene.share.value >= 1) return null;
  const { encoder, feedback, decoder } = phasesNow(scene);
  const { ways } = scene.plan;
  if (encoder < 1) return <Chip at={pointAt(ways.encoder, encoder)} words="source" />;
  const before = scene.trace.steps[scene.step - 1]?.token.piece;
  if (feedback < 1 && before) {
    return <Chip at={pointAt(ways.feedback, feedback)} words={plain(before)} />;
  }
  const read = scene.trace.target_tokens[scene.step]?.piece ?? "";
  return <Chip at={pointAt(ways.decoder, decoder)} words={plain(read)} />;
}

function Chip({ at, words }: { at: { x: number; y: number }; words: string }) {
  return (
    <span
      class="map-pulse"
      aria-hidden="true"
      style={{ transform: `translate(${at.x}px, ${at.y}px) translate(-50%, -50%)` }}
    >
      {words}
    </span>
  );
}
