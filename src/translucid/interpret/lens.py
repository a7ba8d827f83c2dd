"""Two lenses: what the network would say if it stopped early.

* The logit lens reads every decoder layer as if it were the last: its output goes through the final
  norm and the output projection (nostalgebraist 2020).
* The decoder lens lets the whole decoder read an earlier encoder layer in place of the last
  (Langedijk et al. 2023, "DecoderLens").

Both are readings, not truths: a layer was never trained to be read in this way.

Shapes: N layers, S source, T target, D d_model, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from translucid.events import Emit, Progress, silent
from translucid.interpret.network import network_of, with_network
from translucid.interpret.rereading import log_probs_again, of_written, translation_again
from translucid.interpret.trace import TopToken, Trace
from translucid.model.twin import twin
from translucid.text.tokenizer import Tokenizer
from translucid.translator import Translator

SHOWN = 5  # tokens a cell


@dataclass(frozen=True)
class LensCell:
    """What a layer would say at one place: the likeliest tokens, and how it holds the written one.

    `rank` is the place of the written token among all, from 1. `entropy` is in nats.
    """

    top: tuple[TopToken, ...]
    log_prob: float
    rank: int
    entropy: float


@dataclass(frozen=True)
class LogitLens:
    """A row of cells a decoder layer, a cell a step of the trace; the last row is the network's."""

    layers: tuple[tuple[LensCell, ...], ...]


@dataclass(frozen=True)
class EncoderReading:
    """What the decoder does when it reads encoder layer `layer` (from 0) in place of the last.

    `cells` is what it would write after each part of the trace's translation; `log_prob` what it
    gives all of that translation; `translation` is what it writes when left alone.
    """

    layer: int
    translation: str
    log_prob: float
    cells: tuple[LensCell, ...]


def logit_lens(translator: Translator, trace: Trace, *, top: int = SHOWN) -> LogitLens:
    """Return what each decoder layer would say at each step; the trace must be a full one."""
    log_probs_NTV = logit_lens_log_probs(translator, trace)
    return LogitLens(
        tuple(
            _cells(log_probs_TV, trace, translator.tokenizer, top) for log_probs_TV in log_probs_NTV
        )
    )


@torch.inference_mode()
def logit_lens_log_probs(translator: Translator, trace: Trace) -> Tensor:
    """Return log P of every token by each decoder layer, read as if it were the last, (N, T, V)."""
    model = network_of(translator)
    states_NTD = torch.stack(
        [trace.tensor(f"decoder.{layer}.output") for layer in range(trace.model.decoder_layers)]
    ).to(translator.members[0].device)
    logits_NTV: Tensor = model.output_projection(model.decoder.norm(states_NTD))
    return logits_NTV.log_softmax(dim=-1).cpu()


def decoder_lens(
    translator: Translator, trace: Trace, *, top: int = SHOWN, emit: Emit = silent
) -> tuple[EncoderReading, ...]:
    """Return what the decoder says reading each encoder layer, the last as the network does.

    A trace of any level will do.
    """
    layers, found = trace.model.encoder_layers, []
    for layer in range(layers):
        emit(Progress("reading", layer, layers, "encoder layers"))
        found.append(_reading(reading_layer(translator, layer), layer, trace, top))
    emit(Progress("reading", layers, layers, "encoder layers"))
    return tuple(found)


def reading_layer(translator: Translator, layer: int) -> Translator:
    """Return a translator whose encoder ends after `layer` (from 0), sharing all tensors.

    The final norm of a pre-norm encoder is applied, as it is after the last layer.
    """
    model = twin(network_of(translator))
    model.encoder.layers = nn.ModuleList(list(model.encoder.layers)[: layer + 1])
    model.config = model.config.replace(encoder_layers=layer + 1)
    return with_network(translator, model, f"{translator.name} reading encoder layer {layer}")


def _reading(reader: Translator, layer: int, trace: Trace, top: int) -> EncoderReading:
    cells = _cells(log_probs_again(reader, trace), trace, reader.tokenizer, top)
    return EncoderReading(
        layer=layer,
        translation=translation_again(reader, trace),
        log_prob=sum(cell.log_prob for cell in cells),
        cells=cells,
    )


def _cells(
    log_probs_TV: Tensor, trace: Trace, tokenizer: Tokenizer, top: int
) -> tuple[LensCell, ...]:
    """Return a cell for each step of a trace."""
    of_written_T = of_written(log_probs_TV, trace)
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
