"""Two lenses: what the network would predict if it stopped early.

* The logit lens reads every decoder layer as if it were the last: its output goes through the final
  norm and the output projection (nostalgebraist 2020).
* The decoder lens lets the whole decoder read an earlier encoder layer in place of the last
  (Langedijk et al. 2023, "DecoderLens").

Neither shows what a layer means: it was never trained to be read in this way.

Shapes: N layers, S source, T target, D d_model, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from translucid.events import Emit, Progress, silent
from translucid.interpret.network import (
    gather_written,
    replace_network,
    rescore,
    retranslate,
    single_network,
)
from translucid.interpret.trace import TopToken, Trace
from translucid.model.transformer import share_weights
from translucid.text.tokenizer import Tokenizer
from translucid.translator import Translator

TOP = 5  # tokens per cell


@dataclass(frozen=True)
class LensCell:
    """The prediction of a layer at one step: the most probable tokens, and the one written.

    `log_prob` and `rank` (from 1) are those of the written token. `entropy` is in nats.
    """

    top: tuple[TopToken, ...]
    log_prob: float
    rank: int
    entropy: float


@dataclass(frozen=True)
class LogitLens:
    """One row per decoder layer, one cell per step of the trace; the last row is the network's."""

    layers: tuple[tuple[LensCell, ...], ...]


@dataclass(frozen=True)
class EncoderReading:
    """What the decoder does when it reads encoder layer `layer` (from 0) instead of the last.

    `cells` are its predictions at each step of the trace, `log_prob` is that of the trace's
    translation, and `translation` is its own.
    """

    layer: int
    translation: str
    log_prob: float
    cells: tuple[LensCell, ...]


def logit_lens(translator: Translator, trace: Trace, *, top: int = TOP) -> LogitLens:
    """Return the prediction of each decoder layer at each step; the trace must be a full one."""
    log_probs_NTV = logit_lens_log_probs(translator, trace)
    return LogitLens(
        tuple(
            _cells(log_probs_TV, trace, translator.tokenizer, top) for log_probs_TV in log_probs_NTV
        )
    )


@torch.inference_mode()
def logit_lens_log_probs(translator: Translator, trace: Trace) -> Tensor:
    """Return log P of every token by each decoder layer, read as if it were the last, (N, T, V)."""
    model = single_network(translator)
    states_NTD = torch.stack(
        [trace.tensor(f"decoder.{layer}.output") for layer in range(trace.model.decoder_layers)]
    ).to(translator.members[0].device)
    logits_NTV: Tensor = model.output_projection(model.decoder.norm(states_NTD))
    return logits_NTV.log_softmax(dim=-1).cpu()


def decoder_lens(
    translator: Translator, trace: Trace, *, top: int = TOP, on_event: Emit = silent
) -> tuple[EncoderReading, ...]:
    """Return what the decoder makes of each encoder layer; the trace may have any level."""
    layers, readings = trace.model.encoder_layers, []
    for layer in range(layers):
        on_event(Progress("reading", layer, layers, "encoder layers"))
        readings.append(_read_with(truncate_encoder(translator, layer), layer, trace, top))
    on_event(Progress("reading", layers, layers, "encoder layers"))
    return tuple(readings)


def truncate_encoder(translator: Translator, layer: int) -> Translator:
    """Return a translator whose encoder ends after `layer` (from 0), sharing all tensors.

    The final norm of a pre-norm encoder is applied, as it is after the last layer.
    """
    model = share_weights(single_network(translator))
    model.encoder.layers = nn.ModuleList(list(model.encoder.layers)[: layer + 1])
    model.config = model.config.replace(encoder_layers=layer + 1)
    return replace_network(translator, model, f"{translator.name} reading encoder layer {layer}")


def _read_with(reader: Translator, layer: int, trace: Trace, top: int) -> EncoderReading:
    cells = _cells(rescore(reader, trace), trace, reader.tokenizer, top)
    return EncoderReading(
        layer=layer,
        translation=retranslate(reader, trace),
        log_prob=sum(cell.log_prob for cell in cells),
        cells=cells,
    )


def _cells(
    log_probs_TV: Tensor, trace: Trace, tokenizer: Tokenizer, top: int
) -> tuple[LensCell, ...]:
    """Return one cell per step of a trace."""
    of_written_T = gather_written(log_probs_TV, trace)
    ranks_T = (log_probs_TV > of_written_T[:, None]).sum(dim=1) + 1
    entropy_T = -(log_probs_TV.exp() * log_probs_TV.clamp(min=-1e9)).sum(dim=1)
    values_TK, tokens_TK = log_probs_TV.topk(min(top, log_probs_TV.size(1)), dim=1)
    return tuple(
        LensCell(
            tuple(
                TopToken(token, tokenizer.piece(token), value)
                for token, value in zip(tokens, values, strict=True)
            ),
            log_prob,
            rank,
            entropy,
        )
        for tokens, values, log_prob, rank, entropy in zip(
            *(t.tolist() for t in (tokens_TK, values_TK, of_written_T, ranks_T, entropy_T)),
            strict=True,
        )
    )
