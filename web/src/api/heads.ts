/** The three attentions: the encoder's own, the decoder's own, the decoder's to the source. */
export type Side = "encoder" | "decoder" | "cross";

/** One head of one attention; layers and heads count from 0. */
export interface HeadId {
  side: Side;
  layer: number;
  head: number;
}
