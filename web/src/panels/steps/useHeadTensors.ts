import { attentionName } from "../../api/tensors.ts";
import type { HeadId, Trace } from "../../api/types.ts";
import { useTensor } from "../../state/useTensor.ts";
import type { HeadTensors } from "./numbers.ts";

/** Return all tensors of one head; undefined until they are all here. */
export function useHeadTensors(trace: Trace, id: HeadId): HeadTensors | undefined {
  const stem = attentionName(id.side, id.layer);
  // Relative positions bias each head in its own way; a plain mask is one for all heads.
  const biased = trace.tensors[`${stem}.mask`]?.length === 3;
  const q = useTensor(trace, `${stem}.q`, [id.head]);
  const k = useTensor(trace, `${stem}.k`, [id.head]);
  const v = useTensor(trace, `${stem}.v`, [id.head]);
  const raw = useTensor(trace, `${stem}.raw_scores`, [id.head]);
  const scaled = useTensor(trace, `${stem}.scaled_scores`, [id.head]);
  const mask = useTensor(trace, `${stem}.mask`, biased ? [id.head] : []);
  const weights = useTensor(trace, `${stem}.weights`, [id.head]);
  const heads = useTensor(trace, `${stem}.heads`, [id.head]);
  if (!q || !k || !v || !raw || !scaled || !mask || !weights || !heads) return undefined;
  return { q, k, v, raw, scaled, mask, weights, heads };
}
