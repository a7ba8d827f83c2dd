/** The same dev sentences at each validation: how the translation came to be. */

import { compareTexts } from "../../drawing/differences.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { counted, Marked } from "../../drawing/Number.tsx";
import { parseWhole } from "../../state/address.ts";
import { address, setExtra } from "../../state/store.ts";
import { type Course, type SampleCourse, samplesOverTime } from "./course.ts";

export function Samples({ course }: { course: Course }) {
  const samples = samplesOverTime(course);
  const place = parseWhole(address.value.extra.sample, samples.length - 1, 0);
  const sample = samples[place];
  if (!sample) {
    return <p class="muted">Sample translations come with the first validation.</p>;
  }
  return (
    <Figure
      name="training-samples"
      title="The same sentence, learned"
      controls={<SampleChoice count={samples.length} place={place} />}
      caption="Marked: words that the reference does not have there. A good translation may well have some."
      table={() => ({
        columns: ["step", "source", "reference", "translation"],
        rows: samples.flatMap(({ source, reference, versions }) =>
          versions.map(({ step, translation }) => [step, source, reference, translation]),
        ),
      })}
    >
      <Versions sample={sample} />
    </Figure>
  );
}

function SampleChoice({ count, place }: { count: number; place: number }) {
  return (
    <fieldset class="segmented training-sentences" aria-label="Sentence">
      {Array.from({ length: count }, (_, number) => (
        <button
          key={number}
          type="button"
          aria-pressed={number === place}
          onClick={() => setExtra({ sample: String(number) }, { replace: true })}
        >
          {number + 1}
          <span class="visually-hidden"> of the sample sentences</span>
        </button>
      ))}
    </fieldset>
  );
}

function Versions({ sample }: { sample: SampleCourse }) {
  return (
    <div class="training-samples">
      <dl>
        <div>
          <dt>source</dt>
          <dd>{sample.source}</dd>
        </div>
        <div>
          <dt>reference</dt>
          <dd>{sample.reference}</dd>
        </div>
      </dl>
      <ol aria-label="Translations over the steps">
        {sample.versions.map(({ step, translation }) => (
          <li key={step}>
            <span class="training-step">step {counted(step)}</span>
            <Marked parts={compareTexts(sample.reference, translation).after} mark="ins" />
          </li>
        ))}
      </ol>
    </div>
  );
}
