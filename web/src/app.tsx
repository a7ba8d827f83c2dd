/** The page: header, the chosen view, and what lies over them. */
import { useEffect, useRef } from "preact/hooks";
import { Help, KeyPrompt } from "./frame/Dialogs.tsx";
import { Explore } from "./frame/Explore.tsx";
import { Header } from "./frame/Header.tsx";
import { LiveRegion, Notices } from "./frame/Notices.tsx";
import { SavedNote } from "./frame/Saved.tsx";
import { TourCard } from "./panels/guide/TourCard.tsx";
import { PANELS } from "./panels/index.ts";
import { say } from "./state/notices.ts";
import { address, trace } from "./state/store.ts";
import { Translate } from "./translate/Translate.tsx";

/** The whole page. */
export function App() {
  const { view, tour } = address.value;
  useTitle();
  useFocus();
  useNews();
  return (
    <div class={`page page-${view}`}>
      <button type="button" class="skip" onClick={skip}>
        Skip to the content
      </button>
      <Header />
      <SavedNote />
      <Notices />
      {view === "explore" ? <Explore /> : <Translate />}
      {tour !== null && <TourCard />}
      <Help />
      <KeyPrompt />
      <LiveRegion />
    </div>
  );
}

/** No link: the hash of the address is the page's state. */
function skip(): void {
  document.getElementById("content")?.focus();
}

/** A panel that the reader goes to takes the focus to its heading; on a tour, the card has it. */
function useFocus(): void {
  const { view, panel, tour } = address.value;
  const before = useRef(`${view} ${panel}`);
  useEffect(() => {
    if (before.current === `${view} ${panel}`) return;
    before.current = `${view} ${panel}`;
    if (view === "explore" && tour === null) {
      document.getElementById("panel-title")?.focus({ preventScroll: true });
    }
  }, [view, panel, tour]);
}

function useTitle(): void {
  const { view, panel, text } = address.value;
  useEffect(() => {
    const where = view === "translate" ? "Translate" : PANELS.find((p) => p.key === panel)?.title;
    const about = text.trim() ? ` · ${text.trim().slice(0, 40)}` : "";
    document.title = `${where}${about} · Translucid`;
  }, [view, panel, text]);
}

/** Tells a screen reader of each new translation in the Explore view. */
function useNews(): void {
  const { state, value } = trace.value;
  useEffect(() => {
    if (state === "ready" && value) say(`Translation: ${value.translation}`);
  }, [state, value]);
}
