/** Loads the panel that is open. One that breaks says so, and breaks nothing else. */
import { Component, type ComponentChildren, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { asProblem } from "../api/client.ts";
import { PANELS } from "../panels/index.ts";
import { address } from "../state/store.ts";

interface Opened {
  key: string;
  Panel: ComponentType | null;
  fault: string | null;
}

/** The open panel. */
export function PanelHost() {
  const key = address.value.panel;
  const [opened, setOpened] = useState<Opened>({ key: "", Panel: null, fault: null });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let wanted = true;
    const show = (panel: Partial<Opened>) =>
      wanted && setOpened({ key, Panel: null, fault: null, ...panel });
    PANELS.find((panel) => panel.key === key)
      ?.load()
      .then(
        (loaded) => show({ Panel: loaded.default }),
        (error) => show({ fault: asProblem(error).message }),
      );
    return () => {
      wanted = false;
    };
  }, [key, tries]);
  const again = (): void => setTries(tries + 1);
  // A browser never asks again for a script it once failed to get; the address has all the rest.
  if (opened.fault !== null)
    return (
      <Broken
        words={`Its files did not come; is the server still running? ${opened.fault}`}
        again={() => location.reload()}
      />
    );
  if (!opened.Panel) return <p class="panel-waiting">Opening …</p>;
  return (
    <Boundary key={`${opened.key} ${tries}`} again={again}>
      <opened.Panel />
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
