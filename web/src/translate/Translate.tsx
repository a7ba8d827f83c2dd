/** The plain view: two boxes. */
import { useEffect, useMemo } from "preact/hooks";
import { DirectionChoice } from "../frame/DirectionChoice.tsx";
import { languageName } from "../frame/languages.ts";
import { SearchChoice } from "../frame/SearchChoice.tsx";
import { say } from "../state/notices.ts";
import { sourcesOf, targetOf } from "../state/requests.ts";
import { address, go, model } from "../state/store.ts";
import { Alternatives } from "./Alternatives.tsx";
import { aligned } from "./alignment.ts";
import { SourceBox } from "./SourceBox.tsx";
import { TargetBox } from "./TargetBox.tsx";
import { finished, picked } from "./translation.ts";

/** The view. */
export function Translate() {
  const done = finished.value.value;
  const shown = picked.value ?? done?.translation ?? null;
  const between = useMemo(
    () => (shown ? aligned(shown.source, shown.text, shown.alignment) : null),
    [shown],
  );
  const target = targetOf(model.value, address.value) ?? "";
  const sources = sourcesOf(model.value, target);
  const current = finished.value.state === "ready";
  useEffect(() => {
    if (current && done) say(`Translation: ${done.translation.text}`);
  }, [current, done]);
  const same = shown !== null && shown.source === address.value.text;
  return (
    <main id="content" class="translate" tabIndex={-1}>
      <h1 class="visually-hidden">Translate</h1>
      <div class="translate-direction choices">
        <DirectionChoice />
        <Swap source={sources[0]} target={target} text={current ? shown?.text : undefined} />
        <SearchChoice />
      </div>
      <div class="boxes">
        <SourceBox
          between={same ? between : null}
          language={sources.map(languageName).join(", ")}
        />
        <TargetBox shown={shown} between={between} language={target && languageName(target)} />
      </div>
      {current && done && <Alternatives done={done} />}
    </main>
  );
}

interface SwapProps {
  source: string | undefined;
  target: string;
  text: string | undefined;
}

/** Turns the direction round, where the model goes both ways; the translation becomes the text. */
function Swap({ source, target, text }: SwapProps) {
  const both = model.value?.directions.some(([from, into]) => from === target && into === source);
  if (!source || !both) return null;
  return (
    <button
      type="button"
      class="button"
      onClick={() =>
        go({ target: source, text: text ?? address.value.text, prefix: [], without: [] })
      }
    >
      <span aria-hidden="true">⇄</span> Swap
    </button>
  );
}
