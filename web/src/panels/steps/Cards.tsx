/** The six steps worked out for one key, so that they can be checked with a pocket calculator. */
import type { ComponentChildren } from "preact";
import { Num, printed } from "../../drawing/Number.tsx";
import {
  type Check,
  checks,
  computeProducts,
  computeScores,
  computeTerms,
  DECIMALS,
  exponentialInDigits,
  exponentials,
  type Numbers,
  shortSum,
  WEIGHT_DECIMALS,
} from "./numbers.ts";
import { STAGES, type Stage } from "./stages.ts";

interface CardsProps {
  numbers: Numbers;
  query: string;
  keys: string[];
  chosen: number;
  dimension: number;
  stage: Stage | null;
  /** Why a key is hidden, for the mask's card. */
  hidden: string;
  onDimension: (dimension: number) => void;
}

/** All six, or the one that is shown. */
export function Cards(props: CardsProps) {
  const { numbers, chosen, dimension } = props;
  const found = checks(numbers, chosen, dimension);
  const inside: Record<Stage, ComponentChildren> = {
    1: <ProductCard {...props} check={found.product} />,
    2: <ScaleCard {...props} check={found.scaled} />,
    3: <MaskCard {...props} check={found.score} />,
    4: <SoftmaxCard {...props} check={found.weight} />,
    5: <ValueCard {...props} />,
    6: <SumCard {...props} check={found.output} />,
  };
  return (
    <ol class="steps-cards" data-alone={props.stage !== null}>
      {STAGES.filter(({ stage }) => props.stage === null || stage === props.stage).map((words) => (
        <li key={words.stage} data-card={words.stage}>
          <h4>
            <span class="steps-badge">{words.stage}</span> {words.short}{" "}
            <span class="steps-card-title">{words.title}</span>
          </h4>
          <p>{words.text}</p>
          {inside[words.stage]}
        </li>
      ))}
    </ol>
  );
}

/** A line of arithmetic. */
function Line({ children }: { children: ComponentChildren }) {
  return <p class="steps-line">{children}</p>;
}

/** What the printed digits give, where that is not what the network has. */
function ByHand({ check, digits }: { check: Check; digits: number }) {
  const same = printed(check.byHand, digits) === printed(check.network, digits);
  return (
    <p class="steps-by-hand">
      {same ? (
        "The printed digits give just this."
      ) : (
        <>
          The printed digits give <Num value={check.byHand} digits={digits} />; the rest is
          rounding.
        </>
      )}
    </p>
  );
}

type CardProps = CardsProps & { check: Check };

function ProductCard({ numbers, keys, query, chosen, check }: CardProps) {
  const short = shortSum(computeProducts(numbers, chosen), 3);
  return (
    <>
      <Line>
        q · k ={" "}
        {short.terms.map(({ at }) => (
          <span key={at}>
            <Factor value={numbers.q[at] ?? 0} /> × <Factor value={numbers.k[chosen]?.[at] ?? 0} />{" "}
            +{" "}
          </span>
        ))}
        … = <Num value={check.network} digits={DECIMALS} />
      </Line>
      <p class="steps-by-hand">
        The {short.terms.length} largest of {numbers.q.length} products; the other{" "}
        {short.rest.count} add up to <Num value={short.rest.value} digits={DECIMALS} />.
      </p>
      <details>
        <summary>All {numbers.q.length} products</summary>
        <Products numbers={numbers} chosen={chosen} query={query} name={keys[chosen] ?? ""} />
      </details>
      <ByHand check={check} digits={DECIMALS} />
    </>
  );
}

function ScaleCard({ numbers, chosen, check }: CardProps) {
  const size = numbers.q.length;
  return (
    <>
      <Line>
        <Num value={numbers.raw[chosen] ?? 0} /> ÷ √{size} ={" "}
        <Num value={numbers.raw[chosen] ?? 0} /> ÷ <Num value={Math.sqrt(size)} /> ={" "}
        <Num value={check.network} />
      </Line>
      <ByHand check={check} digits={DECIMALS} />
    </>
  );
}

function MaskCard({ numbers, chosen, check, hidden }: CardProps) {
  const mask = numbers.mask[chosen] ?? 0;
  const count = numbers.mask.filter((value) => value === Number.NEGATIVE_INFINITY).length;
  return (
    <>
      <Line>
        <Num value={numbers.scaled[chosen] ?? 0} /> +{" "}
        <span class={mask === -Infinity ? "steps-hatched" : ""}>
          <Num value={mask} digits={mask === 0 ? 0 : DECIMALS} />
        </span>{" "}
        = <Num value={check.network} />
      </Line>
      <p class="steps-by-hand">
        {count === 0
          ? "Nothing is hidden from this word."
          : `${count} of ${numbers.mask.length} words are hidden: ${hidden}.`}
        {mask !== 0 && Number.isFinite(mask) && " This model adds a bias by distance here."}
      </p>
    </>
  );
}

function SoftmaxCard({ numbers, keys, chosen, check }: CardProps) {
  const scores = computeScores(numbers);
  const { each, sum, shift } = exponentials(scores);
  return (
    <>
      {shift !== 0 && (
        <p class="steps-by-hand">
          The largest score, <Num value={shift} />, is taken off all of them first, or the numbers
          would be unwieldy. The shares stay the same, and computers do it too.
        </p>
      )}
      <Exponentials
        score={(scores[chosen] ?? 0) - shift}
        each={each}
        sum={sum}
        chosen={chosen}
        names={keys}
        weight={check.network}
      />
      <ByHand check={check} digits={WEIGHT_DECIMALS} />
    </>
  );
}

