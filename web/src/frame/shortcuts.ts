/** Keys for the whole page. Pure but for `startShortcuts`. */
import { signal } from "@preact/signals";
import { lasting } from "../api/storage.ts";
import { PANEL_KEYS, type PanelKey } from "../state/address.ts";
import { back, first, forward, last, toggle } from "../state/player.ts";
import { address, go } from "../state/store.ts";

/** What a key does. */
type Action =
  | { do: "toggle" | "back" | "forward" | "first" | "last" }
  | { do: "panel"; panel: PanelKey }
  | { do: "sentence" | "translate" | "help" };

/** What is known of a key that was pressed. */
export interface Key {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** Where the keyboard is: in a field, on a button, in something with its own keys. */
export type Place = "page" | "button" | "field" | "own";

const STEPS: Record<string, "back" | "forward" | "first" | "last"> = {
  ArrowLeft: "back",
  ArrowRight: "forward",
  Home: "first",
  End: "last",
};

/** The keys of the first ten panels, in order; panels after them have none. */
export const PANEL_DIGITS = "1234567890";

/** What a key does at a place; null: nothing of ours. */
export function findAction(event: Key, place: Place, view: "translate" | "explore"): Action | null {
  if (event.ctrlKey || event.metaKey || event.altKey || place === "field") return null;
  const digit = PANEL_DIGITS.indexOf(event.key);
  const panel = event.key.length === 1 && digit >= 0 ? PANEL_KEYS[digit] : undefined;
  if (panel) return { do: "panel", panel };
  if (event.key === "/") return { do: "sentence" };
  if (event.key === "t") return { do: "translate" };
  if (event.key === "?") return { do: "help" };
  if (place === "own" || view !== "explore") return null;
  if (event.key === " ") return place === "page" ? { do: "toggle" } : null;
  const step = STEPS[event.key];
  return step ? { do: step } : null;
}

/** Where an element puts the keyboard. */
function locateKeyboard(element: Element | null): Place {
  if (!element) return "page";
  if (element.closest("input, textarea, select, [contenteditable=true], dialog")) return "field";
  if (element.closest("[data-own-keys]")) return "own";
  return element.closest("button, a, summary") ? "button" : "page";
}

const KEY = "translucid-keys";

/** Whether single keys do anything: people who speak to their computer may want them off. */
export const keysOn = signal(lasting.get(KEY) !== "off");

/** Switch single keys on or off, and remember it. */
export function switchKeys(on: boolean): void {
  keysOn.value = on;
  lasting.set(KEY, on ? "on" : "off");
}

/** Whether the help is open. */
export const helpOpen = signal(false);

/** Leave a field for the panel, or for the page where none is open, so that single keys work. */
export function leaveField(field: HTMLElement): void {
  field.blur();
  (document.getElementById("panel-title") ?? document.getElementById("content"))?.focus({
    preventScroll: true,
  });
}

const MOVES = { toggle, back, forward, first, last };

function perform(action: Action): void {
  if (action.do === "panel") go({ view: "explore", panel: action.panel });
  else if (action.do === "translate") go({ view: "translate" });
  else if (action.do === "help") helpOpen.value = true;
  else if (action.do === "sentence") document.getElementById("sentence")?.focus();
  else MOVES[action.do]();
}

/** Begin to listen. Called once, by main. */
export function startShortcuts(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || !keysOn.peek()) return;
    const place = locateKeyboard(event.target instanceof Element ? event.target : null);
    const action = findAction(event, place, address.peek().view);
    if (!action) return;
    event.preventDefault();
    perform(action);
  });
}
