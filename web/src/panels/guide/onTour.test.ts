import { expect, test } from "vitest";
import { HOME } from "../../state/address.ts";
import { FACTS } from "./madeUp.ts";
import { inView } from "./onTour.ts";
import { stepAddress, TOUR } from "./tour.ts";

test("a step is in view where it leads, and not where another does", () => {
  TOUR.forEach((_, place) => {
    const here = { ...HOME, ...stepAddress(place, FACTS) };
    expect(inView(here, stepAddress(place, FACTS))).toBe(true);
    expect(inView(here, stepAddress((place + 1) % TOUR.length, FACTS))).toBe(false);
    expect(
      inView(
        { ...here, without: [{ side: "cross", layer: 0, head: 0 }] },
        stepAddress(place, FACTS),
      ),
    ).toBe(false);
  });
});
