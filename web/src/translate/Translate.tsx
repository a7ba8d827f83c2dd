/** The plain view: two boxes. */
import { useEffect, useMemo } from "preact/hooks";
import type { Translation } from "../api/types.ts";
import { DirectionChoice } from "../frame/DirectionChoice.tsx";
import { langOf, languageName } from "../frame/languages.ts";
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
  const found = picked.value ?? done?.translation ?? null;
  // After a fault, the last translation may be that of another text.
  const shown = finished.value.state === "failed" && !sameText(found) ? null : found;
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
          between={sameText(shown) ? between : null}
          language={sources.map(languageName).join(", ")}
          lang={sources.length === 1 ? langOf(sources[0]) : undefined}
        />
        <TargetBox
          shown={shown}
          between={between}
          language={target && languageName(target)}
          lang={langOf(target)}
        />
      </div>
      {current && done && <Alternatives done={done} lang={langOf(target)} />}
    </main>
  );
}

/** Whether a translation is that of the text in the box. */
function sameText(shown: Translation | null): boolean {
  return shown?.source === address.value.text;
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
