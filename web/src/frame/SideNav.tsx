/** The panels. On a wide screen a column; on a narrow one a row that scrolls. */
import { useEffect, useRef } from "preact/hooks";
import { PANELS } from "../panels/index.ts";
import { reducedMotion } from "../state/motion.ts";
import { address, link } from "../state/store.ts";

/** The list of panels. */
export function SideNav() {
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
