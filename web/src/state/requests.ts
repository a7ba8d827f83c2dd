/** What is asked of the server for an address. Pure. */
import type {
  Decision,
  Method,
  Model,
  ModelList,
  SearchSettings,
  StreamRequest,
  TraceRequest,
} from "../api/types.ts";
import { type Address, parsePlace, parseWhole } from "./address.ts";

/** The model that an address means. */
export function findModel(list: ModelList | undefined, address: Address): Model | undefined {
  const models = list?.models ?? [];
  const named = models.find((model) => model.name === address.model);
  return named ?? models.find((model) => model.default) ?? models[0];
}

/** The target language that an address means: its own if the model has it, else the first. */
export function findTarget(
  model: Model | undefined,
  address: Pick<Address, "target">,
): string | undefined {
  if (!model) return address.target || undefined;
  return model.targets.includes(address.target) ? address.target : model.targets[0];
}

/** The target to ask for: none where the language of the text is to decide. */
function askedTarget(model: Model, address: Address): { target?: string } {
  const target = findTarget(model, address);
  const chosen = address.target !== "" && model.targets.includes(address.target);
  return target && (chosen || !detectsLanguage(model)) ? { target } : {};
}

/** Whether the language of a text may decide where it is translated to. */
export function detectsLanguage(model: Model | undefined): boolean {
  return model?.detects === true && model.targets.length > 1;
}

/** What an address asks for that is not served, in words; null: all of it is. */
export function notServed(list: ModelList | undefined, address: Address): string | null {
  const chosen = findModel(list, address);
  if (!chosen) return null;
  if (address.model !== "" && chosen.name !== address.model) {
    return `This server has no model “${address.model}”. Showing “${chosen.name}” instead.`;
  }
  if (address.target !== "" && !chosen.targets.includes(address.target)) {
    const target = findTarget(chosen, address) ?? "";
    return `“${chosen.name}” does not translate into “${address.target}”. Showing “${target}” instead.`;
  }
  return null;
}

/** The source languages that a model translates into this target. */
export function listSources(model: Model | undefined, target: string | undefined): string[] {
  return (model?.directions ?? []).filter(([, into]) => into === target).map(([from]) => from);
}

/** Whether a search follows a beam, and ranks its ends by log P over a length penalty. */
export function hasBeam(method: Method): boolean {
  return method === "beam" || method === "diverse";
}

/** The changes that an address makes to the model's own search; the server refuses unused ones. */
function getSearchChanges(address: Address, model: Model): Partial<SearchSettings> {
  const method = address.method ?? model.search.method;
  return {
    n_best: 1,
    ...(address.method === null ? {} : { method }),
    ...(address.beam === null || !hasBeam(method) ? {} : { beam: address.beam }),
    ...(address.alpha === null || method === "mbr" ? {} : { length_penalty: address.alpha }),
  };
}

/** One sentence out of what may be several pasted lines. */
export function oneSentence(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** The trace that an address asks for; null: there is nothing to translate. */
export function traceRequest(address: Address, list: ModelList | undefined): TraceRequest | null {
  const text = oneSentence(address.text);
  const model = findModel(list, address);
  if (text === "" || !model) return null;
  // Comparing takes a second or two, so that only the panel that shows it asks for it.
  const compared = address.panel === "pair" ? comparedWith(address, model, list) : {};
  return {
    text,
    model: model.name,
    ...askedTarget(model, address),
    search: getSearchChanges(address, model),
    level: "full",
    ...compared,
    ...(address.prefix.length > 0 ? { prefix: address.prefix } : {}),
    ...(address.without.length > 0 ? { without: address.without } : {}),
  };
}

/** The other sentence, or the same one read by another model; nothing where neither is chosen. */
function comparedWith(address: Address, model: Model, list: ModelList | undefined) {
  const reader = likeModels(list, model).find(({ name }) => name === address.extra.reader);
  const against =
    oneSentence(address.extra.against ?? "") || (reader ? oneSentence(address.text) : "");
  if (against === "") return {};
  return {
    against,
    ...(reader ? { against_model: reader.name } : {}),
    ...chosenDecision(address),
  };
}

const SHAPE = ["encoder_layers", "decoder_layers", "d_model", "heads", "d_v"] as const;

/** The other models of a server whose activations can stand for those of this one. */
export function likeModels(list: ModelList | undefined, model: Model): Model[] {
  return (list?.models ?? []).filter(
    (one) =>
      one.name !== model.name &&
      one.vocabulary === model.vocabulary &&
      SHAPE.every((name) => one.config[name] === model.config[name]),
  );
}

/** The decision between two sentences that an address chooses: a step, from 1 there, and two ids. */
export function chosenDecision({ extra }: Address): { decision?: Decision } {
  const step = parsePlace(extra.at, MOST_STEPS, null);
  const tokens = (extra.between ?? "").split(".").map((word) => parseWhole(word, MOST_ID, null));
  const [first, second, ...more] = tokens;
  if (step === null || first == null || second == null || more.length > 0) return {};
  return { decision: { step, tokens: [first, second] } };
}

const MOST_STEPS = 100_000;
const MOST_ID = 2 ** 31 - 1;

/** The same trace with nothing forced and no head off. */
export function baselineRequest(request: TraceRequest | null): TraceRequest | null {
  if (request === null) return null;
  const {
    prefix: _prefix,
    without: _without,
    against: _against,
    against_model: _model,
    decision: _decision,
    ...plain
  } = request;
  return plain;
}

/** Most alternatives that the Translate view shows. */
const ALTERNATIVES = 4;

/** The translation that an address asks for; null: there is nothing to translate. */
export function streamRequest(address: Address, list: ModelList | undefined): StreamRequest | null {
  const model = findModel(list, address);
  if (address.text.trim() === "" || !model) return null;
  const method = address.method ?? model.search.method;
  const beam = address.beam ?? model.search.beam;
  const most = Math.min(ALTERNATIVES, list?.limits.max_n_best ?? ALTERNATIVES);
  return {
    text: address.text,
    model: model.name,
    ...askedTarget(model, address),
    search: {
      ...getSearchChanges(address, model),
      n_best: hasBeam(method) ? Math.min(beam, most) : 1,
    },
    alignment: true,
  };
}
