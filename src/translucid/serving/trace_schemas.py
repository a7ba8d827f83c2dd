"""Bodies and answers of /v1/trace and its parts, of /v1/next and of /v1/patch."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from translucid.config import Count, ModelConfig
from translucid.decoding.config import SearchConfig
from translucid.decoding.tree import SearchTree
from translucid.engines.heads import DecoderRow
from translucid.interpret.cache_usage import CacheUsage
from translucid.interpret.head_roles import Role, TokenKind
from translucid.interpret.lens import EncoderReading, LensCell
from translucid.interpret.next_tokens import NextToken, PrefixToken, Rest
from translucid.interpret.patched_runs import Part
from translucid.interpret.patching import PatchedRun, Patching
from translucid.interpret.trace import Level, Origin, Side, Step, TraceToken
from translucid.serving.schemas import (
    Answer,
    AtMost,
    Body,
    ModelChoice,
    Name,
    SearchFields,
    Text,
    described,
)
from translucid.translator import Flags, TranslationRequest

Index = Annotated[int, Field(ge=0, le=1_000_000)]
Token = Annotated[int, Field(ge=0, le=2**31 - 1)]
Prefix = Annotated[list[Token], AtMost("max_prefix_tokens")]


class HeadFields(Body):
    """One attention head; layers and heads are counted from 0."""

    side: Side = Field(description="encoder, decoder (masked) or cross", examples=["cross"])
    layer: Index = Field(examples=[0])
    head: Index = Field(examples=[0])


class Sentence(ModelChoice):
    """A sentence, and the model that reads it."""

    text: Text = Field(description="one sentence, without line breaks", examples=["Le chat dort."])


class ChosenDecision(Body):
    """One decision between the translations of two sentences: a step, and two tokens there."""

    step: Index = Field(description="from 0", examples=[0])
    tokens: Annotated[list[Token], Field(min_length=2, max_length=2)] = Field(
        description="the two token ids that compete", examples=[[20, 21]]
    )


class TraceBody(Sentence):
    """A sentence whose translation is to be looked into, and how."""

    search: SearchFields | None = described(TranslationRequest, "search", None)
    level: Level = Field(
        "full", description="full: every number; light: tokens, attention, likeliest tokens"
    )
    given: Text | None = Field(
        None, description="look at this translation instead of searching for one", examples=[None]
    )
    prefix: Prefix = Field(
        [],
        description="token ids that the translation must begin with; the end symbol may be last",
    )
    without: Annotated[list[HeadFields], AtMost("max_without")] = Field(
        [], description="heads to switch off"
    )
    against: Text | None = Field(
        None,
        description="say where the difference from this sentence's translation is decided",
        examples=[None],
    )
    against_model: Name | None = Field(
        None,
        description="with against: model of the same shape and vocabulary that reads that one",
        examples=[None],
    )
    decision: ChosenDecision | None = Field(
        None,
        description="with against: the decision that is meant; left out: where translations part",
        examples=[None],
    )
    keep: bool = Field(
        True, description="false: answer, but keep nothing: the trace has no id and no tensors"
    )


class WordFields(Answer):
    """Which tokens make a word: [first, last + 1) of each, together all tokens."""

    source: list[tuple[int, int]]
    target: list[tuple[int, int]] = Field(description="of `target_tokens`")


class HeadRoleFields(Answer):
    """What one head does on this sentence, measured over its queries."""

    side: Side
    layer: int
    head: int
    role: Role = Field(description="what it does most; see `rule`")
    rule: str = Field(description="why it has this role")
    entropy: float = Field(description="of a row of weights, in nats")
    evenness: float = Field(description="entropy as a share of that of even attention")
    distance: float = Field(
        description="tokens from query to key; in cross-attention from the straight line between "
        "the sentences"
    )
    queries: int = Field(description="rows that were measured")
    shares: dict[TokenKind, float] = Field(
        description="share of the attention on each kind of token, over rows that have one"
    )


class ConfidenceFields(Answer):
    """How far to trust the translation, from its probabilities and its attention."""

    probability: float = Field(description="geometric mean over the tokens")
    least: float = Field(description="the lowest of them")
    least_step: int = Field(description="and at which step")
    source_share: list[float] = Field(
        description="for each step the share of cross-attention on words, not on symbols"
    )
    unseen: float = Field(description="share of source tokens that hardly any step looked at")
    repeated: float = Field(description="share of tokens that end a phrase said before")
    improbable: bool
    ignores_source: bool
    loops: bool
    doubtful: bool = Field(description="any of the three")
    warnings: list[str]


class TraceAnswer(Answer):
    """Everything that one translation did inside the network, but the tensors."""

    id: str | None = Field(description="null if the trace is not kept")
    bytes: int = Field(description="what its tensors take")
    version: int
    level: Level
    model_name: str
    model_hash: str
    model: ModelConfig
    search: SearchConfig
    origin: Origin = Field(description="whether the translation was searched for or given")
    target: str = Field(description="language of the translation")
    without: list[HeadFields] = Field(description="heads that were switched off")
    source: str
    translation: str
    source_tokens: list[TraceToken] = Field(description="what the encoder read")
    target_tokens: list[TraceToken] = Field(description="what the decoder read, from <s> on")
    prefix_length: int = Field(description="number of first steps that were forced")
    steps: list[Step] = Field(description="what was written after each of `target_tokens`")
    tree: SearchTree | None = Field(description="null where nothing was searched for")
    flags: Flags
    log_prob: float
    score: float
    alignment_heads: list[tuple[int, int]] = Field(description="(layer, head) of cross-attention")
    alignment_row: DecoderRow
    cache: CacheUsage
    pieces: dict[str, str] = Field(description="the piece of every token id mentioned")
    patching: Patching | None = Field(description="of a trace against another sentence")
    words: WordFields
    heads: list[HeadRoleFields] = Field(description="what every head does on this sentence")
    confidence: ConfidenceFields
    tensors: dict[str, list[int]] = Field(description="the shape of every tensor by its name")


class LensAnswer(Answer):
    """What the network would have said if it had stopped early."""

    logit: list[list[LensCell]] = Field(
        description="logit lens: one row per decoder layer, one cell per step; the last row is the "
        "network"
    )
    decoder: list[EncoderReading] = Field(
        description="decoder lens: what the decoder does reading each encoder layer"
    )


class NextBody(Sentence):
    """A sentence and the beginning of its translation; what may come next is wanted."""

    prefix: Prefix | None = Field(None, description="the beginning, as token ids")
    prefix_text: Text | None = Field(
        None, description="the beginning, as text", examples=["The cat"]
    )
    temperature: float = described(SearchConfig, "temperature", 1.0)
    top_k: int = described(SearchConfig, "top_k", 0)
    top_p: float = described(SearchConfig, "top_p", 1.0)
    min_p: float = described(SearchConfig, "min_p", 0.0)
    count: Annotated[Count, AtMost("max_next")] = Field(20, description="tokens to list")


class NextAnswer(Answer):
    """The distribution of the next token, as sampling draws from it."""

    prefix: list[PrefixToken]
    entropy: float = Field(description="of the network's own softmax, in nats")
    entropy_kept: float = Field(description="after temperature and cuts")
    kept: int = Field(description="tokens that the cuts leave")
    tokens: list[NextToken] = Field(description="the most probable, best first")
    rest: Rest = Field(description="all that are not listed")


class PairBody(Sentence):
    """A sentence, and what it is compared with: another sentence, another model, or both."""

    against: Text = Field(
        description="the other sentence; with against_model it may be the same",
        examples=["Le chien dort."],
    )
    against_model: Name | None = Field(
        None, description="model of the same shape and vocabulary that reads the other sentence"
    )
    search: SearchFields | None = described(TranslationRequest, "search", None)
    without: Annotated[list[HeadFields], AtMost("max_without")] = Field(
        [], description="heads to switch off"
    )


class DecisionBody(PairBody):
    """Two sentences, and which decision between their translations is meant."""

    step: Index | None = Field(
        None, description="the decision, from 0; left out: where the translations part"
    )
    tokens: Annotated[list[Token], Field(min_length=2, max_length=2)] | None = Field(
        None, description="the two token ids that compete there; given with step"
    )


class PatchBody(DecisionBody):
    """Two sentences; where the difference between their translations is decided is wanted."""

    control: Text | None = Field(
        None, description="an unrelated sentence; left out: one of the lesson", examples=[None]
    )


class HeadMarginsBody(Sentence):
    """A sentence, and a decision in its translation that each head is tried on."""

    search: SearchFields | None = described(TranslationRequest, "search", None)
    prefix: Prefix = Field([], description="token ids that the translation must begin with")
    step: Index = Field(description="the decision, from 0", examples=[0])
    tokens: Annotated[list[Token], Field(min_length=2, max_length=2)] = Field(
        description="the two token ids that compete there", examples=[[20, 21]]
    )


class CellFields(Body):
    """A part of the network that can be patched, counted from 0."""

    part: Part = Field(
        description="source and target: states; encoder, decoder and cross: heads",
        examples=["cross"],
    )
    layer: Index = Field(
        description="of a head; of states, the number of layers behind them", examples=[0]
    )
    index: Index = Field(description="column of the source, head or position", examples=[0])


class PatchCellsBody(DecisionBody):
    """Two sentences, and cells that are to be patched together."""

    cells: Annotated[list[CellFields], AtMost("max_patch_cells")] = Field(
        description="cells taken from the other sentence"
    )


class PatchedAnswer(Answer):
    """What the two runs do with the cells of each other."""

    forward: PatchedRun = Field(description="the first sentence with cells of the second")
    backward: PatchedRun = Field(description="the second sentence with cells of the first")


class RepeatBody(DecisionBody):
    """Two sentences whose difference is to be tried in other sentences."""

    count: Annotated[Count, AtMost("max_patch_pairs")] = Field(
        10, description="pairs of sentences to measure"
    )
