/** The long sums of the six steps, written out. */
import { Num } from "../../drawing/Number.tsx";
import { printed } from "../../drawing/numbers.ts";
import {
  DECIMALS,
  exponentialInDigits,
  type Numbers,
  productsOf,
  shortSum,
  termsOf,
  WEIGHT_DECIMALS,
} from "./numbers.ts";

/** A factor in brackets where it is negative. */
export function Factor({ value, digits = DECIMALS }: { value: number; digits?: number }) {
  if (value >= 0) return <Num value={value} digits={digits} />;
  return (
    <>
      (<Num value={value} digits={digits} />)
    </>
  );
}

export interface ProductsProps {
  numbers: Numbers;
  chosen: number;
  query: string;
  name: string;
}

/** All products q_i k_i of one key, and their sum. */
export function Products({ numbers, chosen, query, name }: ProductsProps) {
  const products = productsOf(numbers, chosen);
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
              <th scope="row">{at}</th>
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

export interface ExponentialsProps {
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

export interface TermsProps {
  numbers: Numbers;
  dimension: number;
  keys: string[];
  output: number;
}

/** The head's output in one dimension: the largest terms by name, the rest added up. */
export function Terms({ numbers, dimension, keys, output }: TermsProps) {
  const short = shortSum(termsOf(numbers, dimension), 4);
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
