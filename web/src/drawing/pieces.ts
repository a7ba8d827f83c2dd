/** Subword pieces in a form for people. Pure. */
import { languageName } from "./languages.ts";

/** What marks the beginning of a word in a piece. */
export const GAP = "▁";

/** Whether a piece begins a word; some tokenizers mark that by a plain space. */
export function beginsWord(piece: string): boolean {
  return piece.startsWith(GAP) || piece.startsWith(" ");
}

/** A tag: "→ en" asks the network to translate into English. */
const TAG = /^→ (\S+)$/;

/** Whether a piece is a symbol such as `</s>` or `→ en`: it stands for no text. */
export function isSymbol(piece: string): boolean {
  return /^<[^<>\s]+>$/.test(piece) || TAG.test(piece);
}

/** The code of the language that a tag asks for; null: it is no tag. */
export function tagLanguage(piece: string): string | null {
  return TAG.exec(piece)?.[1] ?? null;
}

/** A piece without its mark; a lone mark stays visible, and a tag names its language. */
export function plain(piece: string): string {
  const language = tagLanguage(piece);
  if (language !== null) return `→ ${languageName(language)}`;
  const rest = piece.replaceAll(GAP, " ").trimStart();
  return rest === "" ? "␣" : rest;
}

/** A piece in words, for a screen reader. */
export function spoken(piece: string): string {
  const language = tagLanguage(piece);
  if (language !== null) return `symbol into ${languageName(language)}`;
  if (isSymbol(piece)) return `symbol ${SYMBOLS[piece] ?? piece.slice(1, -1)}`;
  return beginsWord(piece) ? plain(piece) : `${plain(piece)}, joined to what is before`;
}

const SYMBOLS: Record<string, string> = {
  "<s>": "start",
  "</s>": "end",
  "<unk>": "unknown",
  "<pad>": "padding",
};

/** Pieces as the text they stand for: "▁d", "ort", "▁ici" is "dort ici". */
export function written(pieces: readonly string[]): string {
  const joined = joins(pieces);
  return pieces.map((piece, at) => (at > 0 && !joined[at] ? " " : "") + plain(piece)).join("");
}

/** Which pieces are joined to the one before: [false, true, …]. */
export function joins(pieces: readonly string[]): boolean[] {
  return pieces.map((piece, at) => {
    const before = pieces[at - 1];
    return before !== undefined && !isSymbol(piece) && !isSymbol(before) && !beginsWord(piece);
  });
}
