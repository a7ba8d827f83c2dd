/** Subword pieces in a form for people. Pure. */

/** What marks the beginning of a word in a piece. */
export const GAP = "▁";

/** Whether a piece begins a word; some tokenizers mark that by a plain space. */
export function beginsWord(piece: string): boolean {
  return piece.startsWith(GAP) || piece.startsWith(" ");
}

/** Whether a piece is a symbol such as `</s>` or `<2en>`: it stands for no text. */
export function isSymbol(piece: string): boolean {
  return /^<[^<>\s]+>$/.test(piece);
}

/** A piece without its mark; a lone mark stays visible. */
export function plain(piece: string): string {
  const rest = piece.replaceAll(GAP, " ").trimStart();
  return rest === "" ? "␣" : rest;
}

/** A piece in words, for a screen reader. */
export function spoken(piece: string): string {
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
