"""The fast engine: greedy and beam search by CTranslate2, in float32 or int8, without PyTorch.

The network is converted in memory when the model is loaded (`conversion.py`), which takes about as
long as reading it from the disk: so there is no second copy on the disk that could be damaged, or
older than the model.

CTranslate2 ends a beam search when one and a half times as many hypotheses as the beam is wide have
ended; ours ends when nothing can rank higher any more. Both rank by our length penalty.

What CTranslate2 has no rule for is looked at afterwards: a translation beyond its limit of length,
one that goes in circles or one without all placeholders counts as not found, and `search` returns
no hypotheses for that input, so that PyTorch searches again. Where PyTorch is not installed,
`repair` makes the best of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from translucid.checkpoint.model_directory import check_weights, hash_network
from translucid.config import ModelConfig, Precision
from translucid.decoding.hypothesis import Ending, Hypothesis, Tokens, is_looping, normalize_score
from translucid.engines.base import (
    Array,
    DecoderInput,
    Engine,
    OnFinished,
    Pair,
    SearchOptions,
    count_positions,
)
from translucid.engines.conversion import convert, expected_shapes, serialize
from translucid.engines.heads import AlignmentHeads, Head
from translucid.errors import optional
from translucid.text.placeholders import is_intact
from translucid.text.tokenizer import BOS, EOS, UNK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import ModuleType

_SETTINGS: dict[str, str | bool] = {
    "unk_token": str(UNK),
    "bos_token": str(BOS),
    "eos_token": str(EOS),
    "decoder_start_token": str(BOS),
    "add_source_bos": False,
    "add_source_eos": False,
}
_END = str(EOS)
# A beam search ends when this many times as many hypotheses as the beam is wide have ended. With 1,
# which is usual, it misses some that would rank higher, which costs 0.2 BLEU (docs/results.md).
_PATIENCE = 1.5
_LEAST_PENALTY = 1e-6  # without any penalty, a search would end with the first hypothesis
# Settings that must have their default value.
_UNKNOWN_SETTINGS = ("coverage_penalty", "no_repeat_ngram")


class CTranslate2Engine(Engine):
    """One network, in as many threads as it is given; each batch is computed by one of them."""

    name: ClassVar[str] = "ctranslate2"

    def __init__(
        self,
        config: ModelConfig,
        weights: Mapping[str, Array],
        heads: AlignmentHeads,
        *,
        precision: Precision,
        threads: int,
        path: Path,
    ) -> None:
        """`path` is where the weights come from, for messages."""
        package = optional("ctranslate2", extra="all", job="The engine ctranslate2")
        self.config, self.heads, self.precision = config, heads, precision
        with ThreadPoolExecutor(1, "hash") as thread:  # beside the conversion, while all is at hand
            hashing = thread.submit(hash_network, config, weights)
            self._translator = self._build(package, weights, threads, path)
        self.hash = hashing.result()  # the SHA-256 of settings and weights, as they were read

    def _build(
        self, package: ModuleType, weights: Mapping[str, Array], threads: int, path: Path
    ) -> Any:
        """Return CTranslate2's translator with our weights."""
        config = self.config
        # Whether all heads that align are of one layer, which is all that CTranslate2 reports.
        self.aligns = _alignment_layer(self.heads.chosen)[1]
        ids = tuple(map(str, range(max(config.source_vocab_size, config.target_vocab_size))))
        return package.Translator(
            "model",
            compute_type=self.precision,
            inter_threads=threads,
            intra_threads=1,
            files=build_files(
                config,
                weights,
                self.heads,
                precision=self.precision,
                pieces=ids,
                settings=_SETTINGS,
                path=path,
            ),
        )

    def find_obstacle(self, options: SearchOptions, item: DecoderInput) -> str | None:
        """Return why the engine cannot do this search; None if it can."""
        settings = options.settings
        if settings.method not in ("greedy", "beam"):
            return f"the method {settings.method!r}"
        for name in _UNKNOWN_SETTINGS:
            if getattr(settings, name) != type(settings).model_fields[name].default:
                return f"the setting {name}"
        if item.terms:
            return "terms"
        limit = options.limit(item, count_positions(self.config))
        if max(len(item.source), limit) > self.positions:
            return f"texts or translations of more than {self.positions} tokens"
        return None

    @property
    def positions(self) -> int:
        """The most tokens that can be read or written: tables of positions have an end."""
        endless = self.config.positions in ("rotary", "relative")
        return sys.maxsize if endless else self.config.max_positions

    def search(
        self,
        inputs: Sequence[DecoderInput],
        options: SearchOptions,
        on_finished: OnFinished | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each input, best first; none where it needs another search."""
        found: list[list[Hypothesis]] = []
        for item, hypotheses in zip(inputs, self._search(inputs, options), strict=True):
            sound = [one for one in hypotheses if self._is_sound(item, one, options)]
            enough = len(sound) >= min(options.settings.n_best, len(hypotheses))
            found.append(sound[: options.settings.n_best] if enough else [])
        if options.token_scores:
            found = self._add_token_scores(inputs, found, options)
        if on_finished is not None:
            for number, hypotheses in enumerate(found):
                if hypotheses:
                    on_finished(number, hypotheses)
        return found

    def _search(
        self, inputs: Sequence[DecoderInput], options: SearchOptions, never: Tokens = ()
    ) -> list[list[Hypothesis]]:
        """Return all hypotheses of the beam for each input, ranked; `never` is not written."""
        if not inputs:
            return []
        beam = options.settings.beam if options.settings.method == "beam" else 1
        results = self._translator.translate_batch(
            [_words(item.source) for item in inputs],
            [_words(item.prefix) for item in inputs] if any(i.prefix for i in inputs) else None,
            num_hypotheses=beam,
            max_decoding_length=max(self._limit(item, options) for item in inputs),
            return_end_token=True,
            return_scores=True,
            **_how_to_search(options, beam, never),
        )
        found = [
            [
                _read_hypothesis(words, score, options)
                for words, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result in results
        ]
        # CTranslate2 does not count the tokens of a prefix, and forbidding tokens changes the
        # probability of all others.
        if options.forbidden or never or any(item.prefix for item in inputs):
            found = self._add_token_scores(inputs, found, options)
        for hypotheses in found:
            hypotheses.sort(key=lambda one: -one.score)
        return found

    def _limit(self, item: DecoderInput, options: SearchOptions) -> int:
        return options.limit(item, self.positions)

    def _is_sound(self, item: DecoderInput, one: Hypothesis, options: SearchOptions) -> bool:
        """Tell whether a hypothesis has ended in time, is no loop and has no wrong tokens."""
        if one.ending != "end" or one.length > self._limit(item, options):
            return False
        required = options.required_placeholders(item)
        never = options.unwritable if required else (*options.unwritable, *options.placeholders)
        if not set(one.tokens[len(item.prefix) :]).isdisjoint(never):
            return False
        if _cut(one.tokens, len(one.tokens), options)[1] == "loop":
            return False
        return not required or is_intact(options.decode(item.source), options.decode(one.tokens))

    def _add_token_scores(
        self,
        inputs: Sequence[DecoderInput],
        found: Sequence[list[Hypothesis]],
        options: SearchOptions,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses with log P of each token."""
        pairs = [
            Pair(item.source, one.tokens)
            for item, each in zip(inputs, found, strict=True)
            for one in each
        ]
        scores = iter(self.score(pairs))
        return [[_with_token_scores(one, next(scores), options) for one in each] for each in found]

    def repair(self, item: DecoderInput, options: SearchOptions) -> list[Hypothesis]:
        """Return translations of an input for which `search` found too few that are sound.

        Those that are, or else the best one, ended at the limit of length or where it goes in
        circles. If its placeholders are not those of the source, once each, they follow at its
        end, in the order of the source.
        """
        required = options.required_placeholders(item)
        never = (*options.unwritable, *(() if required else options.placeholders))
        (hypotheses,) = self._search([item], options, never)
        if sound := [one for one in hypotheses if self._is_sound(item, one, options)]:
            return sound[: options.settings.n_best]
        room = self._limit(item, options) - 1
        tokens, ending = _cut(hypotheses[0].tokens, room, options)
        if required and not is_intact(options.decode(item.source), options.decode(tokens)):
            words = tuple(token for token in tokens if token not in options.placeholders)
            ordered = tuple(token for token in item.source if token in required)
            tokens = (*words[: max(0, room - len(ordered))], *ordered)
        return [self._hypothesis(item, tokens, ending, options)]

    def stream(
        self, item: DecoderInput, options: SearchOptions, report: Callable[[Tokens], None]
    ) -> list[Hypothesis]:
        """Search greedily; report what is written after each token, and return the whole."""
        written: list[int] = []

        def follow(step: Any) -> bool:
            if step.token_id == EOS:
                return False
            written.append(step.token_id)
            if len(written) < self._limit(item, options):
                report(tuple(written))
            return options.settings.loop_guard and is_looping(written)

        self._translator.translate_batch(
            [_words(item.source)],
            max_decoding_length=self._limit(item, options),
            callback=follow,
            **_how_to_search(options, 1, (*options.unwritable, *options.placeholders)),
        )
        tokens, ending = _cut(tuple(written), self._limit(item, options) - 1, options)
        return [self._hypothesis(item, tokens, ending, options)]

    def _hypothesis(
        self, item: DecoderInput, tokens: Tokens, ending: Ending, options: SearchOptions
    ) -> Hypothesis:
        """Return a hypothesis of these tokens, with the probabilities that the network gives."""
        (scores,) = self.score([Pair(item.source, tokens)])
        log_probs = tuple(scores[:-1] if ending == "loop" else scores)
        score = normalize_score(sum(log_probs), max(1, len(log_probs)), options.settings)
        return Hypothesis(tokens, log_probs, ending, score)

    def score(self, pairs: Sequence[Pair]) -> list[list[float]]:
        """Return log P of every token of each target, and last that of its end."""
        if not pairs:
            return []
        results = self._translator.score_batch(
            [_words(pair.source) for pair in pairs],
            [_words(pair.target) for pair in pairs],
            max_input_length=0,
        )
        return [list(result.log_probs) for result in results]

    def align(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[Array]:
        """Return how much each target token attends to each source token, (T, S)."""
        results = self._translator.translate_batch(
            [_words(source) for source, _ in pairs],
            [_words(target) for _, target in pairs],
            beam_size=1,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max(len(target) for _, target in pairs) + 1,
            return_attention=True,
            return_end_token=True,  # else the attention of the end symbol is left out
        )
        found = []
        for (source, target), result in zip(pairs, results, strict=True):
            rows = np.array(result.attention[0], dtype=np.float32).reshape(-1, len(source))
            first = 0 if self.heads.row == "predicts" else 1
            found.append(rows[first : first + len(target)])
        return found


def build_files(
    config: ModelConfig,
    weights: Mapping[str, Array],
    heads: AlignmentHeads,
    *,
    precision: Precision,
    pieces: Sequence[str],
    settings: Mapping[str, str | bool],
    path: Path,
) -> dict[str, bytes]:
    """Return the files of CTranslate2, by name, for a network whose weights come from a file.

    `pieces` are the names of its tokens, and `settings` those of `serialize`.
    """
    check_weights(
        {name: np.empty(shape) for name, shape in expected_shapes(config).items()},
        weights,
        path,
    )
    layer, _ = _alignment_layer(heads.chosen)
    arrays = convert(
        config,
        weights,
        precision=precision,
        alignment_layer=layer,
        alignment_heads=[head.head for head in heads.chosen if head.layer == layer],
    )
    vocabularies = (pieces[: config.source_vocab_size], pieces[: config.target_vocab_size])
    return serialize(config, arrays, vocabularies, settings)


def _alignment_layer(heads: Sequence[Head]) -> tuple[int, bool]:
    """Return the layer that has most of the heads, and whether it has all of them."""
    layers = [head.layer for head in heads]
    layer = max(sorted(set(layers), reverse=True), key=layers.count)
    return layer, len(set(layers)) == 1


def _words(tokens: Sequence[int]) -> list[str]:
    return list(map(str, tokens))


def _read_hypothesis(words: list[str], score: float, options: SearchOptions) -> Hypothesis:
    """Return what CTranslate2 found; its score is log P over its own length penalty."""
    total = score * len(words) ** _exponent(options)
    ended = words[-1:] == [_END]
    tokens = tuple(map(int, words[:-1] if ended else words))
    own = normalize_score(total, max(1, len(words)), options.settings)
    return Hypothesis(tokens, None, "end" if ended else "limit", own, total)


def _cut(tokens: Tokens, room: int, options: SearchOptions) -> tuple[Tokens, Ending]:
    """Return the tokens up to where the rules of our search end them, and why it ends them."""
    lengths = range(1, min(room, len(tokens)) + 1) if options.settings.loop_guard else ()
    for length in lengths:
        if is_looping(tokens[:length]):
            return tokens[:length], "loop"
    return (tokens, "end") if len(tokens) <= room else (tokens[: max(0, room)], "limit")


def _exponent(options: SearchOptions) -> float:
    """Return the α of CTranslate2's length penalty n^α, by which it returns the best hypotheses."""
    return max(options.settings.length_penalty, _LEAST_PENALTY)


def _with_token_scores(
    one: Hypothesis, log_probs: Sequence[float], options: SearchOptions
) -> Hypothesis:
    score = normalize_score(sum(log_probs), len(log_probs), options.settings)
    return Hypothesis(one.tokens, tuple(log_probs), one.ending, score)


def _how_to_search(options: SearchOptions, beam: int, never: Tokens) -> dict[str, Any]:
    """Return the arguments of `translate_batch`.

    Tokens that are not to be written take part in no probability, which changes that of all others.
    So only those of the request are forbidden beforehand.
    """
    return {
        "beam_size": beam,
        "length_penalty": _exponent(options),
        "patience": _PATIENCE,
        "max_input_length": 0,
        "min_decoding_length": options.settings.min_length,
        "suppress_sequences": [[str(token)] for token in (*options.forbidden, *never)],
    }
