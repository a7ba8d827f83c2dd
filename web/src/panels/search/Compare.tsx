/** Greedy and beam side by side: what they wrote, where they part, who was more probable. */

import type { Trace } from "../../api/types.ts";
import { Num } from "../../drawing/Number.tsx";
import { joins, plain } from "../../drawing/pieces.ts";
import { jump } from "../../state/player.ts";
import { hasBeam } from "../../state/requests.ts";
import { partingAt } from "./outcome.ts";
import { comparison, getResult, parting } from "./words.ts";

interface Props {
  greedy: Trace;
  beam: Trace;
  beamName: string;
}

/** The two translations, token under token, and the comparison in words. */
export function Compare({ greedy, beam, beamName }: Props) {
  const at = partingAt(getResult(greedy).tokens, getResult(beam).tokens);
  const where = parting(greedy, beam);
  const scored = hasBeam(beam.search.method);
  return (
    <section class="search-compare" aria-label={`Greedy against ${scored ? "beam" : "samples"}`}>
      <Line name="Greedy" trace={greedy} parted={at} scored={scored} />
      <Line name={beamName} trace={beam} parted={at} scored={scored} />
      <p class="search-verdict">{comparison(greedy, beam)}</p>
      {where !== null && at !== null && (
        <p class="muted">
          {where}{" "}
          <button type="button" class="quiet-button" onClick={() => jump(at)}>
            Go to step {at + 1}
          </button>
        </p>
      )}
    </section>
  );
}

interface LineProps {
  name: string;
  trace: Trace;
  parted: number | null;
  /** Whether the scores of both can be compared. */
  scored: boolean;
}

function Line({ name, trace, parted, scored }: LineProps) {
  const pieces = trace.steps.map(({ token }) => token.piece);
  const joined = joins(pieces);
  return (
    <div class="search-version" data-search={name}>
      <span class="search-version-name">{name}</span>
      <span class="search-version-text">
        {pieces.map((piece, index) => (
          <span key={index}>
            {index > 0 && !joined[index] && " "}
            <span
              data-apart={(parted !== null && index >= parted) || undefined}
              data-fork={index === parted || undefined}
            >
              {plain(piece)}
            </span>
          </span>
        ))}
      </span>
      <span class="search-version-numbers">
        log P <Num value={trace.log_prob} digits={3} />, {trace.steps.length} tokens
        {scored && (
          <>
            , score <Num value={trace.score} digits={3} />
          </>
        )}
      </span>
    </div>
  );
}
