/** Which head: attention, layer, number. */
import type { HeadId, Side } from "../../api/types.ts";
import { go } from "../../state/store.ts";
import { SIDES } from "../lens/headList.ts";
import type { Sizes } from "./filmView.ts";

export function HeadChoice({ head, sizes }: { head: HeadId; sizes: Sizes }) {
  const layers = head.side === "encoder" ? sizes.encoder_layers : sizes.decoder_layers;
  const choose = (changes: Partial<HeadId>) => go({ ...head, ...changes }, { replace: true });
  return (
    <>
      <label class="field">
        Attention
        <select
          value={head.side}
          onChange={(event) => choose({ side: event.currentTarget.value as Side })}
        >
          {SIDES.map(({ side, title }) => (
            <option key={side} value={side}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <NumberChoice
        name="Layer"
        value={head.layer}
        count={layers}
        onChoose={(layer) => choose({ layer })}
      />
      <NumberChoice
        name="Head"
        value={head.head}
        count={sizes.heads}
        onChoose={(number) => choose({ head: number })}
      />
    </>
  );
}

interface NumberChoiceProps {
  name: string;
  value: number;
  count: number;
  onChoose: (value: number) => void;
}

function NumberChoice({ name, value, count, onChoose }: NumberChoiceProps) {
  return (
    <label class="field">
      {name}
      <select value={value} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {Array.from({ length: count }, (_, number) => (
          <option key={number} value={number}>
            {number}
          </option>
        ))}
      </select>
    </label>
  );
}
