/** Whether the reader has asked for less motion. */
import { signal } from "@preact/signals";

const query = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");

/** True: nothing glides; values jump. */
export const reducedMotion = signal(query?.matches ?? false);

query?.addEventListener("change", (event) => {
  reducedMotion.value = event.matches;
});
