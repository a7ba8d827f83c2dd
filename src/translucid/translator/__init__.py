"""From a model directory to translations.

::

    loading           model directories → a translator; several are an ensemble
    translator        the translator: translate, stream, score
    request           the options of a translation, and texts as inputs of the decoder
    segmentation      a text as lines and segments, with placeholders for protected spans
    search            the search for segments, in batches and threads, by the engines
    assembly          hypotheses of segments joined to translations of texts
    translation       what a translator returns
    alignment         which words belong together
    head_selection    find the heads that show it (with PyTorch; not imported here)
    confidence        the probability that a translation is acceptable
    source_language   which of a model's languages a text is in
    rerank            a model of the other direction helps to choose among hypotheses
    streaming         a translation while it grows
    scoring           the probability of a given translation
"""

from translucid.engines.heads import AlignmentHeads, save_alignment_heads
from translucid.translator.confidence import Calibration, calibrate, save_calibration
from translucid.translator.loading import load
from translucid.translator.request import TranslationRequest
from translucid.translator.rerank import Reranker
from translucid.translator.source_language import (
    SourceLanguages,
    read_source_languages,
    save_source_languages,
)
from translucid.translator.translation import (
    Alignment,
    Candidate,
    Flags,
    LiveHypothesis,
    PartialTranslation,
    ScoredTranslation,
    Translation,
)
from translucid.translator.translator import Translator

__all__ = [
    "Alignment",
    "AlignmentHeads",
    "Calibration",
    "Candidate",
    "Flags",
    "LiveHypothesis",
    "PartialTranslation",
    "Reranker",
    "ScoredTranslation",
    "SourceLanguages",
    "Translation",
    "TranslationRequest",
    "Translator",
    "calibrate",
    "load",
    "read_source_languages",
    "save_alignment_heads",
    "save_calibration",
    "save_source_languages",
]
