/** Languages by name. */

const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

/** The English name of a language code; the code itself where there is none. */
export function languageName(code: string): string {
  try {
    return names.of(code) ?? code;
  } catch (error) {
    if (error instanceof RangeError) return code;
    throw error;
  }
}

/** The code for `lang`, where it is that of a known language: models may call theirs anything. */
export function langOf(code: string | undefined): string | undefined {
  return code && languageName(code) !== code ? code : undefined;
}

/** A direction in words: "French → English". */
export function directionName(sources: readonly string[], target: string): string {
  const from = sources.map(languageName).join(", ");
  return from ? `${from} → ${languageName(target)}` : `→ ${languageName(target)}`;
}
