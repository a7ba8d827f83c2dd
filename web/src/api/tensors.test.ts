import { expect, test } from "vitest";
import { attentionName, part, readFloats, type Tensor, value } from "./tensors.ts";

const SHAPE = [2, 3, 4];
const cube: Tensor = { shape: SHAPE, data: Float32Array.from({ length: 24 }, (_, i) => i) };

test("a value, and the same value by way of parts", () => {
  for (let i = 0; i < 2; i++) {
    for (let j = 0; j < 3; j++) {
      for (let k = 0; k < 4; k++) {
        expect(value(cube, i, j, k)).toBe(i * 12 + j * 4 + k);
        expect(value(part(cube, i), j, k)).toBe(value(cube, i, j, k));
        expect(part(part(cube, i), j).data[k]).toBe(value(cube, i, j, k));
      }
    }
  }
});

test("a part is a view and has the shape of what is left", () => {
  expect(part(cube, 1).shape).toEqual([3, 4]);
  expect(part(cube, 1).data.buffer).toBe(cube.data.buffer);
  expect(part(cube).data).toEqual(cube.data);
});

test("what lies outside is refused with its place", () => {
  expect(() => value(cube, 0, 3, 0)).toThrow("index 3 of axis 1 is outside [2,3,4]");
  expect(() => value(cube, 0, 1)).toThrow("no number at [0,1] in a tensor of the shape [2,3,4]");
  expect(() => part(cube, -1)).toThrow("index -1 of axis 0");
});

test("bytes are read as little-endian numbers, −∞ too", () => {
  const view = new DataView(new ArrayBuffer(12));
  [1.5, Number.NEGATIVE_INFINITY, -0.1].forEach((number, at) => {
    view.setFloat32(4 * at, number, true);
  });
  expect([...readFloats(view.buffer)]).toEqual([1.5, Number.NEGATIVE_INFINITY, Math.fround(-0.1)]);
});

test("names of attentions", () => {
  expect(attentionName("encoder", 0)).toBe("encoder.0.self_attention");
  expect(attentionName("decoder", 2)).toBe("decoder.2.self_attention");
  expect(attentionName("cross", 1)).toBe("decoder.1.cross_attention");
});
