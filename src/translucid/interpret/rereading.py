"""The sentence of a trace once more, read by a network that is not quite the one that made it.

Shapes: S source, T target, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from translucid.interpret.network import network_of
from translucid.interpret.trace import Trace
from translucid.text.tokenizer import EOS
from translucid.translator import Translator
from translucid.translator.searching import Request


@torch.inference_mode()
def log_probs_again(translator: Translator, trace: Trace) -> Tensor:
    """Return log P of every token at each step of the trace, its own steps given, (T, V)."""
    device = translator.members[0].device
    source_1S, target_1T = (
        torch.tensor([[token.id for token in tokens]], device=device)
        for tokens in (trace.source_tokens, trace.target_tokens)
    )
    logits_1TV: Tensor = network_of(translator)(source_1S, target_1T)
    return logits_1TV[0].log_softmax(dim=-1).cpu()


def of_written(log_probs_TV: Tensor, trace: Trace) -> Tensor:
    """Return log P of the tokens that the trace wrote, (T,)."""
    written_T = torch.tensor([step.token.id for step in trace.steps])
    return log_probs_TV.gather(1, written_T[:, None])[:, 0]


def translation_again(translator: Translator, trace: Trace) -> str:
    """Return what a translator makes of the source of a trace, by the same search.

    What the trace was forced to begin with is forced again, unless it was forced to its very end.
    """
    forced = () if trace.origin == "given" else trace.prefix
    source = tuple(token.id for token in trace.source_tokens)
    request = Request(source, prefix=forced, terms=())
    (hypotheses,) = translator.searcher(trace.search).find([request], None)
    part, after = translator.read_whole(_target(translator, source[0]), trace.source)
    text = part.protected.restore(translator.tokenizer.decode(hypotheses[0].tokens))
    return part.before + text + after


def _target(translator: Translator, tag: int) -> str | None:
    """Return the language that a source with this tag is translated into, if it has tags."""
    tags = {token: language for language, token in translator.generation.tags.items()}
    return tags.get(tag)


def written_tokens(trace: Trace) -> list[int]:
    """Return the tokens of the translation without the end symbol."""
    ids = [step.token.id for step in trace.steps]
    return ids[:-1] if ids[-1] == EOS else ids
