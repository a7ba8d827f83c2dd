import { expect, test } from "vitest";
import { DARK, LIGHT } from "./colours.ts";
import { csv } from "./files.ts";
import { el, escaped, matrixPicture, text } from "./svg.ts";

test("words are harmless, and come back", () => {
  const nasty = "</text><script>\"'&\u0000\u0007\ud800 é 語 🙂";
  const safe = escaped(nasty);
  for (const bad of ["<", ">", '"', "'", "\u0000", "\u0007", "\ud800 "]) {
    expect(safe).not.toContain(bad);
  }
  const back = safe.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
  expect(back).toBe("</text><script>\"'& é 語 🙂");
});

test("elements: no value, no attribute; numbers are short", () => {
  expect(el("a", { x: 1 / 3, y: null, z: undefined, w: false, "b-c": 'q"' })).toBe(
    '<a x="0.33" b-c="q&#34;"/>',
  );
  expect(text(1, 2, "a<b")).toContain(">a&#60;b</text>");
});

/** Every element that is opened is closed, in order. */
function wellFormed(svg: string): boolean {
  const open: string[] = [];
  for (const [, closing, name, empty] of svg.matchAll(/<(\/?)([a-z]+)(?:\s[^<>]*?)?(\/?)>/gi)) {
    if (closing) {
      if (open.pop() !== name) return false;
    } else if (!empty) open.push(name ?? "");
  }
  return open.length === 0;
}

test("a matrix as a picture: labels as text, masked cells hatched, colours inlined", () => {
  const made = matrixPicture({
    rows: ["<s>", "▁The"],
    columns: ["▁Le", "▁chat", "</s>"],
    values: (row, column) => (row + column) / 3,
    masked: (row, column) => column > row + 1,
    title: "Cross & attention",
    colours: DARK,
  });
  expect(wellFormed(made.svg)).toBe(true);
  expect(made.svg).not.toMatch(/class=|style=|var\(/);
  expect(made.svg.match(/url\(#hatch\)/g)).toHaveLength(1);
  expect(made.svg).toContain(">&#60;s&#62;</text>");
  expect(made.svg).toContain("Cross &#38; attention");
  for (const level of [0, 16, 32]) expect(made.svg).toContain(`fill="${DARK.heat[level]}"`);
  expect(made.svg).not.toContain(LIGHT.heat[48]);
});

test("CSV: quotes, line ends, and no formula by accident", () => {
  const table = {
    columns: ["token", "p"],
    rows: [
      ['a,"b"', 0.1 + 0.2],
      ["=1+1", -1],
      ["x\ny", 0],
    ],
  };
  expect(csv(table)).toBe('token,p\r\n"a,""b""",0.30000000000000004\r\n\'=1+1,-1\r\n"x\ny",0\r\n');
});
