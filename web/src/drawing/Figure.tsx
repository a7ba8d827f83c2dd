/** A picture with its heading, caption and a menu that saves it. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { asProblem } from "../api/client.ts";
import { Menu } from "../frame/Menu.tsx";
import { tell } from "../state/notices.ts";
import { csvFile, pngFile, save, svgFile, type Table } from "./files.ts";
import type { Picture } from "./svg.ts";

export type { Table } from "./files.ts";
export type { Picture } from "./svg.ts";

/** What Figure needs. */
interface FigureProps {
  /** Name of the saved files, such as "cross-attention". */
  name: string;
  title: string;
  caption?: ComponentChildren;
  /** Controls beside the heading. */
  controls?: ComponentChildren;
  picture?: () => Picture;
  table?: () => Table;
  children: ComponentChildren;
}

/** The figure; the menu is there where there is something to save. */
export function Figure(props: FigureProps) {
  return (
    <figure class="figure" data-figure={props.name}>
      <div class="figure-head">
        <h3>{props.title}</h3>
        {props.controls && <div class="figure-controls">{props.controls}</div>}
        {(props.picture || props.table) && <SaveMenu {...props} />}
      </div>
      <div class="figure-body">{props.children}</div>
      {props.caption && <figcaption>{props.caption}</figcaption>}
    </figure>
  );
}

function SaveMenu({ name, title, picture, table }: FigureProps) {
  const run = (close: () => void, ending: string, make: () => Promise<Blob> | Blob) => async () => {
    close();
    try {
      save(`${name}.${ending}`, await make());
    } catch (error) {
      tell(asProblem(error));
    }
  };
  return (
    <Menu label="Save" name={`Save: ${title}`}>
      {(close) => (
        <div class="menu-list">
          {picture && (
            <>
              <button type="button" onClick={run(close, "svg", () => svgFile(picture()))}>
                Save as SVG
              </button>
              <button type="button" onClick={run(close, "png", () => pngFile(picture()))}>
                Save as PNG
              </button>
            </>
          )}
          {table && (
            <button type="button" onClick={run(close, "csv", () => csvFile(table()))}>
              Save as CSV
            </button>
          )}
        </div>
      )}
    </Menu>
  );
}

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
