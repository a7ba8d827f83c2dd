"""What a translator returns: the text, and everything one may want to know about it."""

from __future__ import annotations

from dataclasses import dataclass

from translucid.decoding.hypothesis import Ending

DOUBTFUL = 0.5  # a translation of lower confidence needs a second look


@dataclass(frozen=True)
class Block:
    """The alignment of one segment.

    It begins at these tokens of the whole text; `weights[t][s]` counts from there.
    """

    source_start: int
    target_start: int
    weights: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Alignment:
    """Which source tokens each target token attended to.

    `source_tokens` are what the network read, including the tag of the target language, if it has
    tags, and the end symbol `</s>`. Segments could not attend to each other: `blocks` has one per
    segment.

    `links` is a hard alignment of words: pairs (source word, target word) from 0, for each target
    word its best source word. In a script without spaces, a token is a word.
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    blocks: tuple[Block, ...]
    links: tuple[tuple[int, int], ...]

    @property
    def weights(self) -> tuple[tuple[float, ...], ...]:
        """How much each target token t attended to each source token s, [t][s]; a row sums to 1.

        Computed at each call; for a text of very many segments the blocks take far less memory.
        """
        width = len(self.source_tokens)
        return tuple(
            (0.0,) * block.source_start + row + (0.0,) * (width - block.source_start - len(row))
            for block in self.blocks
            for row in block.weights
        )


@dataclass(frozen=True)
class Flags:
    """What a reader of the translation should be warned of."""

    truncated: bool = False  # the limit of length ended it where it would have continued
    unknown: bool = False  # the source has characters that the vocabulary cannot spell
    looped: bool = False  # it went in circles and was ended
    split: bool = False  # a line was too long and was translated in several segments
    between_spans: bool = False  # without placeholders, only the text between spans is translated
    forced_spans: bool = False  # a span is where the model would not have put it


@dataclass(frozen=True)
class Candidate:
    """One translation of a text.

    `log_probs` has log P of each token and, unless it went in circles, of the end symbol, where
    `token_scores` were requested, else it may be None; `log_prob` is their sum, `length` their
    number, `score` what it was ranked by, after reranking if any. For a text of
    several segments, tokens are concatenated and scores are summed.
    """

    text: str
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...] | None
    log_prob: float
    length: int
    score: float
    ending: Ending


@dataclass(frozen=True)
class Translation:
    """The translation of one text; `n_best` has the requested number of candidates, best first.

    A blank text has one candidate: blank, no tokens, score 0. `source_tokens` is the number of
    tokens that the network read, without symbols; `confidence` the probability that the best
    translation is acceptable, if the model is calibrated (see `translator.confidence`).
    """

    source: str
    n_best: tuple[Candidate, ...]
    flags: Flags
    alignment: Alignment | None
    source_tokens: int = 0
    confidence: float | None = None

    @property
    def doubtful(self) -> bool:
        """Whether it is more probable that the translation is not acceptable."""
        return self.confidence is not None and self.confidence < DOUBTFUL

    @property
    def text(self) -> str:
        """The best translation."""
        return self.n_best[0].text

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the best translation."""
        return self.n_best[0].tokens

    @property
    def score(self) -> float:
        """What the search ranked the best translation by."""
        return self.n_best[0].score

    @property
    def log_prob(self) -> float:
        """Log P of the best translation."""
        return self.n_best[0].log_prob

    @property
    def log_probs(self) -> tuple[float, ...] | None:
        """Log P of each token of the best translation, and of its end symbol, if requested."""
        return self.n_best[0].log_probs


@dataclass(frozen=True)
class LiveHypothesis:
    """A hypothesis under way in a search: the text so far, and its score."""

    text: str
    score: float


@dataclass(frozen=True)
class PartialTranslation:
    """A translation under way.

    `stable` only grows and never changes; `tail` is the best guess of what follows. The last one is
    `done`: its tail is empty, and it has the whole `translation`. `beams` are the hypotheses under
    way, best first, if several compete.
    """

    stable: str
    tail: str
    done: bool
    translation: Translation | None
    beams: tuple[LiveHypothesis, ...] = ()


@dataclass(frozen=True)
class ScoredTranslation:
    """The probability of a given translation: log P of each token and of its end."""

    log_prob: float
    log_probs: tuple[float, ...]
    tokens: tuple[str, ...]
    perplexity: float
