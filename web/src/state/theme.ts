/** How the page looks and moves: as the system says, or as the reader has chosen. */
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { lasting } from "../api/storage.ts";

/** The two grounds. */
type Theme = "light" | "dark";

const KEY = "translucid-theme";
const query = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
const system = signal<Theme>(query?.matches ? "dark" : "light");

query?.addEventListener("change", (event) => {
  system.value = event.matches ? "dark" : "light";
});

/** What the reader has chosen; null: as the system says. */
export const chosenTheme = signal<Theme | null>(stored());

/** The theme that is shown. */
export const theme: ReadonlySignal<Theme> = computed(() => chosenTheme.value ?? system.value);

function stored(): Theme | null {
  const word = lasting.get(KEY);
  return word === "light" || word === "dark" ? word : null;
}

/** Show the theme and remember the choice. Called once, by main. */
export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    lasting.set(KEY, chosenTheme.value);
  });
}

/* Whether the reader has asked for less motion. */

const motionQuery = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");

/** True: nothing glides; values jump. */
export const reducedMotion = signal(motionQuery?.matches ?? false);

motionQuery?.addEventListener("change", (event) => {
  reducedMotion.value = event.matches;
});
