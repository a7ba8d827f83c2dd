/** The keys of the page, and a few words about it. */
import { saved } from "../api/saved.ts";
import { PANELS } from "../panels/index.ts";
import { models } from "../state/store.ts";
import { Dialog } from "./Dialog.tsx";
import { helpOpen, keysOn, switchKeys } from "./shortcuts.ts";

const KEYS: [string[], string][] = [
  [["Space"], "play or pause the steps of decoding"],
  [["←", "→"], "one step back or on"],
  [["Home", "End"], "first or last step"],
  [["/"], "to the sentence box"],
  [["t"], "the plain Translate view"],
  [["?"], "this list"],
];

/** The list, while it is open. */
export function Help() {
  if (!helpOpen.value) return null;
  const version = models.value.value?.version;
  return (
    <Dialog
      title="Keys"
      onClose={() => {
        helpOpen.value = false;
      }}
    >
      <dl class="keys">
        {KEYS.filter(([[key = ""]]) => !saved || !"/t".includes(key)).map(([keys, words]) => (
          <div key={words}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
        {PANELS.map((panel, index) => (
          <div key={panel.key}>
            <dt>
              <kbd>{(index + 1) % 10}</kbd>
            </dt>
            <dd>
              {panel.title}: {panel.short}
            </dd>
          </div>
        ))}
      </dl>
      <p>In a matrix, the arrow keys move from cell to cell and Enter selects.</p>
      <label class="check">
        <input
          type="checkbox"
          checked={keysOn.value}
          onChange={(event) => switchKeys(event.currentTarget.checked)}
        />
        Single keys do these things
      </label>
      <p class="muted">
        Translucid{version ? ` ${version}` : ""}
        {!saved && (
          <>
            {" "}
            · <a href="./docs">the API of this server</a>
          </>
        )}
      </p>
    </Dialog>
  );
}
