/** What is in the box that one points at. */

import { about } from "./boxes.ts";
import type { Box } from "./layout.ts";
import { Miniature } from "./Miniature.tsx";
import type { Scene } from "./scene.ts";

interface Props {
  scene: Scene;
  box: Box;
  /** Whether one points at it; else it is what is shown by itself. */
  pointed: boolean;
  width: number;
  height: number;
}

const WORDS = 96; // px for the words above the miniature

/** Title, one sentence, the real tensor small, and where the box leads. */
export function Inspector({ scene, box, pointed, width, height }: Props) {
  const told = about(box, scene.sizes);
  const room = Math.max(60, Math.min(170, height - WORDS));
  return (
    <div class="map-inspector" data-shows={box.id}>
      <p class="map-inspector-title">
        <strong>{told.title}</strong>
        <span>
          {told.shape} · {told.place}
        </span>
      </p>
      <p class="map-inspector-says">{told.says}</p>
      {told.miniature && (
        <Miniature
          trace={scene.trace}
          wanted={told.miniature}
          step={scene.step}
          width={width - 26}
          height={room}
        />
      )}
      <p class="map-inspector-hint">
        {pointed ? hint(box, told.to) : "Point at a box to see what is in it."}
      </p>
    </div>
  );
}

function hint(box: Box, to: string): string {
  return box.kind === "layer" ? "Select to open this layer." : `Select to go to ${to}.`;
}
