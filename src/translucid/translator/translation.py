"""What a translator returns: the text, and everything one may want to know of it."""

from __future__ import annotations

from dataclasses import dataclass

from translucid.decoding.hypothesis import Ending

DOUBTFUL = 0.5  # the confidence below which a translation needs a second look


@dataclass(frozen=True)
class Block:
    """The alignment of a part that was translated by itself.

    It begins at these tokens of the whole; `weights[t][s]` counts from there.
    """

    source_start: int
    target_start: int
    weights: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Alignment:
    """Which source tokens each target token looked at.

    `source_tokens` are what the network read: the tag of the target language, if it has tags, and
    the end symbol `</s>` are among them, for it looks at those too. Parts that were translated by
    themselves could not look at each other: `blocks` has one per segment.

    `links` is hard and of words as spaces divide them: pairs (source word, target word) from 0,
    for each target word its best source word. Where a script has no spaces, a token is a word.
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    blocks: tuple[Block, ...]
    links: tuple[tuple[int, int], ...]

    @property
    def weights(self) -> tuple[tuple[float, ...], ...]:
        """How much each target token t attended to each source token s, [t][s]; a row sums to 1.

        Made anew at each call; for a text in very many parts the blocks take far less room.
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

    truncated: bool = False  # the limit of length ended it where it would have gone on
    unknown: bool = False  # the source has characters that the vocabulary cannot spell
    looped: bool = False  # it went in circles, and was ended
    split: bool = False  # a line was too long, and was translated in several parts
    between_spans: bool = False  # the model knows no placeholders: what is between was translated
    forced_spans: bool = False  # a span stands where the model would not have put it


@dataclass(frozen=True)
class Candidate:
    """One translation of a text.

    `log_probs` holds log P of each token, and last that of the end symbol, which only what went in
    circles has not; `log_prob` is their sum, `score` what the search ranked by, and what a reader
    added to it (see `translator.rerank`). For a text translated in several parts, tokens are
    joined and scores are summed.
    """

    text: str
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]
    log_prob: float
    score: float
    ending: Ending


@dataclass(frozen=True)
class Translation:
    """The translation of one text; `n_best` has as many candidates as were asked for, best first.

    A blank text has the blank translation, no tokens and score 0, and no other candidates.
    `source_tokens` is how many tokens the network read, symbols not counted; `confidence` the
    probability that the best translation is acceptable, where the model knows (see
    `translator.confidence`).
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
    def log_probs(self) -> tuple[float, ...]:
        """Log P of each token of the best translation, and of its end symbol."""
        return self.n_best[0].log_probs


@dataclass(frozen=True)
class LiveBeam:
    """A hypothesis that a search follows at the moment: the text so far, and its score."""

    text: str
    score: float


@dataclass(frozen=True)
class Partial:
    """A translation under way.

    `stable` never changes any more, it only grows; `tail` is what the search holds for best behind
    it. The last one is `done`: nothing is left in its tail, and it has the whole `translation`.
    `beams` are the hypotheses under way where several compete, best first.
    """

    stable: str
    tail: str
    done: bool
    translation: Translation | None
    beams: tuple[LiveBeam, ...] = ()


@dataclass(frozen=True)
class Scored:
    """How probable a network holds a given translation: log P of each token and of its end."""

    log_prob: float
    log_probs: tuple[float, ...]
    tokens: tuple[str, ...]
    perplexity: float
