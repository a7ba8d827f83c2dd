/** Which model, and into which language. */

import { saved } from "../api/saved.ts";
import type { Method, Model, Trace } from "../api/types.ts";
import { languageName } from "../drawing/languages.ts";
import { detectsLanguage, findTarget, hasBeam, listSources } from "../state/requests.ts";
import { address, go, model, models } from "../state/store.ts";
import { Menu } from "./Menu.tsx";

/**
 * A choice where there is one, else the direction in words. `detected` is the language that the text
 * was translated into where nothing was chosen.
 */
export function DirectionChoice({ detected }: { detected: string | undefined }) {
  const list = models.value.value?.models ?? [];
  const chosen = model.value;
  if (!chosen) return null;
  const target = findTarget(chosen, address.value) ?? "";
  const isDetected = address.value.target === "" && detectsLanguage(chosen);
  const count = list.reduce((sum, one) => sum + one.targets.length, 0);
  if (count <= 1) return <span class="direction muted">{named(chosen, target)}</span>;
  return (
    <label class="direction">
      <span class="visually-hidden">Direction</span>
      <select
        value={key(chosen.name, isDetected ? "" : target)}
        onChange={(event) => {
          const [name = "", into = ""] = JSON.parse(event.currentTarget.value);
          // Token ids and heads mean something else in another model.
          go({ model: name, target: into, prefix: [], without: [], step: 0, query: null });
        }}
      >
        {list.flatMap((one) =>
          options(one, list.length > 1, one === chosen ? detected : undefined),
        )}
      </select>
    </label>
  );
}

function options(one: Model, several: boolean, detected: string | undefined) {
  const whose = several ? ` · ${one.name}` : "";
  return [
    detectsLanguage(one) && (
      <option key={key(one.name, "")} value={key(one.name, "")}>
        {detected ? `${named(one, detected)}, detected` : "Detect the language"}
        {whose}
      </option>
    ),
    ...one.targets.map((into) => (
      <option key={key(one.name, into)} value={key(one.name, into)}>
        {named(one, into)}
        {whose}
      </option>
    )),
  ];
}

function key(name: string, target: string): string {
  return JSON.stringify([name, target]);
}

function named(one: Model, target: string): string {
  return directionName(listSources(one, target), target);
}

/* How to search: method, width of the beam, length penalty. */

/** The methods that can be chosen here; a model's own, or a link's, may be another. */
const OFFERED: Method[] = ["greedy", "beam"];

const NAMES: Record<Method, string> = {
  greedy: "Greedy",
  beam: "Beam",
  diverse: "Diverse beam",
  sampling: "Sampling",
  mbr: "Minimum Bayes risk",
};

const BEAM = "Several hypotheses are followed side by side; the best one wins (section 6.1).";

const WORDS: Record<Method, string> = {
  greedy: "At each step the most probable token is taken.",
  beam: BEAM,
  diverse: BEAM,
  sampling: "Several translations are sampled, token by token; the best one wins.",
  mbr: "Several translations are sampled; the one that is most like all the others wins.",
};

/** A button that says how is searched, and opens the settings. */
export function SearchChoice() {
  const own = model.value?.search;
  const { method, beam, alpha } = address.value;
  const now = {
    method: method ?? own?.method ?? "beam",
    beam: beam ?? own?.beam ?? 4,
    alpha: alpha ?? own?.length_penalty ?? 0.6,
  };
  const most = Number(models.value.value?.limits.max_beam ?? 16);
  const changed = method !== null || beam !== null || alpha !== null;
  const change = (changes: Parameters<typeof go>[0]): void =>
    go({ ...changes, step: 0 }, { replace: true });
  const wide = hasBeam(now.method);
  const label = wide ? `${NAMES[now.method]} ${now.beam}` : NAMES[now.method];
  if (saved) return <span class="direction muted"> · {searched(saved.trace)}</span>;
  return (
    <Menu label={`${label} ▾`} name={`Search: ${label}`} align="left">
      {() => (
        <div class="search-choice">
          <fieldset>
            <legend>Search</legend>
            <div class="segmented">
              {OFFERED.map((key) => (
                <button
                  type="button"
                  key={key}
                  aria-pressed={now.method === key}
                  onClick={() => change({ method: key })}
                >
                  {NAMES[key]}
                </button>
              ))}
            </div>
          </fieldset>
          <p class="muted">{WORDS[now.method]}</p>
          {wide && (
            <>
              <Slider
                name="Beam"
                value={now.beam}
                least={1}
                most={most}
                step={1}
                onChange={(value) => change({ beam: value })}
              />
              <Slider
                name="Length penalty α"
                value={now.alpha}
                least={0}
                most={2}
                step={0.1}
                onChange={(value) => change({ alpha: value })}
              />
            </>
          )}
          <button
            type="button"
            class="button"
            disabled={!changed}
            onClick={() => change({ method: null, beam: null, alpha: null })}
          >
            Use the model’s own settings
          </button>
        </div>
      )}
    </Menu>
  );
}

/** How the translation of a trace was found. */
function searched({ origin, search }: Trace): string {
  if (origin === "given") return "given, not searched for";
  const name = NAMES[search.method];
  return hasBeam(search.method) ? `${name} ${search.beam}, α = ${search.length_penalty}` : name;
}

interface SliderProps {
  name: string;
  value: number;
  least: number;
  most: number;
  step: number;
  onChange: (value: number) => void;
}

function Slider({ name, value, least, most, step, onChange }: SliderProps) {
  return (
    <label class="field">
      <span>
        {name}: <strong class="num">{value}</strong>
      </span>
      <input
        type="range"
        min={least}
        max={most}
        step={step}
        value={value}
        onInput={(event) => onChange(Number(event.currentTarget.value))}
      />
    </label>
  );
}

/* Languages by name. */

/** The code for `lang`, where it is that of a known language: models may call theirs anything. */
export function getLangTag(code: string | undefined): string | undefined {
  return code && languageName(code) !== code ? code : undefined;
}

/** A direction in words: "French → English". */
export function directionName(sources: readonly string[], target: string): string {
  const from = sources.map(languageName).join(", ");
  return from ? `${from} → ${languageName(target)}` : `→ ${languageName(target)}`;
}
