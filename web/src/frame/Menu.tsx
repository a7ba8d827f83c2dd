/** A button that opens a small box under it; Escape, and a click or Tab elsewhere, close it. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

/** What Menu needs. */
interface MenuProps {
  /** What the button shows. */
  label: ComponentChildren;
  /** The button's name where what it shows is a sign. */
  name?: string;
  align?: "left" | "right";
  class?: string;
  children: (close: () => void) => ComponentChildren;
}

/** The button and, while it is open, the box. */
export function Menu({ label, name, align = "right", class: more = "", children }: MenuProps) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    const leave = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      setOpen(false);
      button.current?.focus();
    };
    addEventListener("pointerdown", outside);
    addEventListener("focusin", outside);
    addEventListener("keydown", leave, true);
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("focusin", outside);
      removeEventListener("keydown", leave, true);
    };
  }, [open]);
  useLayoutEffect(() => {
    const edge = panel.current?.getBoundingClientRect();
    if (edge && panel.current) panel.current.style.translate = `${shift(edge, innerWidth)}px 0`;
  }, [open]);
  return (
    <div class={`menu menu-${align} ${more}`} ref={box}>
      <button
        type="button"
        ref={button}
        class="quiet-button"
        aria-label={name}
        title={name}
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && (
        <div class="menu-box" id={id} ref={panel} data-own-keys>
          {children(() => {
            setOpen(false);
            button.current?.focus();
          })}
        </div>
      )}
    </div>
  );
}

const MARGIN = 8;

/** How far a box must move sideways to lie inside the window. */
export function shift(box: { left: number; right: number }, width: number): number {
  if (box.left < MARGIN) return MARGIN - box.left;
  return Math.min(0, width - MARGIN - box.right);
}
