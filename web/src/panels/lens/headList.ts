/** The heads of a network, and lists of those that are switched off; every function is pure. */

import type { HeadId, ModelConfig, Side } from "../../api/types.ts";
import { clampIndex } from "../../state/address.ts";

/** The three attentions in the order of the paper's section 3.2.3, with their names for people. */
export const SIDES: { side: Side; title: string; short: string }[] = [
  { side: "encoder", title: "Encoder self-attention", short: "encoder" },
  { side: "decoder", title: "Decoder masked self-attention", short: "decoder" },
  { side: "cross", title: "Cross-attention, decoder to source", short: "cross" },
];

/** Count the layers that have this attention. */
export function countLayers(
  config: Pick<ModelConfig, "encoder_layers" | "decoder_layers">,
  side: Side,
): number {
  return side === "encoder" ? config.encoder_layers : config.decoder_layers;
}

/** Return the nearest head that a network has: a link may name one of another model. */
export function clampHead(
  { side, layer, head }: HeadId,
  config: Pick<ModelConfig, "encoder_layers" | "decoder_layers" | "heads">,
): HeadId {
  return {
    side,
    layer: clampIndex(layer, countLayers(config, side)),
    head: clampIndex(head, config.heads),
  };
}

/** Return all heads of one layer. */
export function headsOfLayer(config: ModelConfig, side: Side, layer: number): HeadId[] {
  return Array.from({ length: config.heads }, (_, head) => ({ side, layer, head }));
}

/** Return all heads of a network: encoder, decoder, cross, each from its first layer on. */
export function allHeads(config: ModelConfig): HeadId[] {
  return SIDES.flatMap(({ side }) =>
    Array.from({ length: countLayers(config, side) }, (_, layer) =>
      headsOfLayer(config, side, layer),
    ).flat(),
  );
}

/** Return the name of a head: "cross 2.1", layer and head counted from 1. */
export function headName(head: HeadId): string {
  return `${head.side} ${head.layer + 1}.${head.head + 1}`;
}

/** Return whether two names mean one head. */
export function sameHead(one: HeadId, other: HeadId): boolean {
  return headName(one) === headName(other);
}

/** Return whether a list has a head. */
export function includes(list: HeadId[], head: HeadId): boolean {
  return list.some((one) => sameHead(one, head));
}

/** Return the list with these heads switched off, or on, in the network's own order. */
export function switched(
  off: HeadId[],
  heads: HeadId[],
  on: boolean,
  config: ModelConfig,
): HeadId[] {
  return allHeads(config).filter((head) => (includes(heads, head) ? !on : includes(off, head)));
}

/** Return the list with one head turned the other way. */
export function toggled(off: HeadId[], head: HeadId, config: ModelConfig): HeadId[] {
  return switched(off, [head], includes(off, head), config);
}

/** Return the list with a layer switched off; back on, where all of it is off already. */
export function layerToggled(
  off: HeadId[],
  side: Side,
  layer: number,
  config: ModelConfig,
): HeadId[] {
  const heads = headsOfLayer(config, side, layer);
  return switched(
    off,
    heads,
    heads.every((head) => includes(off, head)),
    config,
  );
}
