/** One box of the map: a button with a name, what flows through it, and its real numbers. */

import type { ComponentChildren } from "preact";
import { go } from "../../state/store.ts";
import { about } from "./boxes.ts";
import { type Box, placeStyle } from "./layout.ts";
import { OutputContent } from "./OutputContent.tsx";
import { Strip, useAttentionStrip, useInnerStrip } from "./Strip.tsx";
import { type Scene, stateNow, useNow } from "./scene.ts";
import { TokensContent } from "./TokensContent.tsx";

interface BoxProps {
  box: Box;
  scene: Scene;
  /** Called with the box when one points at it or goes to it by Tab, with null when one leaves. */
  onPoint: (box: Box | null) => void;
  onFocus: (box: Box | null) => void;
}

const STATES = { computed: "computed now", kept: "kept from step 1", waiting: "not yet" };

/** A box; selecting it goes to its panel, a closed layer opens here. */
export function BoxView({ box, scene, onPoint, onFocus }: BoxProps) {
  const told = about(box, scene.sizes);
  const { stack, reached } = box;
  const state = useNow(scene, (now) => stateNow(now, stack, reached));
  const then = box.kind === "layer" ? "open it" : `go to ${told.to}`;
  return (
    <button
      type="button"
      class={`map-box map-${box.kind}`}
      data-box={box.id}
      data-state={state}
      style={placeStyle(box)}
      aria-label={`${told.title}, ${told.place}, ${told.shape}, ${STATES[state]}: ${then}`}
      onPointerEnter={() => onPoint(box)}
      onPointerLeave={() => onPoint(null)}
      onFocus={() => onFocus(box)}
      onBlur={() => onFocus(null)}
      onClick={() => go(told.leads)}
    >
      <Content box={box} scene={scene} title={told.title} shape={told.shape} />
    </button>
  );
}

interface ContentProps {
  box: Box;
  scene: Scene;
  title: string;
  shape: string;
}

function Content(props: ContentProps) {
  const { kind } = props.box;
  if (kind === "tokens") return <TokensContent {...props} />;
  if (kind === "output") return <OutputContent {...props} />;
  if (kind === "layer") return <ClosedContent {...props} />;
  if (kind === "attention" || kind === "cross") return <AttentionContent {...props} />;
  if (kind === "feed") return <FeedContent {...props} />;
  return <Line {...props} />;
}

function Line({ title, shape, children }: ContentProps & { children?: ComponentChildren }) {
  return (
    <>
      <span class="map-line">
        <span class="map-title">{title}</span>
        <span class="map-shape">{shape}</span>
      </span>
      {children}
    </>
  );
}

function AttentionContent(props: ContentProps) {
  const { box, scene } = props;
  const data = useAttentionStrip(scene.trace, `${box.id}.weights`, scene.step);
  return <Line {...props}>{data && <Strip data={data} width={box.width - 22} height={11} />}</Line>;
}

function FeedContent(props: ContentProps) {
  const { box, scene } = props;
  const data = useInnerStrip(scene.trace, `${box.id}.inner`, scene.step);
  return <Line {...props}>{data && <Strip data={data} width={box.width - 22} height={11} />}</Line>;
}

/** A closed layer shows its attentions as strips, in the order of the data. */
function ClosedContent({ box, scene, title, shape }: ContentProps) {
  const stem = `${box.stack}.${box.layer}`;
  const own = useAttentionStrip(scene.trace, `${stem}.self_attention.weights`, scene.step);
  const cross = useAttentionStrip(scene.trace, `${stem}.cross_attention.weights`, scene.step);
  const strips = [own, cross].filter((data) => data !== null);
  const inOrder = scene.plan.wide ? strips.reverse() : strips;
  return (
    <>
      <span class="map-layer-name">
        <span class="map-title">{title}</span>
        <span class="map-shape">{shape}</span>
      </span>
      <span class="map-strips">
        {inOrder.map((data, order) => (
          <Strip key={order} data={data} width={box.width - 92} height={11} />
        ))}
      </span>
    </>
  );
}
