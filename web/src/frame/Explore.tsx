/** The view that looks inside: panels at the side, the open one, the steps at the bottom. */

import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { PANELS } from "../panels/index.ts";
import { reducedMotion } from "../state/motion.ts";
import { address, link } from "../state/store.ts";
import { Changes } from "./Changes.tsx";
import { Timeline } from "./Timeline.tsx";

/** The view. */
export function Explore() {
  return (
    <>
      <div class="explore">
        <SideNav />
        <main id="content" tabIndex={-1}>
          <h1 class="visually-hidden">Look inside a translation</h1>
          <PanelHost />
        </main>
      </div>
      <div class="explore-foot">
        <Changes />
        <Timeline />
      </div>
    </>
  );
}

/* The panel that is open. One that breaks says so, and breaks nothing else. */

/** The open panel. */
function PanelHost() {
  const key = address.value.panel;
  const [tries, setTries] = useState(0);
  const Panel = PANELS.find((panel) => panel.key === key)?.Panel;
  return (
    <Boundary key={`${key} ${tries}`} again={() => setTries(tries + 1)}>
      {Panel && <Panel />}
    </Boundary>
  );
}

function Broken({ words, again }: { words: string; again: () => void }) {
  return (
    <div class="panel-problem" role="alert">
      <p>
        <strong>This panel could not be drawn.</strong> {words}
      </p>
      <button type="button" class="button" onClick={again}>
        Try again
      </button>
    </div>
  );
}

class Boundary extends Component<
  { children: ComponentChildren; again: () => void },
  { words: string | null }
> {
  override state = { words: null };

  static override getDerivedStateFromError(error: unknown) {
    return { words: error instanceof Error ? error.message : String(error) };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override render() {
    const { words } = this.state;
    return words === null ? this.props.children : <Broken words={words} again={this.props.again} />;
  }
}

/* The panels. On a wide screen a column; on a narrow one a row that scrolls. */

/** The list of panels. */
function SideNav() {
  const list = useRef<HTMLUListElement>(null);
  const { panel } = address.value;
  useEffect(() => {
    const row = list.current;
    const chosen = row?.querySelector<HTMLElement>("[aria-current]");
    if (!row || !chosen || row.scrollWidth <= row.clientWidth) return;
    const left = chosen.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2;
    row.scrollTo({ left, behavior: reducedMotion.peek() ? "auto" : "smooth" });
  }, [panel]);
  return (
    <nav class="panels" aria-label="Panels">
      <ul ref={list}>
        {PANELS.map((entry, index) => (
          <li key={entry.key}>
            <a
              href={link({ panel: entry.key })}
              aria-current={entry.key === panel ? "page" : undefined}
            >
              <span class="panels-number" aria-hidden="true">
                {(index + 1) % 10}
              </span>
              <span class="panels-title">{entry.title}</span>
              <span class="panels-short">{entry.short}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
