/**
 * Writes the address into the browser's bar, a few times a second at most: each writing costs the
 * browser milliseconds, which stepping through sixty rows cannot spare.
 */

const GAP = 250;

/** A page inside a page, such as that of a notebook, has an address that it may not change. */
export const framed = globalThis.location?.protocol === "about:";

let waiting: string | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let writtenAt = Number.NEGATIVE_INFINITY;

/** Make a new entry for Back. */
export function push(hash: string): void {
  flush();
  if (!framed && hash !== location.hash) history.pushState(null, "", hash);
}

/** Change the present entry. */
export function replace(hash: string): void {
  waiting = hash;
  flush();
}

/** Change the present entry: at once, or soon where it was changed just before. */
export function replaceSoon(hash: string): void {
  waiting = hash;
  if (timer !== undefined) return;
  const wait = writtenAt + GAP - performance.now();
  if (wait <= 0) flush();
  else timer = setTimeout(flush, wait);
}

/** Write now what waits. */
export function flush(): void {
  const hash = waiting;
  forget();
  if (framed || hash === null || hash === location.hash) return;
  writtenAt = performance.now();
  history.replaceState(null, "", hash);
}

/** Drop what waits: the reader has gone elsewhere. */
export function forget(): void {
  clearTimeout(timer);
  timer = undefined;
  waiting = null;
}
