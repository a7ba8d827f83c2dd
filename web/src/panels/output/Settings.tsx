/** Temperature, top-k and top-p. */

import { address, go } from "../../state/store.ts";
import { type Cuts, describeCuts, describeTemperature, isChanged, type Spread } from "./rows.ts";

interface Props {
  cuts: Cuts;
  now: Spread;
}

const set = (changes: Partial<Cuts>) => go(changes, { replace: true });

/** The three controls, and a word on what they do now. */
export function Settings({ cuts, now }: Props) {
  const all = now.shares.length;
  return (
    <div class="output-settings">
      <Temperature value={cuts.temperature} />
      <TopK value={cuts.topK} all={all} />
      <TopP value={cuts.topP} />
      <p class="output-words">
        {describeTemperature(cuts.temperature)} {describeCuts(cuts, now.kept, all)}
      </p>
      <button
        type="button"
        class="button"
        disabled={!isChanged(cuts)}
        onClick={() => go({ temperature: 1, topK: 0, topP: 1 })}
      >
        Reset to the network’s own
      </button>
    </div>
  );
}

function TopK({ value, all }: { value: number; all: number }) {
  return (
    <div class="output-setting">
      <label for="output-k">Top-k</label>
      <input
        id="output-k"
        type="number"
        min="0"
        max={all}
        step="1"
        value={value}
        onInput={(event) => {
          const wanted = event.currentTarget.valueAsNumber;
          if (Number.isInteger(wanted) && wanted >= 0) set({ topK: Math.min(wanted, all) });
        }}
      />
      <span class="output-hint">0: all</span>
    </div>
  );
}

function TopP({ value }: { value: number }) {
  return (
    <div class="output-setting output-wide">
      <label for="output-p">Top-p</label>
      <input
        id="output-p"
        type="range"
        min="0.05"
        max="1"
        step="0.01"
        value={value}
        aria-valuetext={value < 1 ? String(value) : "1, all"}
        onInput={(event) => set({ topP: event.currentTarget.valueAsNumber })}
      />
      <output for="output-p">{value.toFixed(2)}</output>
    </div>
  );
}

function Temperature({ value }: { value: number }) {
  return (
    <div class="output-setting output-wide">
      <label for="output-temperature">Temperature</label>
      <input
        id="output-temperature"
        type="range"
        min="0"
        max="3"
        step="0.1"
        value={value}
        aria-valuetext={value === 0 ? "0, greedy" : String(value)}
        onInput={(event) => set({ temperature: event.currentTarget.valueAsNumber })}
      />
      <output for="output-temperature">{value === 0 ? "0 greedy" : value.toFixed(1)}</output>
    </div>
  );
}

/** What the address says of temperature and cuts. */
export function getCuts(): Cuts {
  const { temperature, topK, topP } = address.value;
  return { temperature, topK, topP };
}
