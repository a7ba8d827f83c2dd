"""The parts of an HTML report: one file, without scripts and without the network.

Everything from outside passes through `escape`. Tables are real tables with captions and header
cells; the browser finds the direction of a text.

`differences` matches words first, so that the marks do not fall apart into single letters that
happen to be in both texts; where one word replaces a similar one, its characters are matched::

    er lief [durch] den Park        er lief [in] den Park[s]
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

MAX_TEXT = 2000  # characters of a text that a report shows

_CONTROL = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"} | {
    0x7F: "\u2421",
    0x2028: "\u2424",
    0x2029: "\u2424",
    0x85: "\u2424",
}


def escape(text: str) -> str:
    """Return text for HTML; control characters become visible symbols."""
    return html.escape(text.translate(_CONTROL))


@dataclass(frozen=True)
class Column:
    """A column of a table: `kind` is "text", "number" or "prose" (sentences of any language)."""

    title: str
    kind: str


def table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are HTML; the first cell of a row is its header."""
    head = "".join(
        f'<th scope="col" class="{one.kind}">{escape(one.title)}</th>' for one in columns
    )
    body = "\n".join(f"<tr>{_row(columns, row)}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">\n'
        f"<table><caption>{escape(caption)}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n"
    )


def _row(columns: Sequence[Column], cells: Sequence[str]) -> str:
    first, *rest = zip(columns, cells, strict=True)
    return f'<th scope="row" class="{first[0].kind}">{first[1]}</th>' + "".join(
        f'<td class="{column.kind}">{cell}</td>' for column, cell in rest
    )


def bar(value: float | None, most: float, shown: str) -> str:
    """Return a number with a bar of its size below it."""
    share = 0.0 if value is None or not most else max(0.0, min(1.0, value / most))
    return (
        f'{escape(shown)}<span class="bar" aria-hidden="true">'
        f'<span style="width:{100 * share:.1f}%"></span></span>'
    )


def prose(text: str, language: str | None) -> str:
    """Return a text in its language, or a note that it is blank."""
    return _wrap(escape(_truncate(text)) if text.strip() else BLANK, text, language)


def mark_differences(text: str, other: str, what: str, language: str | None) -> str:
    """Return a text and mark what `other` lacks; `what` is "extra" or "missing"."""
    spans, _ = differences(_truncate(text), _truncate(other))
    inner = "".join(_mark(span, what) for span in spans) if text.strip() else BLANK
    return _wrap(inner, text, language)


BLANK = '<span class="blank">(blank)</span>'


def _truncate(text: str) -> str:
    return text[:MAX_TEXT]


def _mark(span: Span, what: str) -> str:
    text = escape(span.text)
    return f'<mark class="{what}">{text}</mark>' if span.differs else text


def _wrap(inner: str, text: str, language: str | None) -> str:
    spoken = f' lang="{escape(language)}"' if language else ""
    rest = len(text) - MAX_TEXT
    more = f'<small class="muted"> … and {rest:,} more characters</small>' if rest > 0 else ""
    return f'<span class="prose" dir="auto"{spoken}>{inner}</span>{more}'


def section(anchor: str, title: str, *parts: str) -> str:
    """Return a section of the page with a heading."""
    return (
        f'<section aria-labelledby="{anchor}">\n<h2 id="{anchor}">{escape(title)}</h2>\n'
        + "".join(parts)
        + "</section>\n"
    )


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(text)}</p>\n"


LEGEND = (
    '<p class="legend">In the reference, <mark class="missing">what the translation lacks</mark>; '
    'in the translation, <mark class="extra">what the reference lacks</mark>. A translation may '
    "differ and still be right.</p>\n"
)


def page(title: str, subtitle: str, contents: Sequence[tuple[str, str]], body: str) -> str:
    """Return a whole page; `contents` are anchors and titles of its sections."""
    links = "".join(f'<li><a href="#{anchor}">{escape(name)}</a></li>' for anchor, name in contents)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>
{_STYLE}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p class="muted">{escape(subtitle)}</p>
<nav aria-label="Contents"><ul>{links}</ul></nav>
</header>
<main>
{body}</main>
</body>
</html>
"""


_STYLE = """\
:root {
  color-scheme: light dark;
  --ground: #fbfbfd; --panel: #ffffff; --ink: #1a1c23; --muted: #5b6070; --line: #dfe1e8;
  --accent: #3355cc; --bar: #9db2f2; --extra: #fde3d8; --extra-line: #b3401a;
  --missing: #dcefdc; --missing-line: #23702b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14161c; --panel: #1c1f27; --ink: #e6e8ef; --muted: #a0a6b6; --line: #343946;
    --accent: #9db4ff; --bar: #4660b8; --extra: #4d2a1d; --extra-line: #ffab87;
    --missing: #1d3b24; --missing-line: #8fdc99;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 84rem;
  background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.75rem 0 .5rem; }
p { max-width: 48rem; margin: .4rem 0; }
a { color: var(--accent); }
code { font: .86em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
.muted, caption { color: var(--muted); }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 1rem;
  margin: 1.5rem 0 1rem; padding: 0; list-style: none; }
