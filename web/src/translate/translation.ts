/** The translation of the Translate view: follows the text while it is typed. */
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { Problem, streamTranslation, translate } from "../api/client.ts";
import type {
  Alignment,
  Candidate,
  PartialTranslation,
  StreamDone,
  StreamRequest,
  Translation,
} from "../api/types.ts";
import { follow, type Loaded } from "../state/follow.ts";
import { streamRequest } from "../state/requests.ts";
import { address, models, retries } from "../state/store.ts";
import type { Word } from "./words.ts";

const REST = 300;

/** A finished translation, and what it is of. */
export interface Finished extends StreamDone {
  request: StreamRequest;
}

/** What has come so far of the one under way. */
export const partial = signal<PartialTranslation | null>(null);

/** The word that is pointed at. */
export const pointed = signal<Word | null>(null);

/** The alternative that was picked; null: the best. */
export const picked = signal<Translation | null>(null);

const follower = follow<StreamRequest, Finished>(async (request, abort) => {
  partial.value = null;
  let end: StreamDone | undefined;
  await streamTranslation(
    request,
    {
      partial: (soFar) => {
        if (!abort.aborted) partial.value = soFar;
      },
      done: (done) => {
        end = done;
      },
    },
    abort,
  );
  if (!end) throw new DOMException("given up", "AbortError");
  return { ...end, request };
});

/** The finished translation. */
export const finished: ReadonlySignal<Loaded<Finished>> = follower.current;

/** Letters in the text, as the server counts them. */
export const letters = computed(() => [...address.value.text].length);

/** Most letters that the server takes; null: it does not say. */
export const mostLetters = computed(() => models.value.value?.limits.max_characters ?? null);

const tooLong = computed(() => mostLetters.value !== null && letters.value > mostLetters.value);

const wanted = computed(() =>
  address.value.view === "translate" && !tooLong.value
    ? streamRequest(address.value, models.value.value)
    : null,
);
const wantedKey = computed(() => JSON.stringify(wanted.value));

/** Begin to follow the text. Called once, by main. */
export function startTranslation(): void {
  let text = "";
  effect(() => {
    // Other parts of the address must not take away what was picked or has come so far.
    wantedKey.value;
    const request = wanted.peek();
    const typed = request !== null && text !== "" && request.text !== text;
    text = request?.text ?? "";
    picked.value = null;
    pointed.value = null;
    // The last one is not always the end: it must not come back while the next text is typed.
    partial.value = null;
    follower.ask(request, typed ? REST : 0);
  });
  effect(() => {
    if (retries.value > 0 && finished.peek().state === "failed") follower.again();
  });
}

/**
 * Show an alternative. Words are aligned for the best one only: the picked one is asked for as a
 * beginning that the translation must have, which gives its alignment too.
 */
export async function pick(done: Finished, number: number): Promise<void> {
  const chosen = done.translation.n_best[number];
  pointed.value = null;
  if (!chosen || number === 0) {
    picked.value = null;
    return;
  }
  const mine = asTranslation(done.translation, chosen, null);
  picked.value = mine;
  const { text, ...rest } = done.request;
  // A beginning can be given for one line only.
  if (text.trim().includes("\n")) return;
  const found = await translate({ ...rest, texts: [text], prefixes: [chosen.text] }).then(
    (answer) => answer.translations[0],
    (error: unknown) => {
      // A text that cannot be a beginning stays without marks under its words.
      const refused = error instanceof Problem && error.status === 422;
      if (!refused && picked.peek() === mine) throw error;
    },
  );
  // The search may go on after the beginning: then it is another text, and has no use here.
  if (picked.peek() === mine && found?.text === chosen.text) {
    picked.value = asTranslation(done.translation, chosen, found.alignment);
  }
}

/** An alternative as a translation of its own: how it ended is not how the best one did. */
export function asTranslation(
  best: Translation,
  { ending, ...chosen }: Candidate,
  alignment: Alignment | null,
): Translation {
  const flags = { ...best.flags, truncated: ending === "limit", looped: ending === "loop" };
  return { ...best, ...chosen, flags, alignment, confidence: null };
}

/** What to say of a translation that is more likely to be bad than good. */
export function describeDoubt(confidence: number | null): string | null {
  if (confidence === null || confidence >= 0.5) return null;
  const percent = Math.round(100 * confidence);
  return `Doubtful: the model gives this translation a ${percent} % chance of being acceptable.`;
}
