/** The figure of one head, with its switches. */
import { useMemo } from "preact/hooks";
import { attentionName, part, type Tensor } from "../../api/tensors.ts";
import type { HeadId, HeadRole, Trace } from "../../api/types.ts";
import { palette } from "../../drawing/colours.ts";
import { Figure } from "../../drawing/Figure.tsx";
import { Num, printed } from "../../drawing/Number.tsx";
import { Segmented } from "../../drawing/Segmented.tsx";
import { matrixPicture, type Picture } from "../../drawing/svg.ts";
import { address, go, link, setExtra } from "../../state/store.ts";
import { useTensor } from "../../state/useTensor.ts";
import { measuredStage } from "./Arcs.tsx";
import { buildCurves, FAINTEST } from "./curves.ts";
import { type Drawn, drawn, hiding, rowInView, shape, stretched } from "./inView.ts";
import { Large } from "./Large.tsx";
import { arcsPicture, weightsTable } from "./pictures.ts";
import { largest, shareOn } from "./reading.ts";
import { isMasked, isText, labels, type Sentences } from "./tokens.ts";
import {
  describeKind,
  findStatistics,
  largestShare,
  largeTitle,
  listMarks,
  SUMMARIES,
} from "./words.ts";

interface OneHeadProps {
  trace: Trace;
  sentences: Sentences;
  layers: Tensor[];
  chosen: HeadId;
}

const NONE: ReadonlySet<number> = new Set();

/** One head, or a summary of several, large. */
export function OneHead({ trace, sentences, layers, chosen }: OneHeadProps) {
  const weights = useDrawn(trace, layers, chosen, drawn.value);
  const symbols = useMemo(() => symbolColumns(sentences), [sentences]);
  if (!weights) return <p class="muted">Fetching the weights …</p>;
  const title = largeTitle(drawn.value, chosen);
  const hidden = hiding.value ? symbols : NONE;
  return (
    <Figure
      name={`${chosen.side}-layer-${chosen.layer + 1}-head-${chosen.head + 1}`}
      title={title}
      picture={() => drawPicture(title, sentences, weights, hidden)}
      table={() => weightsTable(weights, labels(sentences.queries), labels(sentences.keys))}
      caption={<Caption sentences={sentences} weights={weights} />}
    >
      <Switches sentences={sentences} weights={weights} symbols={symbols} />
      <div class="attention-box">
        <Large sentences={sentences} weights={weights} title={title} hidden={hidden} />
      </div>
      {drawn.value === "head" ? (
        <Facts trace={trace} head={chosen} />
      ) : (
        <p class="attention-facts">{SUMMARIES[drawn.value]}</p>
      )}
      <Links />
    </Figure>
  );
}

/** Apart, because a link holds the whole address and so changes with every step. */
function Links() {
  return (
    <p class="attention-links">
      <a href={link({ panel: "steps" })}>Compute this head by hand, step by step</a>
      <a href={link({ panel: "lens" })}>Switch heads off and see what changes</a>
    </p>
  );
}

function symbolColumns(sentences: Sentences): ReadonlySet<number> {
  return new Set(sentences.keys.flatMap((token, at) => (isText(token.id) ? [] : [at])));
}

function Shapes() {
  return (
    <Segmented
      label="Draw as"
      choices={[
        { value: "matrix", name: "Matrix" },
        { value: "arcs", name: "Arcs" },
      ]}
      value={shape.value}
      onChoose={(value) => go({ shape: value })}
    />
  );
}

interface SwitchesProps {
  sentences: Sentences;
  weights: Tensor;
  symbols: ReadonlySet<number>;
}

function Switches({ sentences, weights, symbols }: SwitchesProps) {
  const names = labels([...symbols].flatMap((at) => sentences.keys[at] ?? []));
  return (
    <div class="attention-switches">
      <Shapes />
      <Segmented<Drawn>
        label="What is drawn"
        choices={[
          { value: "head", name: "This head" },
          { value: "mean", name: "Mean of the layer" },
          { value: "rollout", name: "Rollout" },
        ]}
        value={drawn.value}
        onChoose={(value) => setExtra({ draw: value === "head" ? null : value })}
      />
      <label>
        <input
          type="checkbox"
          checked={stretched.value}
          onChange={() => setExtra({ colours: stretched.value ? null : "own" })}
        />
        Darkest at the largest weight
      </label>
      {symbols.size > 0 && (
        <label>
          <input
            type="checkbox"
            checked={hiding.value}
            onChange={() => setExtra({ symbols: hiding.value ? null : "hidden" })}
          />
          Hide {[...new Set(names)].join(", ")}
        </label>
      )}
      {hiding.value && symbols.size > 0 && (
        <p class="attention-hiding" role="status">
          Not shown: the {symbols.size === 1 ? "column" : "columns"} of {names.join(", ")}, which{" "}
          {symbols.size === 1 ? "holds" : "hold"} <Num value={shareOn(weights, symbols)} /> of the
          attention. Nothing is scaled up to make up for it: what is left of a row sums to less than
          1.
        </p>
      )}
    </div>
  );
}

