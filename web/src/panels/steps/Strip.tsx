/** A vector as a strip of coloured cells: blue below 0, brown above. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { computeLevel, palette } from "../../drawing/colours.ts";
import { printed } from "../../drawing/Number.tsx";

interface StripProps {
  vector: ArrayLike<number>;
  /** The magnitude at the ends of the ramp. */
  reach: number;
  /** What the vector is, for a screen reader. */
  name: string;
  /** The dimension that is framed. */
  dimension?: number;
  onPick?: (dimension: number) => void;
}

/** The strip; pointing at a cell tells its number, a click picks the dimension. */
export function Strip({ vector, reach, name, dimension, onPick }: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = palette();
  useLayoutEffect(() => {
    const pen = canvas.current?.getContext("2d");
    if (!canvas.current || !pen) return;
    canvas.current.width = vector.length;
    canvas.current.height = 1;
    for (let at = 0; at < vector.length; at++) {
      pen.fillStyle =
        colours.diverging[computeLevel(vector[at] ?? 0, -reach, reach)] ?? colours.ground;
      pen.fillRect(at, 0, 1, 1);
    }
  }, [vector, reach, colours]);
  const under = (event: MouseEvent): number => {
    const edge = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const share = (event.clientX - edge.left) / edge.width;
    return Math.max(0, Math.min(vector.length - 1, Math.floor(share * vector.length)));
  };
  const share = 100 / vector.length;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a short cut; the field of the cards does the same
    <span
      class="steps-strip"
      role="img"
      aria-label={`${name}: ${describeVector(vector)}`}
      onPointerMove={(event) => {
        const at = under(event);
        event.currentTarget.title = `${name}, dimension ${at + 1}: ${printed(vector[at] ?? 0, 4)}`;
      }}
      onClick={(event) => onPick?.(under(event))}
    >
      <canvas ref={canvas} />
      {dimension !== undefined && dimension < vector.length && (
        <span
          class="steps-strip-mark"
          style={{ left: `${dimension * share}%`, width: `${share}%` }}
        />
      )}
    </span>
  );
}

function describeVector(vector: ArrayLike<number>): string {
  const all = Array.from(vector);
  return `${all.length} numbers from ${printed(Math.min(...all))} to ${printed(Math.max(...all))}`;
}
