/** Problems for the eye, results for the ear. */
import { useEffect } from "preact/hooks";
import { keyWanted } from "../api/client.ts";
import { notices, putAway, said, tell } from "../state/notices.ts";
import { notServed } from "../state/requests.ts";
import { address, baseline, models, retry, trace } from "../state/store.ts";

/** Problems in the server's own words; each stays until it is dismissed. */
export function Notices() {
  const list = models.value;
  const missing = notServed(list.value, address.value);
  useEffect(() => {
    if (baseline.value.problem && baseline.value !== trace.value)
      tell(baseline.value.problem, { again: true });
  }, [baseline.value]);
  return (
    <div class="notices">
      {list.state === "failed" && list.problem && !keyWanted.value && (
        <div class="notice" role="alert">
          <p>
            <strong>{list.problem.title}.</strong> {list.problem.detail}
          </p>
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        </div>
      )}
      {missing && (
        <div class="notice" role="alert">
          <p>{missing}</p>
        </div>
      )}
      {notices.value.map(({ id, problem, again }) => (
        <div class="notice" role="alert" key={id}>
          <p>
            <strong>{problem.title}.</strong> {problem.detail}
          </p>
          {again && (
            <button
              type="button"
              class="button"
              onClick={() => {
                putAway(id);
                retry();
              }}
            >
              Try again
            </button>
          )}
          <button
            type="button"
            class="quiet-button icon-button"
            aria-label="Dismiss"
            onClick={() => putAway(id)}
          >
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}

/** What a screen reader is told, without anything moving. */
export function LiveRegion() {
  return (
    <div class="visually-hidden" aria-live="polite" role="status">
      {said.value}
    </div>
  );
}
