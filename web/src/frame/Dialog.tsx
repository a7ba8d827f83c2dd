/** A box over the page that keeps the focus inside it. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

/** What Dialog needs. */
export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** Escape and the cross close it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = box.current;
    if (dialog && !dialog.open) dialog.showModal();
  }, []);
  return (
    <dialog ref={box} class="dialog" aria-labelledby={id} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button
          type="button"
          class="quiet-button icon-button"
          aria-label="Close"
          onClick={() => box.current?.close()}
        >
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}
