"""From a model directory to translations.

::

    loading.py           model directories → a translator; several are an ensemble
    translator.py        the translator: translate, stream, score
    translation.py       what it returns
    order.py             texts as parts for a search, and back, for callers that search themselves
    asking, parts,       a text in lines and parts, and what is asked of the search for each:
    sentences, terms,    words that it must have, words that it may not have
    forbidding
    member, searching    a network that takes part, and the search for a batch
    batches, assembly    similar lengths together; parts joined to the translation of a text
    source_language      which of a model's languages a text is in, where nobody says it
    reading_back         a network of the other direction has a say in which hypothesis is the best
    streaming, scoring   a translation as it grows; how probable a given one is
    attention, alignment where the decoder looks, and so which words belong together
    confidence           the probability that a translation is acceptable
    alignment_heads,     the heads that align best; finding them with text.lexical
    head_search
"""

from translucid.translator.alignment_heads import AlignmentHeads, keep_alignment_heads
from translucid.translator.confidence import Calibration, calibrate, keep_calibration
from translucid.translator.head_search import find_alignment_heads
from translucid.translator.loading import load
from translucid.translator.reading_back import ReadingBack
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
    "ReadingBack",
    "Scored",
    "SourceLanguages",
    "Translation",
    "Translator",
    "calibrate",
    "find_alignment_heads",
    "keep_alignment_heads",
    "keep_calibration",
    "keep_source_languages",
    "load",
]
