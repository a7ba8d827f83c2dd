"""Languages: their English names, and which of the served ones a text is in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from translucid.errors import optional


@dataclass(frozen=True)
class DetectedLanguage:
    """A language, and how sure the recogniser is of it among those it chose from, 0 to 100."""

    confidence: float
    language: str


def detect(text: str, languages: Sequence[str]) -> list[DetectedLanguage]:
    """Return the languages in the order of how well a text fits them; one that is unknown is last.

    The recogniser's scores add up over features that overlap; divided by √bytes they are near to
    log-odds.
    """
    rank = optional("py3langid", extra="serve", job="Detecting languages").rank
    scores = dict(rank(text))
    scale = math.sqrt(max(1, len(text.encode())))
    known = {code: scores[base] / scale for code in languages if (base := _base(code)) in scores}
    best = max(known.values(), default=0.0)
    weights = {code: math.exp(score - best) for code, score in known.items()}
    total = sum(weights.values())
    found = [DetectedLanguage(round(100 * w / total, 1), code) for code, w in weights.items()]
    unknown = [DetectedLanguage(0.0, code) for code in languages if code not in known]
    return sorted(found, key=lambda one: -one.confidence) + unknown


def _base(code: str) -> str:
    """Return the language of a code such as zh-Hans, as the recogniser writes it."""
    return code.replace("_", "-").partition("-")[0].lower()


NAMES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian",
    "bg": "Bulgarian", "bn": "Bengali", "br": "Breton", "bs": "Bosnian", "ca": "Catalan",
    "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian",
    "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "jv": "Javanese",
    "ka": "Georgian", "kk": "Kazakh", "km": "Khmer", "kn": "Kannada", "ko": "Korean",
    "ku": "Kurdish", "la": "Latin", "lb": "Luxembourgish", "lo": "Lao", "lt": "Lithuanian",
    "lv": "Latvian", "mg": "Malagasy", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian",
    "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "my": "Burmese", "nb": "Norwegian",
    "ne": "Nepali", "nl": "Dutch", "nn": "Norwegian", "no": "Norwegian", "oc": "Occitan",
    "pa": "Punjabi", "pl": "Polish", "ps": "Pashto", "pt": "Portuguese", "qu": "Quechua",
    "ro": "Romanian", "ru": "Russian", "rw": "Kinyarwanda", "se": "Sámi", "si": "Sinhala",
    "sk": "Slovak", "sl": "Slovenian", "so": "Somali", "sq": "Albanian", "sr": "Serbian",
    "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai",
    "tl": "Tagalog", "tr": "Turkish", "ug": "Uyghur", "uk": "Ukrainian", "ur": "Urdu",
    "uz": "Uzbek", "vi": "Vietnamese", "wo": "Wolof", "xh": "Xhosa", "yi": "Yiddish",
    "yo": "Yoruba", "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip


def language_name(code: str) -> str:
    """Return the English name of a language, or its code where none is known."""
    return NAMES.get(code.partition("-")[0].lower(), code)
