"""Language codes as people and tools write them: ``fr``, ``fr-FR``, ``FR_ca``, ``fra``, ``fre``;
the names of languages, and which of sacrebleu's tokenizers a language needs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from translucid.errors import InputError

# ISO 639: the two-letter code, then its three-letter codes (the terminological one, and where it
# differs the bibliographic one).
_ISO_639 = """
aa aar; ab abk; ae ave; af afr; ak aka; am amh; an arg; ar ara; as asm; av ava; ay aym; az aze;
ba bak; be bel; bg bul; bi bis; bm bam; bn ben; bo bod tib; br bre; bs bos; ca cat; ce che; ch cha;
co cos; cr cre; cs ces cze; cu chu; cv chv; cy cym wel; da dan; de deu ger; dv div; dz dzo; ee ewe;
el ell gre; en eng; eo epo; es spa; et est; eu eus baq; fa fas per; ff ful; fi fin; fj fij; fo fao;
fr fra fre; fy fry; ga gle; gd gla; gl glg; gn grn; gu guj; gv glv; ha hau; he heb; hi hin; ho hmo;
hr hrv; ht hat; hu hun; hy hye arm; hz her; ia ina; id ind; ie ile; ig ibo; ii iii; ik ipk; io ido;
is isl ice; it ita; iu iku; ja jpn; jv jav; ka kat geo; kg kon; ki kik; kj kua; kk kaz; kl kal;
km khm; kn kan; ko kor; kr kau; ks kas; ku kur; kv kom; kw cor; ky kir; la lat; lb ltz; lg lug;
li lim; ln lin; lo lao; lt lit; lu lub; lv lav; mg mlg; mh mah; mi mri mao; mk mkd mac; ml mal;
mn mon; mr mar; ms msa may; mt mlt; my mya bur; na nau; nb nob; nd nde; ne nep; ng ndo; nl nld dut;
nn nno; no nor; nr nbl; nv nav; ny nya; oc oci; oj oji; om orm; or ori; os oss; pa pan; pi pli;
pl pol; ps pus; pt por; qu que; rm roh; rn run; ro ron rum; ru rus; rw kin; sa san; sc srd; sd snd;
se sme; sg sag; sh hbs; si sin; sk slk slo; sl slv; sm smo; sn sna; so som; sq sqi alb; sr srp;
ss ssw; st sot; su sun; sv swe; sw swa; ta tam; te tel; tg tgk; th tha; ti tir; tk tuk; tl tgl;
tn tsn; to ton; tr tur; ts tso; tt tat; tw twi; ty tah; ug uig; uk ukr; ur urd; uz uzb; ve ven;
vi vie; vo vol; wa wln; wo wol; xh xho; yi yid; yo yor; za zha; zh zho chi; zu zul
"""
_SHORT = {long: entry.split()[0] for entry in _ISO_639.split(";") for long in entry.split()[1:]} | {
    "iw": "he",
    "in": "id",
    "ji": "yi",
}  # two-letter codes that ISO has replaced

_CODE = re.compile(r"[A-Za-z]{2,3}([-_@][A-Za-z0-9]{2,8})*")
_SIDE_WORDS = {"source": 0, "src": 0, "target": 1, "tgt": 1, "trg": 1}


@lru_cache(maxsize=4096)
def parse_code(code: str) -> tuple[str, ...]:
    """Return the parts of a code in lower case, the language in two letters if it has such a code.

    ``FR_ca`` → ``("fr", "ca")``; ``fra`` → ``("fr",)``; ``sr_RS.UTF-8@latin`` →
    ``("sr", "rs", "latin")``.
    """
    plain = re.sub(r"\.[^@]*", "", code.strip().lower())
    language, *rest = re.split(r"[-_@]", plain)
    return (_SHORT.get(language, language), *rest)


@lru_cache(maxsize=4096)
def matches(wanted: str, found: str) -> bool:
    """Return whether a code found in a file means the wanted language.

    ``fr`` matches every region and script (``fr-FR``, ``FR_ca``, ``fra``); ``fr-CA`` only itself.
    """
    language, *rest = parse_code(wanted)
    other, *others = parse_code(found)
    return language == other and set(rest) <= set(others)


def are_compatible(wanted: str, found: str) -> bool:
    """Return whether a file with one code for all of its text can be in the wanted language.

    ``pt`` and ``pt-BR`` are, either way round; ``pt-PT`` and ``pt-BR`` are not.
    """
    return matches(wanted, found) or matches(found, wanted)


def is_code(text: str) -> bool:
    """Return whether a text has the form of a language code."""
    return _CODE.fullmatch(text) is not None


def check_languages(source_lang: str, target_lang: str) -> None:
    """Refuse invalid codes, and two codes that cannot be distinguished."""
    for code in (source_lang, target_lang):
        if not is_code(code):
            raise InputError(
                f"{code!r} is not a language code: give two or three letters, and a region or "
                "script where it matters, such as fr, deu or pt-BR"
            )
    if matches(source_lang, target_lang) or matches(target_lang, source_lang):
        raise InputError(
            f"source language {source_lang!r} and target language {target_lang!r} cannot be told "
            "apart: give two languages, or both with their region, such as pt-BR and pt-PT"
        )


def find_side(name: str, languages: tuple[str, str]) -> int | None:
    """Return the side that a column, field or file name means: 0 source, 1 target, None neither.

    A name means a side by its language code (``pt`` also ``pt-BR``, unless the other side is
    Portuguese too), or by ``source``, ``src``, ``target``, ``tgt``, ``trg``.
    """
    for fits in (matches, are_compatible):
        sides = [side for side, wanted in enumerate(languages) if fits(wanted, name)]
        if len(sides) == 1:
            return sides[0]
    return _SIDE_WORDS.get(name.strip().lower())


@lru_cache(maxsize=1024)
def find_sides(names: tuple[str, ...], languages: tuple[str, str]) -> tuple[int, int] | None:
    """Return the positions of the source's and the target's name among names, if both exist.

    The exact code wins over one with a region, and that over the words ``source`` and ``target``.
    """
    source, target = (_find_name(names, side, languages) for side in (0, 1))
    return None if source is None or target is None else (source, target)


def _find_name(names: Sequence[str], side: int, languages: tuple[str, str]) -> int | None:
    wanted = languages[side]
    candidates = [i for i, name in enumerate(names) if find_side(name, languages) == side]

    def distance(position: int) -> int:
        name = names[position]
        return 0 if name == wanted else 1 if are_compatible(wanted, name) else 2

    return min(candidates, key=distance, default=None)


_WITHOUT_SPACES = {"zh": "zh", "ja": "char", "th": "char"}  # written without spaces


def bleu_tokenizer(language: str | None) -> str:
    """Return sacrebleu's tokenizer for a target language, ``13a`` if the language is unknown.

    Training and evaluation use the same one, so that their BLEU can be compared. ``zh`` and
    ``char`` treat characters as words. sacrebleu's tokenizer for Japanese needs another package,
    and a score must not depend on what happens to be installed.

    >>> bleu_tokenizer("de"), bleu_tokenizer("zh-Hant"), bleu_tokenizer("ja_JP")
    ('13a', 'zh', 'char')
    """
    if language is None:
        return "13a"
    return _WITHOUT_SPACES.get(re.split(r"[-_]", language.lower())[0], "13a")


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
