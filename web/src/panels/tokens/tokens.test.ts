import { expect, describe as group, test } from "vitest";
import { moveCell } from "../../drawing/cursor.ts";
import { biasByDistance } from "./BiasFigure.tsx";
import {
  describe,
  describeMethod,
  describeWave,
  dotProducts,
  entryTable,
  findWord,
  getCharacters,
  magnitude,
  numbersAt,
  PAGES,
  sinusoid,
  wavelengthText,
} from "./positions.ts";

const token = (piece: string, start = 0, end = 0) => ({ id: 7, piece, start, end });

group("tokens in words", () => {
  test("symbols stand for no text, and a tag names the language", () => {
    expect(describe(token("</s>", 3, 3), "abc").says).toContain("End symbol");
    expect(describe(token("<s>"), "abc").says).toContain("Start symbol");
    expect(describe(token("→ fr"), "abc").says).toContain("into French");
    expect(describe(token("→ fr"), "abc").kind).toBe("symbol");
  });

  test("pieces begin a word or go on with one, with and without the mark", () => {
    expect(describe(token("▁chat", 2, 7), "Le chat").kind).toBe("begins");
    expect(describe(token("at", 5, 7), "Le chat").kind).toBe("continues");
    expect(describe(token("chat", 3, 7), "Le chat").kind).toBe("begins");
    expect(describe(token("Le", 0, 2), "Le chat").kind).toBe("begins");
    expect(describe(token("<0xC3>", 0, 1), "é").kind).toBe("byte");
  });

  test("spans count characters, not halves of them", () => {
    expect(getCharacters(token("▁b", 1, 3), "😀 b")).toBe(" b");
    expect(getCharacters(token("</s>", 3, 3), "😀 b")).toBe("");
  });

  test("the word of a token and its size", () => {
    const words: [number, number][] = [
      [0, 1],
      [1, 3],
    ];
    expect(findWord(words, 2)).toEqual({ word: 1, size: 2 });
    expect(findWord(words, 0)).toEqual({ word: 0, size: 1 });
  });
});

/** The encodings of section 3.5, in the layouts that the network knows, spelled out. */
function encoding(kind: string, position: number, dimension: number, size: number): number {
  const half = size / 2;
  const pair = kind === "sinusoidal" ? Math.floor(dimension / 2) : dimension % half;
  const isSine = kind === "sinusoidal" ? dimension % 2 === 0 : dimension < half;
  const steps = kind === "sinusoidal-timescales" ? half - 1 : half;
  const angle = position / 10000 ** (pair / steps);
  return isSine ? Math.sin(angle) : Math.cos(angle);
}

group("positions", () => {
  test.each(["sinusoidal", "sinusoidal-halves", "sinusoidal-timescales"])(
    "%s: a wave of the named length and form has the network's values",
    (kind) => {
      for (let dimension = 0; dimension < 16; dimension++) {
        const wave = sinusoid(kind, dimension, 16);
        if (!wave) throw new Error(kind);
        for (const position of [0, 1, 7, 100]) {
          const angle = (2 * Math.PI * position) / wave.wavelength;
          const drawn = wave.form === "sine" ? Math.sin(angle) : Math.cos(angle);
          expect(drawn).toBeCloseTo(encoding(kind, position, dimension, 16), 9);
        }
      }
    },
  );

  test("other kinds have no wave, and say what they do instead", () => {
    for (const kind of ["learned", "rotary", "relative", "none"]) {
      expect(sinusoid(kind, 3, 16)).toBe(null);
      expect(describeWave(kind, 3, 16)).toBe("");
      expect(describeMethod(kind).says.length).toBeGreaterThan(40);
    }
    expect(describeMethod("learned").added).toBe(true);
    expect(describeMethod("rotary").added).toBe(false);
    expect(describeMethod("something-new").says).toContain("does not know");
  });

  test("wavelengths in print", () => {
    expect(wavelengthText(2 * Math.PI)).toBe("6.28");
    expect(wavelengthText(62.83)).toBe("62.8");
    expect(wavelengthText(54410.4)).toBe("54\u202f410");
  });

  test("dot products of sinusoids depend on the distance alone and are d/2 at 0", () => {
    const size = 32;
    const data = Float32Array.from({ length: 9 * size }, (_, at) =>
      encoding("sinusoidal", Math.floor(at / size), at % size, size),
    );
    const table = dotProducts({ shape: [9, size], data });
    for (let row = 0; row < 9; row++) {
      for (let column = 0; column < 9; column++) {
        const same = table.data[Math.abs(row - column)] ?? Number.NaN;
        expect(table.data[row * 9 + column]).toBeCloseTo(same, 4);
      }
      expect(table.data[row * 9 + row]).toBeCloseTo(size / 2, 4);
    }
  });

  test("the bias by distance is read along the diagonals", () => {
    const mask = { shape: [1, 3, 3], data: new Float32Array([0, 1, 2, -1, 0, 1, -2, -1, 0]) };
    expect(biasByDistance(mask)[0]?.points).toEqual([
      [-2, -2],
      [-1, -1],
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
  });
});

group("what enters a stack", () => {
  const entry = {
    embedding: { shape: [2, 2], data: new Float32Array([1, 2, 3, 4]) },
    positions: { shape: [2, 2], data: new Float32Array([0, 1, -1, 0]) },
    sum: { shape: [2, 2], data: new Float32Array([1, 3, 2, 4]) },
  };

  test("the numbers of a place add up", () => {
    for (const place of [
      { row: 0, column: 1 },
      { row: 1, column: 0 },
    ]) {
      const { embedding, position, sum } = numbersAt(entry, place);
      expect(embedding + position).toBe(sum);
    }
    expect(magnitude(entry.positions)).toBe(1);
  });

  test("the table has a row for every number", () => {
    const { rows } = entryTable(entry, ["a", "b"]);
    expect(rows).toHaveLength(4);
    expect(rows[3]).toEqual([2, "b", 2, 4, 0, 4]);
  });

  test("the cursor stays inside", () => {
    expect(moveCell("ArrowLeft", { row: 0, column: 0 }, 2, 40, PAGES)).toEqual({
      row: 0,
      column: 0,
    });
    expect(moveCell("PageDown", { row: 0, column: 0 }, 2, 40, PAGES)).toEqual({
      row: 0,
      column: 16,
    });
    expect(moveCell("End", { row: 1, column: 3 }, 2, 40, PAGES)).toEqual({ row: 1, column: 39 });
    expect(moveCell("x", { row: 1, column: 3 }, 2, 40, PAGES)).toBe(null);
  });
});
