/** What two rows of words have in common: a longest common subsequence. Pure. */

/** The places, in both rows, of a longest row of words that both have in the same order. */
export function sharedPlaces(
  left: readonly string[],
  right: readonly string[],
): [number, number][] {
  const length = commonLengths(left, right);
  const places: [number, number][] = [];
  let [i, j] = [0, 0];
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) places.push([i++, j++]);
    else if (length(i + 1, j) >= length(i, j + 1)) i++;
    else j++;
  }
  return places;
}

/** How many words the rest of `left` from i and of `right` from j have in common, in order. */
function commonLengths(
  left: readonly string[],
  right: readonly string[],
): (i: number, j: number) => number {
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  const length = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        left[i] === right[j]
          ? 1 + length(i + 1, j + 1)
          : Math.max(length(i + 1, j), length(i, j + 1));
    }
  }
  return length;
}
