/** The panel that is open. One that breaks says so, and breaks nothing else. */
import { Component, type ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { PANELS } from "../panels/index.ts";
import { address } from "../state/store.ts";

/** The open panel. */
export function PanelHost() {
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
