/** This panel's own keys of the address. */
import { address, go } from "../../state/store.ts";

/** Return the keys with some changed; an empty word takes a key away. Pure. */
export function changedKeys(
  keys: Record<string, string>,
  changes: Record<string, string>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ ...keys, ...changes }).filter(([, word]) => word !== ""),
  );
}

/** Write keys into the address, without a new entry for Back. */
export function keep(changes: Record<string, string>): void {
  go({ extra: changedKeys(address.peek().extra, changes) }, { replace: true });
}
