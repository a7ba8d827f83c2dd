"""The one network of a translator, and translators around a changed twin of it."""

from __future__ import annotations

from collections.abc import Callable

from translucid.errors import InputError
from translucid.interpret.attention_head import attentions
from translucid.interpret.trace import Side
from translucid.model import Transformer
from translucid.model.attention import Kernel
from translucid.model.transformer import share_weights
from translucid.translator import Translator
from translucid.translator.member import Member

NewKernel = Callable[[Side, int, Kernel], Kernel]


def network_of(translator: Translator) -> Transformer:
    """Return the network of a translator; an ensemble has several, and is refused."""
    if len(translator.members) != 1:
        raise InputError(
            f"{translator.name} is an ensemble of {len(translator.members)} models: look into "
            "each by itself"
        )
    return translator.members[0].model


def with_network(translator: Translator, model: Transformer, name: str) -> Translator:
    """Return a translator that is another in nothing but its network."""
    return Translator(
        name,
        translator.tokenizer,
        (Member(model, translator.members[0].heads),),
        translator.generation,
        translator.source_languages,
    )


def with_kernels(model: Transformer, new: NewKernel) -> Transformer:
    """Return a twin of a network whose attention kernels are made from those it has."""
    other = share_weights(model)
    for side, layer, attention in attentions(other):
        attention.kernel = new(side, layer, attention.kernel)
    return other
