/** Which of the six steps is shown, and a button that plays them one after the other. */
import { useEffect, useState } from "preact/hooks";
import { Segmented } from "../../drawing/Segmented.tsx";
import { setExtra } from "../attention/inView.ts";
import { nextStage, STAGES, type Stage } from "./stages.ts";

/** Time to read a step, in milliseconds. */
const PACE = 3000;

function show(stage: Stage | null): void {
  setExtra({ stage: stage === null ? null : String(stage) }, true);
}

/** Six buttons, one for all, and Play. */
export function Player({ stage }: { stage: Stage | null }) {
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => {
      const next = nextStage(stage);
      if (next === null) setPlaying(false);
      else show(next);
    }, PACE);
    return () => clearTimeout(timer);
  }, [playing, stage]);
  const toggle = (): void => {
    if (!playing) show(stage === null || stage === 6 ? 1 : stage);
    setPlaying(!playing);
  };
  return (
    <div class="steps-player">
      <button type="button" class="button" onClick={toggle}>
        {playing ? "❚❚ Pause" : "▶ Play the six steps"}
      </button>
      <Segmented
        label="Which step"
        choices={[
          { value: "all", name: "All" },
          ...STAGES.map(({ stage: at, short }) => ({ value: String(at), name: `${at} ${short}` })),
        ]}
        value={stage === null ? "all" : String(stage)}
        onChoose={(word) => {
          setPlaying(false);
          setExtra({ stage: word === "all" ? null : word }, true);
        }}
      />
    </div>
  );
}
