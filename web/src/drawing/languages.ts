/** Languages by name. Pure. */

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
