/** The link to this view. */
import { useEffect, useRef, useState } from "preact/hooks";
import { say } from "../state/notices.ts";
import { sharedLink } from "../state/store.ts";
import { copyText } from "./clipboard.ts";
import { Menu } from "./Menu.tsx";

/** A button that opens the link and copies it. */
export function Share() {
  return (
    <Menu label={<Sign />} name="Share a link to this view" class="icon-menu">
      {(close) => <ShareBox close={close} />}
    </Menu>
  );
}

function ShareBox({ close }: { close: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  const shared = sharedLink();
  const copy = async (): Promise<void> => {
    field.current?.select();
    // Only pages on https or this machine have a clipboard: elsewhere the reader copies by hand.
    if (!navigator.clipboard) return;
    if (!(await copyText(shared))) return;
    setCopied(true);
    say("Link copied");
  };
  // A menu that the reader has closed meanwhile must not close again and take the focus.
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(close, 900);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <div class="share">
      <label class="field">
        <span>This link shows what you see now, sentence included.</span>
        <input
          ref={field}
          readOnly
          value={shared}
          onFocus={(event) => event.currentTarget.select()}
        />
      </label>
      <button type="button" class="button button-main" onClick={copy}>
        {copied ? "Copied" : "Copy link"}
      </button>
    </div>
  );
}

function Sign() {
  return (
    <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <g fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round">
        <path d="M8.5 11.5a3 3 0 0 0 4.2 0l3-3a3 3 0 0 0-4.2-4.2l-1 1" />
        <path d="M11.5 8.5a3 3 0 0 0-4.2 0l-3 3a3 3 0 0 0 4.2 4.2l1-1" />
      </g>
    </svg>
  );
}
