"""What is asked for and answered by /v1/translate, /v1/translate/stream and /v1/score."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from translucid.decoding.stepper import Ending
from translucid.serving.schemas import (
    Answer,
    AtMost,
    Body,
    Prefix,
    SearchFields,
    Terms,
    Text,
    Texts,
    TogetherAtMost,
    Words,
)

Name = Annotated[str, Field(max_length=200)]
Language = Annotated[str, Field(max_length=35)]  # the longest tag that RFC 5646 asks to allow for


class RequestBody(Body):
    """What is wanted of a translation, beside the text."""

    model: Name | None = Field(
        None, description="name of a model; left out: the first one that has the languages"
    )
    source: Language | None = Field(
        None, description="language of the text, where models have several", examples=["fr"]
    )
    target: Language | None = Field(
        None,
        description="language to translate into; left out: the only one that there is, or the one "
        "for the language that the texts together are in",
        examples=["en"],
    )
    search: SearchFields | None = Field(
        None, description="how to search; left out: the model's own way"
    )
    terms: Terms | None = Field(
        None,
        description="words of the source, and what they must become (beam search only)",
        examples=[None],
    )
    forbidden: Words = Field([], description="words that no translation may have")
    keep: Words = Field(
        [], description="words and phrases that are not translated", examples=[["Translucid"]]
    )
    alignment: bool = Field(False, description="also return what each word looked at")


class TranslateBody(RequestBody):
    """Texts to translate, and how."""

    texts: Texts = Field(description="what to translate", examples=[["Le chat dort."]])
    prefixes: Annotated[list[Prefix], AtMost("max_texts")] | None = Field(
        None, description="for each text what its translation must begin with, '' for nothing"
    )


class StreamBody(RequestBody):
    """One text to translate while the client watches, and how."""

    text: Text = Field(description="what to translate", examples=["Le chat dort."])
    prefix: Prefix = Field("", description="what the translation must begin with")


class ScoreBody(Body):
    """Texts and their translations, to be scored."""

    sources: Texts = Field(description="texts", examples=[["Le chat dort."]])
    targets: Annotated[list[Text], AtMost("max_texts"), TogetherAtMost("max_total_characters")] = (
        Field(description="a translation for each text", examples=[["The cat is asleep."]])
    )
    model: Name | None = Field(None, description="name of a model")
    source: Language | None = Field(None, description="language of the texts", examples=["fr"])
    target: Language | None = Field(
        None,
        description="language of the translations; left out: as for /v1/translate",
        examples=["en"],
    )


class FlagFields(Answer):
    """What a reader of a translation should be warned of."""

    truncated: bool = Field(description="the limit of length ended it where it would have gone on")
    unknown: bool = Field(description="the text has characters that the vocabulary cannot spell")
    looped: bool = Field(description="it went in circles, and was ended")
    split: bool = Field(description="a line was too long, and was translated in parts")
    between_spans: bool = Field(
        description="it has tags, addresses or the like, for which the model has no placeholders: "
        "what is between them was translated piece by piece"
    )
    forced_spans: bool = Field(
        description="a tag, an address or the like stands where the model would not have put it"
    )


class CandidateFields(Answer):
    """One of the n best translations."""

    text: str
    tokens: list[str]
    log_probs: list[float] = Field(description="log P of each token, and last of the end symbol")
    log_prob: float = Field(description="log P of the whole translation")
    score: float = Field(description="what the search ranked by")
    ending: Ending = Field(description="by itself, at the limit of length, or in circles")


class AlignmentFields(Answer):
    """Which source tokens each target token looked at."""

    source_tokens: list[str]
    target_tokens: list[str]
    weights: list[list[float]] = Field(description="[target token][source token]; a row sums to 1")
    links: list[tuple[int, int]] = Field(description="[source word, target word], from 0")


class TranslationFields(Answer):
    """The translation of one text."""

    source: str = Field(description="the text as it was sent")
    text: str = Field(description="its best translation")
    score: float = Field(description="what the search ranked by")
    log_prob: float = Field(description="log P of the best translation")
    tokens: list[str] = Field(description="tokens of the best translation")
    log_probs: list[float] = Field(description="log P of each token, and last of the end symbol")
    confidence: float | None = Field(
        description="probability that the translation is acceptable (chrF 50 or more with a "
        "reference); null where the model cannot tell"
    )
    flags: FlagFields
    n_best: list[CandidateFields] = Field(description="the n best translations, best first")
    alignment: AlignmentFields | None = Field(description="null unless it was asked for")


class TranslateAnswer(Answer):
    """Translations in the order of the texts."""

    model: str = Field(description="the model that translated")
    source: str | None = Field(description="language of the texts, if the model tells")
    target: str = Field(description="language of the translations")
    translations: list[TranslationFields]


class ScoreFields(Answer):
    """How probable the model holds one translation."""

    log_prob: float = Field(description="log P of the whole translation, its end included")
    log_probs: list[float] = Field(description="log P of each token, and last of the end symbol")
    tokens: list[str]
    perplexity: float = Field(description="exp(-mean log P of a token)")


class ScoreAnswer(Answer):
    """Scores in the order of the texts."""

    model: str
    scores: list[ScoreFields]
