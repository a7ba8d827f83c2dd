"""How far to trust a translation, from what its trace shows: no reference is needed.

A network that has lost its thread writes fluent text about nothing. Signs of it are tokens that
were improbable, attention that rests on the end symbol and not on words, source words that nobody
looked at (Berard et al. 2019), and phrases said again and again.

The thresholds are round numbers, not truths. On 150 sentences drawn from the dev sets of the lesson
and of Tatoeba, whose vocabulary the lesson's model does not know (and not on those that the
threshold of probability was chosen by), they warned of 46 of the 61 translations with chrF below 40
and of none of the 76 with 80 or more. Probability found all of these; attention found one of them,
and circles none. A network that is sure of nonsense is not found out.

Shapes: S source, T target, H heads, N layers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from translucid.interpret.rereading import written_tokens
from translucid.interpret.trace import Trace
from translucid.text.tokenizer import FIRST_PIECE, UNK

LITTLE_LOOK = 0.25  # mean share of attention on words of the source, below which it is ignored
UNSEEN = 0.2  # attention of all steps together, below which a source token was not looked at
MOST_UNSEEN = 0.5  # share of such tokens above which the source is ignored
IMPROBABLE = 0.5  # mean probability of a token, below which the network is guessing
PHRASE = 3  # tokens of a phrase that is counted when it comes again
MOST_REPEATED = 0.3  # share of tokens in phrases said before, above which it goes in circles


@dataclass(frozen=True)
class Confidence:
    """Numbers and warnings about one translation.

    `probability` is the geometric mean over its tokens, end symbol among them; `least` the lowest
    and `least_step` where. `source_share` is for each step the share of cross-attention that lies
    on words of the source and not on symbols, mean of all heads; `unseen` the share of source
    tokens that all steps together hardly looked at; `repeated` the share of written tokens that
    end a phrase of three said before.
    """

    probability: float
    least: float
    least_step: int
    source_share: tuple[float, ...]
    unseen: float
    repeated: float
    improbable: bool
    ignores_source: bool
    loops: bool

    @property
    def doubtful(self) -> bool:
        """Whether there is any warning: a reader should look at the source."""
        return self.improbable or self.ignores_source or self.loops

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings in words, each with the number behind it."""
        share = math.fsum(self.source_share) / len(self.source_share)
        said = (
            (self.improbable, f"its tokens have a mean probability of only {self.probability:.2f}"),
            (
                self.ignores_source,
                f"it hardly looks at the source: {share:.2f} of the attention lies on its words, "
                f"and {self.unseen:.0%} of its tokens are not looked at",
            ),
            (self.loops, f"it goes in circles: {self.repeated:.0%} of it was said before"),
        )
        return tuple(words for found, words in said if found)


def judge(trace: Trace) -> Confidence:
    """Return how far a translation can be trusted, from its probabilities and its attention."""
    log_probs = [step.log_prob for step in trace.steps]
    probability = math.exp(math.fsum(log_probs) / len(log_probs))
    least_step = min(range(len(log_probs)), key=log_probs.__getitem__)
    shares = source_shares(trace)
    unseen = unseen_share(trace)
    repeated = repeated_share(written_tokens(trace))
    little = math.fsum(shares) / len(shares) < LITTLE_LOOK
    return Confidence(
        probability=probability,
        least=math.exp(log_probs[least_step]),
        least_step=least_step,
        source_share=shares,
        unseen=unseen,
        repeated=repeated,
        improbable=probability < IMPROBABLE,
        ignores_source=little or unseen > MOST_UNSEEN,
        loops=trace.flags.looped or repeated > MOST_REPEATED,
    )


def source_shares(trace: Trace) -> tuple[float, ...]:
    """Return for each step how much of its cross-attention lies on words, not on symbols."""
    words_S = _words(trace)
    return tuple((_mean_cross(trace) * words_S).sum(dim=1).tolist())


def unseen_share(trace: Trace) -> float:
    """Return the share of the source's tokens that all steps together hardly looked at.

    Heads that rest on the end symbol do not count against it: what is asked is how the attention
    that lies on words is divided among them. Where a translation is shorter than its source,
    each token is entitled to less.
    """
    words_S = _words(trace).bool()
    if not words_S.any():
        return 0.0
    attention_TS = _mean_cross(trace)[:, words_S]
    divided_TS = attention_TS / attention_TS.sum(dim=1, keepdim=True).clamp(min=1e-9)
    received_S = divided_TS.sum(dim=0)
    fair = min(1.0, attention_TS.size(0) / attention_TS.size(1))
    return float((received_S < UNSEEN * fair).double().mean())


def repeated_share(tokens: list[int]) -> float:
    """Return the share of tokens that end a phrase of three tokens said before.

    >>> repeated_share([5, 6, 7, 8, 5, 6, 7, 8])
    0.25
    """
    seen: set[tuple[int, ...]] = set()
    again = 0
    for end in range(PHRASE, len(tokens) + 1):
        phrase = tuple(tokens[end - PHRASE : end])
        again += phrase in seen
        seen.add(phrase)
    return again / len(tokens) if tokens else 0.0


def _mean_cross(trace: Trace) -> Tensor:
    """Return the cross-attention, mean of all layers and heads, (T, S) in float64."""
    layers = [trace.attention("cross", layer) for layer in range(trace.model.decoder_layers)]
    return torch.stack(layers).double().mean(dim=(0, 1))


def _words(trace: Trace) -> Tensor:
    """Return 1 for each source token that is text, 0 for symbols: tag and end."""
    return torch.tensor(
        [float(token.id >= FIRST_PIECE or token.id == UNK) for token in trace.source_tokens],
        dtype=torch.float64,
    )
