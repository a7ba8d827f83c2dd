/**
 * What the browser keeps for the page. It may refuse to (a reader who blocks cookies, a frame of
 * another site): then it is kept until the page is left, and nothing breaks.
 */

/** Words by name. */
export interface Kept {
  get(name: string): string | null;
  /** Null takes it away. */
  set(name: string, word: string | null): void;
}

/** Words in a storage of the browser, or in memory where there is none that works. */
export function kept(storage: () => Storage | undefined): Kept {
  const memory = new Map<string, string>();
  return {
    get: (name) => memory.get(name) ?? allowed(() => storage()?.getItem(name)) ?? null,
    set: (name, word) => {
      if (word === null) memory.delete(name);
      else memory.set(name, word);
      allowed(() => (word === null ? storage()?.removeItem(name) : storage()?.setItem(name, word)));
    },
  };
}

/** The result, or undefined where the browser refuses: SecurityError, QuotaExceededError. */
function allowed<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}

/** Kept for good: how the page looks and behaves. */
export const lasting = kept(() => globalThis.localStorage);

/** Kept until the tab is closed: the key. */
export const passing = kept(() => globalThis.sessionStorage);
