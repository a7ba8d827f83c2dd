import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface Props {
  label: string;
  /** Shown is the end, whenever this changes; without it, the beginning. */
  endOf?: unknown;
  children: ComponentChildren;
}

/** A box that scrolls sideways, by the keyboard too. */
export function Scrolled({ label, endOf, children }: Props) {
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (endOf !== undefined && box.current) box.current.scrollLeft = box.current.scrollWidth;
  }, [endOf]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section ref={box} class="scroll-x" tabIndex={0} aria-label={label} data-own-keys>
      {children}
    </section>
  );
}
