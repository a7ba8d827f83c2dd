/** A canvas that is crisp on any screen and follows the theme. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Palette, palette } from "./colours.ts";

export type Draw = (context: CanvasRenderingContext2D, colours: Palette) => void;

interface CanvasProps {
  width: number;
  height: number;
  draw: Draw;
  class?: string;
  /** What it shows, for people who do not see it; without it the canvas is decoration. */
  label?: string;
}

/** Draws anew whenever it is rendered; `draw` counts in pixels of the page. */
export function Canvas({ width, height, draw, label, ...more }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = palette();
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context) return;
    const ratio = globalThis.devicePixelRatio || 1;
    const size = [Math.round(width * ratio), Math.round(height * ratio)] as const;
    if (canvas.current.width !== size[0]) canvas.current.width = size[0];
    if (canvas.current.height !== size[1]) canvas.current.height = size[1];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, colours);
  });
  return (
    <canvas
      ref={canvas}
      class={more.class}
      style={{ width: `${width}px`, height: `${height}px` }}
      role={label ? "img" : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : "true"}
    />
  );
}

/** The width of an element in whole pixels, followed as the page changes; 0 until it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, set] = useState(0);
  useLayoutEffect(() => {
    const box = element.current;
    if (!box) return;
    const measure = (): void => set(Math.floor(box.clientWidth));
    measure();
    const watcher = new ResizeObserver(measure);
    watcher.observe(box);
    return () => watcher.disconnect();
  }, [element]);
  return width;
}
