/**
 * Which words two texts share: a longest common subsequence over words and signs.
 *
 * Words are found by the browser's own segmenter, so that languages without spaces work too.
 */

/** A run of text, and whether the other text has it at that place too. */
export interface Part {
  text: string;
  same: boolean;
}

/** Two texts, each cut into what they share and what they do not. */
interface Difference {
  before: Part[];
  after: Part[];
}

/** A word or sign with the space that stands before it. */
interface Unit {
  word: string;
  gap: string;
}

/** Compare two texts word by word; joined, the parts of each give it back unchanged. */
export function compareTexts(before: string, after: string): Difference {
  const left = units(before);
  const right = units(after);
  const shared = sharedPlaces(left.map(wordOf), right.map(wordOf));
  return {
    before: parts(left, new Set(shared.map(([place]) => place))),
    after: parts(right, new Set(shared.map(([, place]) => place))),
  };
}

const wordOf = ({ word }: Unit): string => word;

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

function units(text: string): Unit[] {
  const found: Unit[] = [];
  let gap = "";
  for (const { segment } of segmenter.segment(text)) {
    if (segment.trim() === "") {
      gap += segment;
    } else {
      found.push({ word: segment, gap });
      gap = "";
    }
  }
  if (gap !== "") {
    found.push({ word: "", gap });
  }
  return found;
}

/** Join neighbours of one kind; the gap before a part stays outside of a marked one. */
function parts(all: Unit[], shared: Set<number>): Part[] {
  const found: Part[] = [];
  all.forEach((unit, place) => {
    const same = shared.has(place);
    const last = found.at(-1);
    if (last?.same === same) {
      last.text += unit.gap + unit.word;
    } else {
      if (unit.gap !== "" && last && !same) {
        last.text += unit.gap;
      } else if (unit.gap !== "" && !same) {
        found.push({ text: unit.gap, same: true });
      }
      found.push({ text: same ? unit.gap + unit.word : unit.word, same });
    }
  });
  return found;
}

/* What two rows of words have in common: a longest common subsequence. Pure. */

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
