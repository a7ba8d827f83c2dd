"""From a model directory to translations.

::

    loading           model directories → a translator; several are an ensemble
    translator        the translator: translate, stream, score
    request           what is wanted of a translation, and its texts as inputs of the decoder
    segmentation      a text in lines and segments, with placeholders for what is not translated
    searching         the search for a batch of segments, by the networks in `member`
    assembly          hypotheses of segments joined to translations of texts
    translation       what a translator returns
    batches           similar lengths together, several batches in parallel
    source_language   which of a model's languages a text is in
    rerank            a model of the other direction helps to choose among hypotheses
    streaming         a translation while it grows
    scoring           the probability of a given translation
    alignment         which words belong together, from what the decoder attends to
    alignment_heads   the heads that align best; `head_search` finds them
    confidence        the probability that a translation is acceptable
"""

from translucid.translator.alignment_heads import AlignmentHeads, keep_alignment_heads
from translucid.translator.confidence import Calibration, calibrate, keep_calibration
from translucid.translator.head_search import find_alignment_heads
from translucid.translator.loading import load
from translucid.translator.request import TranslationRequest
from translucid.translator.rerank import Reranker
from translucid.translator.source_language import SourceLanguages, keep_source_languages
from translucid.translator.translation import (
    Alignment,
    Candidate,
    Flags,
    LiveBeam,
    Partial,
    Scored,
    Translation,
)
from translucid.translator.translator import Translator

__all__ = [
    "Alignment",
    "AlignmentHeads",
    "Calibration",
    "Candidate",
    "Flags",
    "LiveBeam",
    "Partial",
    "Reranker",
    "Scored",
    "SourceLanguages",
    "Translation",
    "TranslationRequest",
    "Translator",
    "calibrate",
    "find_alignment_heads",
    "keep_alignment_heads",
    "keep_calibration",
    "keep_source_languages",
    "load",
]
