/** The state of the page: where one is, and what the server has said about it. */
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { listModels, makeTrace } from "../api/client.ts";
import { type Saved, saved } from "../api/saved.ts";
import type { Model, ModelList, Trace, TraceRequest } from "../api/types.ts";
import { type Address, format, parse, withExtra } from "./address.ts";
import * as addressBar from "./addressBar.ts";
import { follow, type Loaded } from "./follow.ts";
import { putAllAway } from "./notices.ts";
import { baselineRequest, findModel, traceRequest } from "./requests.ts";

export type { Address, PanelKey } from "./address.ts";
export type { Loaded } from "./follow.ts";

/** How long typing must rest before a trace is asked for. */
const REST = 350;

const here = signal<Address>(readAddress(globalThis.location?.hash ?? ""));

/** The address that a hash stands for; a saved page opens where it was saved. */
function readAddress(hash: string): Address {
  return saved ? fixed(parse(hash || saved.address), saved) : parse(hash);
}

/** The address with all that a saved page cannot change as it was. Pure. */
export function fixed(address: Address, { trace: { source, without, ...trace } }: Saved): Address {
  const prefix = trace.steps.slice(0, trace.prefix_length).map((step) => step.token.id);
  const view = "explore" as const;
  return { ...address, view, text: source, prefix, without, method: null, beam: null, alpha: null };
}

/** Where one is. Change it with `go`. */
export const address: ReadonlySignal<Address> = here;

/**
 * Go to a changed address. A new entry for Back, unless `replace`: for what changes often, such as
 * a slider. `soon`: the address bar may follow a little later, for what changes many times a second.
 */
export function go(changes: Partial<Address>, { replace = false, soon = false } = {}): void {
  const next = { ...here.peek(), ...changes };
  here.value = saved ? fixed(next, saved) : next;
  const hash = format(here.peek());
  if (soon) addressBar.replaceSoon(hash);
  else if (replace) addressBar.replace(hash);
  else addressBar.push(hash);
}

/** Change a panel's own keys of the address; null removes a key. */
export function setExtra(changes: Record<string, string | null>, { replace = false } = {}): void {
  go({ extra: withExtra(here.peek().extra, changes) }, { replace });
}

/** How long typing must rest until the next letter begins a new entry for Back. */
const PAUSE = 3000;
let typedAt = 0;

/** A new text: what was forced, and where one looked, belonged to the old one. Pure. */
export function newText(text: string): Partial<Address> {
  return { text, prefix: [], step: 0, query: null };
}

/** Write a text. Letters typed in one go are one entry for Back. */
export function write(text: string): void {
  const now = Date.now();
  const replace = now - typedAt < PAUSE;
  typedAt = now;
  go(newText(text), { replace });
}

/** The whole link to what is on the page now, for another person. */
export function sharedLink(): string {
  return location.href.split("#")[0] + format(here.value);
}

/** The link to a changed address, for `href`. */
export function link(changes: Partial<Address>): string {
  return format({ ...here.value, ...changes });
}

/** Token under the pointer or the keyboard's cursor, shared by all panels. */
export const highlight = signal<{ stream: "source" | "target"; index: number } | null>(null);

const modelFollower = follow<"models", ModelList>((_question, abort) => listModels(abort));
const keptTraces = new Map<string, Trace>();
const traceFollower = follow<TraceRequest, Trace>(makeTrace, keptTraces);
const baselineFollower = follow<TraceRequest, Trace>(makeTrace, keptTraces);

/** The models that are served. */
export const models: ReadonlySignal<Loaded<ModelList>> = modelFollower.current;

/** The model that is chosen. */
export const model: ReadonlySignal<Model | undefined> = computed(() =>
  findModel(models.value.value, here.value),
);

/** The trace of the present sentence: follows the address by itself. */
export const trace: ReadonlySignal<Loaded<Trace>> = saved
  ? signal<Loaded<Trace>>({ state: "ready", value: saved.trace })
  : traceFollower.current;

const wanted = computed(() =>
  here.value.view === "explore" && !saved ? traceRequest(here.value, models.value.value) : null,
);
const wantedKey = computed(() => JSON.stringify(wanted.value));

const changed = computed(() => here.value.prefix.length > 0 || here.value.without.length > 0);

/** The trace with nothing forced and no head off, to compare with; a saved page has only one. */
export const baseline: ReadonlySignal<Loaded<Trace>> = computed(() =>
  changed.value && !saved ? baselineFollower.current.value : trace.value,
);

/** Counts how often the reader has asked to try again. */
export const retries = signal(0);

/** Ask the server again, after a fault. */
export function retry(): void {
  retries.value += 1;
  if (models.peek().state === "failed") modelFollower.again();
  if (trace.peek().state === "failed") traceFollower.again();
  if (baselineFollower.current.peek().state === "failed") baselineFollower.again();
}

/** In a frame whose address cannot change, a link of the page is followed without one. */
function followInFrame(event: MouseEvent): void {
  const target = event.target instanceof Element ? event.target.closest("a") : null;
  const hash = target?.getAttribute("href");
  if (!hash?.startsWith("#")) return;
  event.preventDefault();
  here.value = readAddress(hash);
}

/** Begin to follow the address bar and the server. Called once, by main. */
export function start(): void {
  const read = (): void => {
    addressBar.forget();
    const found = readAddress(location.hash);
    if (format(found) !== format(here.peek())) here.value = found;
  };
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  if (addressBar.framed) addEventListener("click", followInFrame);
  // A link that is followed makes a new entry: the present one must be whole by then.
  addEventListener("click", addressBar.flush, true);
  addEventListener("pagehide", addressBar.flush);
  modelFollower.ask("models", 0);
  // A problem that was told of belonged to what was on the page then.
  const subject = computed(() => `${here.value.view} ${here.value.text}`);
  subject.subscribe(putAllAway);
  let text = "";
  effect(() => {
    wantedKey.value;
    const request = wanted.peek();
    // Typing rests before it is sent; a click on a head or a token is sent at once.
    const typed = request !== null && request.text !== text && text !== "";
    text = request?.text ?? "";
    traceFollower.ask(request, typed ? REST : 0);
    baselineFollower.ask(
      changed.value && !saved ? baselineRequest(request) : null,
      typed ? REST : 0,
    );
  });
}
