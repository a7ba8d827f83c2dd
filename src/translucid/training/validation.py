"""Validation: how well does the network do on the dev set, which training never sees?

The loss is over the whole dev set, without label smoothing, so that its exponential is the
perplexity. BLEU and chrF are sacrebleu's, with their signatures, of greedy translations of a fixed
sample: pairs spread evenly over the dev set. Where the data has two directions, each is scored by
itself, and the score is the mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from translucid.data.batches import Batches, load_examples, longest_example
from translucid.data.loader import Loader
from translucid.data.shards import PreparedData
from translucid.decoding.config import SearchConfig
from translucid.decoding.greedy import greedy_search
from translucid.decoding.request import SearchRequest
from translucid.decoding.stepper import length_limits
from translucid.events import Sample, Validated
from translucid.model import Transformer
from translucid.text.languages import bleu_tokenizer
from translucid.text.tokenizer import BOS, EOS, PAD, Tokenizer, load_tokenizer, tag_id
from translucid.training.config import TrainingConfig
from translucid.training.loss import Objective

SAMPLES_SHOWN = 3
_BATCHES_AHEAD = 2
ROWS_AT_A_TIME = 64  # greedy decoding of more gains little on a CPU
PLAIN_GREEDY = SearchConfig(method="greedy", loop_guard=False)  # what the network says, all of it


@dataclass(frozen=True)
class Scores:
    """BLEU and chrF of some translations, and sacrebleu's signatures of both."""

    bleu: float
    chrf: float
    signatures: tuple[str, str]


@dataclass(frozen=True)
class Validator:
    """Validates a network on the dev set of prepared data; called as ``validator(model, step)``.

    `sample_size` pairs are translated, the same ones every time, so that one sees the translations
    change; the loss is computed in batches of `max_tokens` a side.
    """

    data: PreparedData
    tokenizer: Tokenizer
    sample_size: int
    max_tokens: int

    @classmethod
    def for_settings(cls, data: PreparedData, settings: TrainingConfig) -> Validator:
        """Return the validator that the settings of a run ask for."""
        tokenizer = load_tokenizer(data.tokenizer_path)
        return cls(data, tokenizer, settings.validation_sample, settings.micro_batch_tokens)

    def __call__(self, model: Transformer, step: int) -> Validated:
        """Return the scores of the network as it is; its mode and gradients are not changed."""
        with evaluation_mode(model):
            loss = dev_loss(model, self.data, self.max_tokens)
            directions = self.data.manifest.directions
            each = [self._translate(model, *direction) for direction in directions]
        scores = [
            score(samples, target) for samples, (_, target) in zip(each, directions, strict=True)
        ]
        return Validated(
            step=step,
            loss=loss,
            perplexity=math.exp(min(loss, 700.0)),  # beyond it a float overflows
            bleu=sum(one.bleu for one in scores) / len(scores),
            chrf=sum(one.chrf for one in scores) / len(scores),
            signatures=tuple(signature for one in scores for signature in one.signatures),
            samples=_choose_samples(each),
            best=False,  # which only who knows the earlier ones can say
        )

    def _translate(self, model: Transformer, source: str, target: str) -> list[Sample]:
        """Translate the fixed sample in one direction."""
        split = self.data.split("dev")
        pairs = spread(len(split), self.sample_size)
        sources = [split.text(source, pair) for pair in pairs]
        translations = translate(
            model, self.tokenizer, sources, tag=language_tag(self.data, target)
        )
        return [
            Sample(text, split.text(target, pair), translation)
            for text, pair, translation in zip(sources, pairs, translations, strict=True)
        ]


def spread(count: int, wanted: int) -> list[int]:
    """Return up to `wanted` of the numbers below `count`, evenly spread.

    >>> spread(10, 4)
    [0, 2, 5, 7]
    """
    wanted = min(count, wanted)
    return [place * count // wanted for place in range(wanted)]


def language_tag(data: PreparedData, target: str) -> int | None:
    """Return the token that asks for a target language, or None where the data has no tags."""
    return tag_id(data.manifest.languages[target]) if data.manifest.tagged else None


@contextmanager
def evaluation_mode(model: Transformer) -> Iterator[None]:
    """Switch dropout off for a while."""
    before = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(before)


@torch.no_grad()
def dev_loss(model: Transformer, data: PreparedData, max_tokens: int) -> float:
    """Return the mean loss per token over the dev set, without label smoothing."""
    examples = load_examples(data, "dev")
    batches = Batches(examples, max(max_tokens, longest_example(examples)), seed=0)
    device = next(model.parameters()).device
    objective = Objective(model, label_smoothing=0.0, rdrop_alpha=0.0)
    total, tokens = 0.0, 0
    loader = Loader(batches, sampling=None, ahead=_BATCHES_AHEAD, pin=device.type == "cuda")
    with loader.epoch(0) as epoch:
        for batch in epoch:
            here = batch.to(device)
            _, plain = objective(here.source_BS, here.target_BT, here.labels_BT)
            total += float(plain)
            tokens += here.tokens
    return total / tokens


def translate(
    model: Transformer, tokenizer: Tokenizer, texts: Sequence[str], *, tag: int | None
) -> list[str]:
    """Translate texts greedily, in their order; a blank text stays blank."""
    start = [] if tag is None else [tag]
    rows = [[*start, *ids, EOS] for ids in tokenizer.encode_batch(texts)]
    order = sorted((i for i, text in enumerate(texts) if text.strip()), key=lambda i: len(rows[i]))
    translations = [""] * len(texts)
    with evaluation_mode(model):
        for begin in range(0, len(order), ROWS_AT_A_TIME):
            chosen = order[begin : begin + ROWS_AT_A_TIME]
            found = _translate_rows(model, [rows[i] for i in chosen])
            for i, tokens in zip(chosen, found, strict=True):
                translations[i] = tokenizer.decode(tokens)
    return translations


def _translate_rows(model: Transformer, rows: Sequence[Sequence[int]]) -> list[list[int]]:
    width = max(map(len, rows))
    padded = [[*row, *[PAD] * (width - len(row))] for row in rows]
    source_BS = torch.tensor(padded, device=next(model.parameters()).device)
    limits_B = length_limits(source_BS, model.config)
    job = SearchRequest.plain(limits_B, begin=BOS, end=EOS)
    found = greedy_search(model.start(source_BS), job, PLAIN_GREEDY, recorder=None)
    return [list(hypothesis.tokens) for hypothesis in found]


def score(samples: Sequence[Sample], language: str) -> Scores:
    """Return BLEU and chrF of translations into a language, by sacrebleu."""
    bleu = BLEU(tokenize=bleu_tokenizer(language))
    chrf = CHRF()
    translations = [sample.translation for sample in samples]
    references = [[sample.reference for sample in samples]]
    return Scores(
        bleu=bleu.corpus_score(translations, references).score,
        chrf=chrf.corpus_score(translations, references).score,
        signatures=(f"BLEU|{bleu.get_signature()}", f"chrF2|{chrf.get_signature()}"),
    )


def _choose_samples(each: Sequence[Sequence[Sample]]) -> tuple[Sample, ...]:
    """Choose a few translations to look at, of all directions in turn: always the same pairs."""
    mixed = [sample for samples in zip(*each, strict=True) for sample in samples]
    return tuple(mixed[place] for place in spread(len(mixed), SAMPLES_SHOWN))
