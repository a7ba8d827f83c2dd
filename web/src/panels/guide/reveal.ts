/** Brings the figure that a step of the tour speaks of into view, once its panel has drawn it. */

const PATIENCE = 10_000; // milliseconds

/** Scroll to the first figure whose name begins so, or to the top; returns what gives up waiting. */
export function reveal(figure: string | undefined): () => void {
  if (figure === undefined) {
    scrollTo(0, 0);
    return () => {};
  }
  const look = (): boolean => {
    const found = document.querySelector(`[data-figure^="${figure}"]`);
    found?.scrollIntoView({ block: "start" });
    return found !== null;
  };
  if (look()) return () => {};
  const observer = new MutationObserver(() => look() && observer.disconnect());
  observer.observe(document.body, { childList: true, subtree: true });
  const timer = setTimeout(() => observer.disconnect(), PATIENCE);
  return () => {
    clearTimeout(timer);
    observer.disconnect();
  };
}
