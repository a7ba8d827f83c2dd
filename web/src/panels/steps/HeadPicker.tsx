/** Which head: side, layer, number. */
import type { HeadId, Side, Trace } from "../../api/types.ts";
import { Segmented } from "../../drawing/Segmented.tsx";
import { go } from "../../state/store.ts";
import { ATTENTIONS, layersOf } from "../attention/tokens.ts";
import { alignsWords } from "../attention/view.ts";

const SIDES: readonly Side[] = ["encoder", "decoder", "cross"];

/** Three choices side by side. */
export function HeadPicker({ trace, id }: { trace: Trace; id: HeadId }) {
  const heads = Array.from({ length: trace.model.heads }, (_, head) => ({
    value: head,
    name: alignsWords(trace, { ...id, head }) ? `${head} ★` : String(head),
  }));
  const layers = Array.from({ length: layersOf(trace, id.side) }, (_, value) => ({
    value,
    name: String(value),
  }));
  return (
    <div class="steps-picker">
      <Segmented
        label="Which of the three attentions"
        choices={SIDES.map((value) => ({
          value,
          name: ATTENTIONS[value].short,
          hint: ATTENTIONS[value].name,
        }))}
        value={id.side}
        onChoose={(side) => go({ side, query: null })}
      />
      <Choice name="Layer" choices={layers} value={id.layer} onChoose={(layer) => go({ layer })} />
      <Choice name="Head" choices={heads} value={id.head} onChoose={(head) => go({ head })} />
    </div>
  );
}

interface ChoiceProps {
  name: string;
  choices: { value: number; name: string }[];
  value: number;
  onChoose: (value: number) => void;
}

function Choice({ name, choices, value, onChoose }: ChoiceProps) {
  return (
    <label class="steps-choice">
      {name}{" "}
      <select value={value} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.name}
          </option>
        ))}
      </select>
    </label>
  );
}
