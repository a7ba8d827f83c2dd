/** Light or dark. */
import { chosenTheme, theme } from "../state/theme.ts";

/** A button that turns one into the other. */
export function ThemeSwitch() {
  const dark = theme.value === "dark";
  const name = dark ? "Light colours" : "Dark colours";
  return (
    <button
      type="button"
      class="quiet-button icon-button"
      aria-label={name}
      title={name}
      onClick={() => {
        chosenTheme.value = dark ? "light" : "dark";
      }}
    >
      <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
        <circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" stroke-width="1.6" />
        <path d="M10 3a7 7 0 0 1 0 14z" fill="currentColor" />
      </svg>
    </button>
  );
}
