/** Which model, and into which language. */
import type { Model } from "../api/types.ts";
import { sourcesOf, targetOf } from "../state/requests.ts";
import { address, go, model, models } from "../state/store.ts";
import { directionName } from "./languages.ts";

/** A choice where there is one, else the direction in words. */
export function DirectionChoice() {
  const list = models.value.value?.models ?? [];
  const chosen = model.value;
  if (!chosen) return null;
  const target = targetOf(chosen, address.value) ?? "";
  const count = list.reduce((sum, one) => sum + one.targets.length, 0);
  if (count <= 1) return <span class="direction muted">{named(chosen, target)}</span>;
  return (
    <label class="direction">
      <span class="visually-hidden">Direction</span>
      <select
        value={key(chosen.name, target)}
        onChange={(event) => {
          const [name = "", into = ""] = JSON.parse(event.currentTarget.value);
          // Token ids and heads mean something else in another model.
          go({ model: name, target: into, prefix: [], without: [], step: 0, query: null });
        }}
      >
        {list.flatMap((one) => options(one, list.length > 1))}
      </select>
    </label>
  );
}

function options(one: Model, several: boolean) {
  return one.targets.map((into) => (
    <option key={key(one.name, into)} value={key(one.name, into)}>
      {named(one, into)}
      {several && ` · ${one.name}`}
    </option>
  ));
}

function key(name: string, target: string): string {
  return JSON.stringify([name, target]);
}

function named(one: Model, target: string): string {
  return directionName(sourcesOf(one, target), target);
}