function Caption({ sentences, weights }: { sentences: Sentences; weights: Tensor }) {
  const most = stretched.value ? largest(weights) : 1;
  if (shape.value === "arcs") {
    return (
      <>
        {sentences.side === "cross"
          ? "The translation above looks at the source below. "
          : "Lines above the words look back, lines below look ahead. "}
        {sentences.side === "decoder" && "None looks ahead: the future is hidden (section 3.2.3). "}
        The thicker, the more; weights under {FAINTEST} have no line. Of the word in view, solid
        lines go to what it looks at, dashed lines come from who looks at it.
      </>
    );
  }
  return (
    <>
      A row looks, a column is looked at; every row sums to 1. <Legend most={most} />{" "}
      {sentences.side === "decoder" && "Hatched: the future is hidden (section 3.2.3). "}
      {sentences.side !== "encoder" && "Pale rows are not written yet at this step. "}
    </>
  );
}

function Legend({ most }: { most: number }) {
  const ramp = palette().heat.join(",");
  return (
    <span class="attention-legend">
      0
      <span
        class="attention-ramp"
        style={{ backgroundImage: `linear-gradient(to right, ${ramp})` }}
      />
      {most === 1 ? "1" : printed(most, 3)}
    </span>
  );
}

function drawPicture(
  title: string,
  sentences: Sentences,
  weights: Tensor,
  hidden: ReadonlySet<number>,
): Picture {
  const names = { queries: labels(sentences.queries), keys: labels(sentences.keys) };
  const colours = palette();
  const { query, step } = address.peek();
  if (shape.peek() === "arcs") {
    const stage = measuredStage(sentences);
    const curves = buildCurves(weights, sentences, stage, hidden);
    return arcsPicture(title, stage, curves, names, rowInView(query, step, sentences), colours);
  }
  const shown = sentences.keys.map((_, at) => at).filter((at) => !hidden.has(at));
  return matrixPicture({
    title,
    rows: names.queries,
    columns: shown.map((at) => names.keys[at] ?? ""),
    values: (row, at) => weights.data[row * sentences.keys.length + (shown[at] ?? 0)] ?? 0,
    masked: (row, at) => isMasked(sentences.side, row, shown[at] ?? 0),
    range: [0, stretched.peek() ? largest(weights) : 1],
    colours,
  });
}

/* What a head does on this sentence, in words. */

/** Smaller shares than this say nothing about a head. */
const WORTH_SAYING = 0.2;

/** What is said first of heads that no kind of token gives a name to. */
const SPREAD: Partial<Record<HeadRole, string>> = {
  broad: "Broad: it looks at everything almost alike. ",
  mixed: "Mixed: no kind of token gets half of it. ",
};

interface FactsProps {
  trace: Trace;
  head: HeadId;
}

/** The entropy of a head and where most of its attention goes. */
function Facts({ trace, head }: FactsProps) {
  const found = findStatistics(trace, head);
  const most = largestShare(found);
  const marks = listMarks(trace, head);
  return (
    <div class="attention-facts">
      <p>
        {SPREAD[found.role] ?? ""}
        {most && most.share >= WORTH_SAYING && (
          <>
            Most goes to <strong>{describeKind(most.kind, head.side)}</strong>:{" "}
            <Num value={most.share} digits={3} /> of the attention of the rows that have one.{" "}
          </>
        )}
        Rows are as spread out as looking at <Num value={Math.exp(found.entropy)} digits={1} />{" "}
        tokens evenly (entropy{" "}
        <span data-fact="entropy">
          <Num value={found.entropy} digits={3} />
        </span>{" "}
        nats, <Num value={found.evenness} digits={2} /> of even attention's), on average{" "}
        <span data-fact="distance">
          <Num value={found.distance} digits={1} />
        </span>{" "}
        tokens {head.side === "cross" ? "off the straight line between the sentences" : "away"}.
      </p>
      {marks.includes("aligns words") && (
        <p>★ One of the heads that the page's word alignment is read from.</p>
      )}
      {marks.includes("switched off") && (
        <p>
          This head is switched off: its weights are computed, but zeros are passed on in place of
          its output.
        </p>
      )}
    </div>
  );
}

/**
 * Return the weights that are drawn large: a head's, the mean of its layer, or rollout over all
 * layers; undefined until they are here. Neither summary is a number that the network computes:
 * the library does, and the trace has them as tensors.
 */
function useDrawn(
  trace: Trace,
  layers: Tensor[],
  { side, layer, head }: HeadId,
  drawn: Drawn,
): Tensor | undefined {
  const mean = `${attentionName(side, layer)}.mean_weights`;
  const name = { head: null, mean, rollout: `rollout.${side}` }[drawn];
  const summary = useTensor(trace, name);
  const own = layers[layer];
  const one = useMemo(() => own && part(own, head), [own, head]);
  return drawn === "head" ? one : summary;
}
