"""TMX, the exchange format of translation memories (versions 1.1 to 1.4).

A unit (``tu``) holds variants (``tuv``) in several languages. A unit with several variants of a
wanted language, such as ``fr-FR`` and ``fr-CA`` for ``fr``, gives every combination: each is a
translation that somebody approved. A unit that lacks one of the two languages is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from translucid.data.corpus.corpus import Corpus, Pair
from translucid.data.corpus.report import ReadReport, Skip
from translucid.data.corpus.xml_units import XML_LANG, Element, XmlFile, inline_text
from translucid.errors import DataError
from translucid.text.languages import matches


def read_tmx(corpus: Corpus, report: ReadReport) -> Iterator[Pair]:
    """Yield the pairs of a translation memory."""
    (path,) = corpus.paths
    present: Counter[str] = Counter()
    found = False
    for unit in XmlFile(path, root="tmx", units=("tu",), languages=corpus.languages).read(report):
        variants = _variants(unit)
        sources, targets = (
            [text for code, text in variants if matches(language, code)]
            for language in corpus.languages
        )
        if sources and targets:
            found = True
        else:
            present.update({code for code, _ in variants})
            shown = " | ".join(f"{code}: {text}" for code, text in variants)
            report.skip(Skip.MISSING_LANGUAGE, unit.sourceline, shown)
        for source in sources:
            for target in targets:
                yield Pair(source, target, unit.sourceline)
    if present and not found:
        languages = ", ".join(f"{code} ({count:,})" for code, count in present.most_common(10))
        raise DataError(
            path,
            f"no unit holds both {corpus.source_lang} and {corpus.target_lang}; "
            f"languages in the file: {languages}",
            remedy="Give two of these as --from and --to.",
        )


def _variants(unit: Element) -> list[tuple[str, str]]:
    """Return language and text of each variant, in the order of the file."""
    variants = []
    for tuv in unit.iterchildren("{*}tuv"):
        segment = tuv.find("{*}seg")
        if segment is not None:
            code = tuv.get(XML_LANG) or tuv.get("lang") or "?"
            variants.append((code, inline_text(segment)))
    return variants