function Dimension({ numbers, dimension, onDimension }: CardsProps) {
  return (
    <label class="steps-dimension">
      In dimension{" "}
      <input
        type="number"
        min={1}
        max={numbers.output.length}
        value={dimension + 1}
        onInput={(event) => {
          const wanted = event.currentTarget.valueAsNumber;
          if (wanted >= 1 && wanted <= numbers.output.length) onDimension(Math.floor(wanted) - 1);
        }}
      />{" "}
      of {numbers.output.length}:
    </label>
  );
}

function ValueCard(props: CardsProps) {
  const { numbers, chosen, dimension, keys } = props;
  const weight = numbers.weights[chosen] ?? 0;
  const value = numbers.v[chosen]?.[dimension] ?? 0;
  return (
    <>
      <Dimension {...props} />
      <Line>
        <Num value={weight} digits={WEIGHT_DECIMALS} /> × <Factor value={value} /> ={" "}
        <Num value={weight * value} />
      </Line>
      <p class="steps-by-hand">
        The weight of “{keys[chosen]}” times its value there; the same weight for all{" "}
        {numbers.output.length} dimensions.
      </p>
    </>
  );
}

function SumCard(props: CardProps) {
  const { numbers, dimension, keys, check } = props;
  return (
    <>
      <Dimension {...props} />
      <Terms numbers={numbers} dimension={dimension} keys={keys} output={check.network} />
      <ByHand check={check} digits={DECIMALS} />
    </>
  );
}

/* The long sums of the six steps, written out. */

/** A factor in brackets where it is negative. */
function Factor({ value, digits = DECIMALS }: { value: number; digits?: number }) {
  if (value >= 0) return <Num value={value} digits={digits} />;
  return (
    <>
      (<Num value={value} digits={digits} />)
    </>
  );
}

interface ProductsProps {
  numbers: Numbers;
  chosen: number;
  query: string;
  name: string;
}

/** All products q_i k_i of one key, and their sum. */
export function Products({ numbers, chosen, query, name }: ProductsProps) {
  const products = computeProducts(numbers, chosen);
  return (
    <div class="steps-products">
      <table>
        <thead>
          <tr>
            <th scope="col">i</th>
            <th scope="col">qᵢ of {query}</th>
            <th scope="col">kᵢ of {name}</th>
            <th scope="col">qᵢ kᵢ</th>
          </tr>
        </thead>
        <tbody>
          {products.map((product, at) => (
            <tr key={at}>
              <th scope="row">{at + 1}</th>
              <td>
                <Num value={numbers.q[at] ?? 0} digits={DECIMALS} />
              </td>
              <td>
                <Num value={numbers.k[chosen]?.[at] ?? 0} digits={DECIMALS} />
              </td>
              <td>
                <Num value={product} digits={DECIMALS} />
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Σ</th>
            <td colSpan={2} />
            <td>
              <Num value={numbers.raw[chosen] ?? 0} digits={DECIMALS} />
            </td>
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

interface ExponentialsProps {
  score: number;
  each: number[];
  sum: number;
  chosen: number;
  names: string[];
  weight: number;
}

/** e to the score, the sum over all keys, and their quotient. */
export function Exponentials({ score, each, sum, chosen, names, weight }: ExponentialsProps) {
  const short = shortSum(each, 4);
  const own = each[chosen] ?? 0;
  return (
    <>
      <p class="steps-line">
        e<sup>{printed(score, DECIMALS)}</sup> = <Exponential value={own} />
      </p>
      <p class="steps-line">
        Σ ={" "}
        {short.terms.map(({ at, value }, place) => (
          <span key={at} title={names[at]}>
            {place > 0 && " + "}
            <Exponential value={value} />
          </span>
        ))}
        {short.rest.count > 0 && (
          <span title={`${short.rest.count} more`}>
            {" + "}
            <Exponential value={short.rest.value} />
            <small> ({short.rest.count} more)</small>
          </span>
        )}{" "}
        = <Exponential value={sum} />
      </p>
      <p class="steps-line">
        <Exponential value={own} /> ÷ <Exponential value={sum} /> ={" "}
        <Num value={weight} digits={WEIGHT_DECIMALS} />
      </p>
    </>
  );
}

function Exponential({ value }: { value: number }) {
  return (
    <span class="num" data-value={String(value)}>
      {exponentialInDigits(value)}
    </span>
  );
}

interface TermsProps {
  numbers: Numbers;
  dimension: number;
  keys: string[];
  output: number;
}

/** The head's output in one dimension: the largest terms by name, the rest added up. */
function Terms({ numbers, dimension, keys, output }: TermsProps) {
  const short = shortSum(computeTerms(numbers, dimension), 4);
  return (
    <p class="steps-line">
      {short.terms.map(({ at }, place) => (
        <span key={at} title={keys[at]}>
          {place > 0 && " + "}
          <Num value={numbers.weights[at] ?? 0} digits={WEIGHT_DECIMALS} /> ×{" "}
          <Factor value={numbers.v[at]?.[dimension] ?? 0} />
        </span>
      ))}
      {short.rest.count > 0 && (
        <span>
          {" + "}
          <Factor value={short.rest.value} />
          <small> ({short.rest.count} more)</small>
        </span>
      )}{" "}
      = <Num value={output} digits={DECIMALS} />
    </p>
  );
}
