/** The guide: a table of contents of the tour, and where it starts. */
import { PanelHead, TraceProblem } from "../../frame/PanelFrame.tsx";
import { address } from "../../state/store.ts";
import "./guide.css";
import { startTour } from "./TourCard.tsx";
import { TOUR } from "./tour.ts";

export default function GuidePanel() {
  const { text, tour } = address.value;
  return (
    <section class="panel" aria-labelledby="panel-title">
      <PanelHead
        title="Guide"
        lead={
          <>
            A walk through the network in {TOUR.length} short steps, from words to words. It opens
            the real panels on {text.trim() === "" ? "a sentence" : "your sentence"}, and picks what
            is worth a look from its real numbers. Sections are those of “Attention Is All You Need”
            (Vaswani et al. 2017).
          </>
        }
      />
      <TraceProblem />
      <p>
        <button type="button" class="button guide-start" onClick={() => startTour()}>
          {tour === null ? "Start the tour" : "Start again"}
        </button>
      </p>
      <ol class="guide-contents">
        {TOUR.map((step, place) => (
          <li key={step.title}>
            <button
              type="button"
              aria-current={place === tour ? "step" : undefined}
              onClick={() => startTour(place)}
            >
              <span class="guide-title">{step.title}</span>
              <span class="guide-about">{step.about}</span>
              <span class="guide-section">{step.section}</span>
            </button>
          </li>
        ))}
      </ol>
      <p class="muted">
        In the card of the tour: <kbd>n</kbd> goes to the next step, <kbd>b</kbd> goes back,{" "}
        <kbd>Esc</kbd> leaves. The address has the step in it, so a link leads to the same place.
      </p>
    </section>
  );
}
