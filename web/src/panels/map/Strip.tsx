/** Strips of attention inside the boxes: the real weights of the newest token. */

import type { Trace } from "../../api/types.ts";
import { Canvas } from "../../drawing/Canvas.tsx";
import { heat, type Palette } from "../../drawing/colours.ts";
import { useTensor } from "../../state/useTensor.ts";
import { attentionStrip, meanOfRows, pooled, relative, type StripData } from "./flow.ts";

const BAR = 2; // px under the cells that says computed or kept
const BINS = 48;

/** Draws a strip; under each cell a line: full for computed, dotted for kept. */
export function Strip({ data, width, height }: { data: StripData; width: number; height: number }) {
  return (
    <Canvas
      class="map-strip"
      width={width}
      height={height}
      draw={(context, colours) => paint(context, colours, data, width, height)}
    />
  );
}

function paint(
  context: CanvasRenderingContext2D,
  colours: Palette,
  data: StripData,
  width: number,
  height: number,
): void {
  const slots = Math.max(1, data.slots);
  const edge = (at: number): number => Math.round((at * width) / slots);
  const space = width / slots >= 5 ? 1 : 0;
  for (let at = 0; at < slots; at++) {
    const [x, wide] = [edge(at), Math.max(1, edge(at + 1) - edge(at) - space)];
    const value = data.values[at];
    context.fillStyle = value === undefined ? colours.line : heat(value, colours);
    context.globalAlpha = value === undefined ? 0.45 : 1;
    context.fillRect(x, 0, wide, height - BAR - 1);
    if (value === undefined) continue;
    const isNew = at >= data.computed;
    context.fillStyle = isNew ? colours.accent : colours.muted;
    context.globalAlpha = isNew ? 1 : 0.55;
    context.fillRect(x, height - BAR, isNew ? wide : Math.max(1, wide * 0.4), BAR);
  }
  context.globalAlpha = 1;
}

/** The strip of an attention, once its weights are here. */
export function useAttentionStrip(trace: Trace, name: string, step: number): StripData | null {
  const weights = useTensor(trace, name in trace.tensors ? name : null);
  return weights ? attentionStrip(trace, name, step, weights) : null;
}

/** The strip of a feed-forward layer: its inner numbers, the largest of each few. */
export function useInnerStrip(trace: Trace, name: string, step: number): StripData | null {
  const inner = useTensor(trace, name in trace.tensors ? name : null);
  if (!inner) return null;
  const width = inner.shape[1] ?? 0;
  const encoder = name.startsWith("encoder");
  const row = encoder ? meanOfRows(inner) : inner.data.subarray(step * width, (step + 1) * width);
  const values = relative(pooled(row, BINS));
  return { values, slots: values.length, computed: encoder && step > 0 ? values.length : 0 };
}