.cards li { background: var(--panel); border: 1px solid var(--line); border-radius: .6rem;
  padding: .8rem 1rem .9rem; }
.cards .name { display: block; color: var(--muted); font-size: .9rem; }
.cards .value { display: block; font-size: 1.9rem; line-height: 1.3; font-weight: 600;
  font-variant-numeric: tabular-nums; }
.cards .note { display: block; color: var(--muted); font-size: .85rem; }
.scroll { overflow-x: auto; margin: .75rem 0 1.25rem; border: 1px solid var(--line);
  border-radius: .6rem; background: var(--panel); }
.narrow { max-width: 32rem; }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: start; padding: .6rem .9rem; font-size: .9rem; }
th, td { padding: .5rem .9rem; text-align: start; vertical-align: top;
  border-top: 1px solid var(--line); }
thead th { font-size: .85rem; color: var(--muted); font-weight: 600; }
tbody th { font-weight: 600; }
th.number, td.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.prose { min-width: 11rem; width: 32%; }
.prose { white-space: pre-wrap; overflow-wrap: anywhere; }
span.prose { display: block; text-align: start; }
.bar { display: block; height: .35rem; min-width: 5rem; margin-top: .2rem; border-radius: .2rem;
  background: var(--line); overflow: hidden; }
.bar span { display: block; height: 100%; background: var(--bar); }
mark { color: var(--ink); border-radius: .15rem; padding: 0 .05rem; }
mark.extra { background: var(--extra); border-bottom: 2px solid var(--extra-line); }
mark.missing { background: var(--missing); border-bottom: 2px dashed var(--missing-line); }
.blank { color: var(--muted); font-style: italic; }
.flag { display: block; color: var(--extra-line); font-size: .8rem; font-weight: 400; }
.legend { color: var(--muted); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.25rem; }
dt { color: var(--muted); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; }
}
@media print { .scroll { overflow: visible; } body { padding: 0; max-width: none; } }
"""


_SIMILAR = 0.6  # words with less in common are different words
_MAX_PAIRS = 1_000_000  # of words or characters to match
_JOINERS = {"\u200d", "\u200c"}


class Span(NamedTuple):
    """A part of a text, and whether the other text lacks it."""

    text: str
    differs: bool


def differences(first: str, second: str) -> tuple[list[Span], list[Span]]:
    """Return both texts as spans; joined, the spans are the texts again."""
    words = _words(first), _words(second)
    if len(words[0]) * len(words[1]) > _MAX_PAIRS:
        same = first == second
        return [Span(first, not same)], [Span(second, not same)]
    left: list[Span] = []
    right: list[Span] = []
    matcher = SequenceMatcher(None, *words, autojunk=False)
    for tag, begin, end, begin2, end2 in matcher.get_opcodes():
        one, other = words[0][begin:end], words[1][begin2:end2]
        if tag == "replace":
            pieces = _match_characters("".join(one), "".join(other))
        else:
            pieces = [Span("".join(one), tag != "equal")], [Span("".join(other), tag != "equal")]
        left += pieces[0]
        right += pieces[1]
    return _merge(left), _merge(right)


def _match_characters(first: str, second: str) -> tuple[list[Span], list[Span]]:
    """Match the characters of two pieces, or mark all of them if they have little in common."""
    one, other = graphemes(first), graphemes(second)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if len(one) * len(other) > _MAX_PAIRS or matcher.ratio() < _SIMILAR:
        return [Span(first, True)], [Span(second, True)]
    left, right = [], []
    for tag, begin, end, begin2, end2 in matcher.get_opcodes():
        left.append(Span("".join(one[begin:end]), tag != "equal"))
        right.append(Span("".join(other[begin2:end2]), tag != "equal"))
    return left, right


def _words(text: str) -> list[str]:
    """Divide a text into runs of letters and digits, runs of white space, and single symbols."""
    words: list[str] = []
    before = "sign"
    for cluster in graphemes(text):
        kind = "word" if cluster[0].isalnum() else "space" if cluster.isspace() else "sign"
        if kind == before != "sign":
            words[-1] += cluster
        else:
            words.append(cluster)
        before = kind
    return words


def graphemes(text: str) -> list[str]:
    """Divide a text into graphemes: a letter with its marks is one.

    >>> [len(cluster) for cluster in graphemes("h" + "e" + chr(0x301) + "!")]
    [1, 2, 1]
    """
    found: list[str] = []
    for character in text:
        joins = character in _JOINERS or unicodedata.category(character)[0] == "M"
        if found and (joins or found[-1][-1] in _JOINERS):
            found[-1] += character
        else:
            found.append(character)
    return found


def _merge(spans: Sequence[Span]) -> list[Span]:
    """Join neighbours of one kind, and drop empty ones."""
    merged: list[Span] = []
    for span in spans:
        if merged and merged[-1].differs == span.differs:
            merged[-1] = Span(merged[-1].text + span.text, span.differs)
        elif span.text:
            merged.append(span)
    return merged
