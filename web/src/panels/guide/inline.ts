/** Sentences with numbers and tokens in them, kept apart from how they are shown. */

/** A part of a sentence: plain text, a number with its full precision, or a token. */
export type Inline =
  | string
  | { kind: "number"; value: number; digits: number }
  | { kind: "token"; piece: string };

/** A number of the trace, shown with so many digits after the point. */
export function number(value: number, digits = 2): Inline {
  return { kind: "number", value, digits };
}

/** A token of the sentence or of its translation. */
export function token(piece: string | undefined): Inline {
  return { kind: "token", piece: piece ?? "" };
}

/** Put a sentence together: say`Head ${2} looks at ${token("▁il")}.` */
export function say(strings: TemplateStringsArray, ...values: (Inline | number)[]): Inline[] {
  return strings.flatMap((text, place) => {
    const value = values[place];
    const inline = typeof value === "number" ? value.toLocaleString("en") : value;
    return [text, inline].filter((part): part is Inline => part !== undefined && part !== "");
  });
}

/** Return a sentence as plain text, for a live region or a test. */
export function plain(sentence: Inline[]): string {
  return sentence
    .map((part) => {
      if (typeof part === "string") {
        return part;
      }
      return part.kind === "number"
        ? part.value.toFixed(part.digits).replace("-", "−")
        : `“${part.piece.replace("▁", "")}”`;
    })
    .join("");
}
