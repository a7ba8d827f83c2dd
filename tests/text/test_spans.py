"""Protected spans: what is found, that it comes back, and that no text can make it slow."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.text.placeholders import (
    Protected,
    count_placeholders,
    get_placeholder,
    insert_placeholders,
    is_intact,
    protect,
)
from translucid.text.spans import SpanFinder, localize_amount
from translucid.text.tokenizer import PLACEHOLDER_PIECES, PLACEHOLDERS

FRENCH = SpanFinder(source="fr", target="en")


def protected_text(finder: SpanFinder, text: str) -> Protected | None:
    spans = finder.find(text)
    return protect(insert_placeholders(text, spans), spans)


FOUND = [
    ("Voir https://ex.com/a(b)?x=1, puis (http://foo.bar/x).", "https://ex.com/a(b)?x=1"),
    ("Voir https://ex.com/a, puis (http://foo.bar/x).", "http://foo.bar/x"),
    ("Écrivez à jean.dupont@exemple.fr.", "jean.dupont@exemple.fr"),
    ("le fichier /etc/passwd, vraiment", "/etc/passwd"),
    ("dans ~/x/y.txt.", "~/x/y.txt"),
    (r"C:\Users\jean\a.txt est là", r"C:\Users\jean\a.txt"),
    ("lisez README.md d'abord", "README.md"),
    ("tapez `ls -l` ici", "`ls -l`"),
    ("<code>x = 1</code> marche", "<code>x = 1</code>"),
    ("%d fichiers", "%d"),
    ("bonjour %(name)s !", "%(name)s"),
    ("de %1$s à %2$s", "%2$s"),
    ("bonjour {name} !", "{name}"),
    ("bonjour {{ user.name }} !", "{{ user.name }}"),
    ("chez ${HOME}", "${HOME}"),
    ("{count, plural, one {# file} other {# files}} ici", None),
    ("Fini 👨‍👩‍👧‍👦🇫🇷 !", "👨‍👩‍👧‍👦🇫🇷"),
    ("le 2024-05-01 à midi", "2024-05-01"),
    ("appelez le 01 23 45 67 89", "01 23 45 67 89"),
    ("appelez le +33 1 23 45 67 89", "+33 1 23 45 67 89"),
    ("version v1.2.3-rc1 et 192.168.0.1", "192.168.0.1"),
    ("compte FR76 3000 6000 0112 3456 7890 189", "FR76 3000 6000 0112 3456 7890 189"),
    ("il a payé 1 234,56 €", "1 234,56"),
    ("@jean et #merci", "#merci"),
]
PLAIN = [
    "50 % des gens, soit 100%",
    "oui et/ou non, 90 km/h",
    "a < b et c > d",
    "M. Dupont est arrivé.Il part.",
    "etc. Voilà, p. ex. ceci",
    "Il a 3,5 ans à 12:30 en 2004.",
    "C'est l'été : vraiment ?",
    "Qu'est-ce que c'est que ça ?",
    "les inscrit.es et auteur.es, tout est fini.Il part",
    "et/ou.Il faut, he/she.they, 2,5/3.5 points, he left.so did I",
    "si a<b et c>d alors",
    "en %des ventes (%de la population), a %discount",
    "IT24 WITH SOME TEXT; rooms",
]


@pytest.mark.parametrize(("text", "span"), FOUND)
def test_what_is_not_translated_is_found(text: str, span: str | None) -> None:
    found = [text[one.start : one.end] for one in FRENCH.find(text)]
    assert (span or text.removesuffix(" ici")) in found


@pytest.mark.parametrize("text", PLAIN)
def test_prose_has_no_spans(text: str) -> None:
    assert FRENCH.find(text) == []


def test_words_to_keep_are_found_whole_and_the_longest_first() -> None:
    finder = SpanFinder(keep=["Acme", "Acme Corp", "C++"])
    text = "Acme Corp, Acme, Acmes et C++."
    assert [text[s.start : s.end] for s in finder.find(text)] == ["Acme Corp", "Acme", "C++"]


def test_words_to_keep_do_not_cut_addresses() -> None:
    finder = SpanFinder(keep=["jean", "github", "C", "a.py script"])
    text = r"jean, jean@ex.org, github.com/x, C:\Users\x et a.py script"
    assert [span.source for span in finder.find(text)] == [
        *("jean", "jean@ex.org", "github.com/x", r"C:\Users\x", "a.py script"),
    ]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("Ouvrez https://ex.org/{id}/edit ici", ["https://ex.org/{id}/edit"]),
        (
            "${HOME}/bin/{name}.txt et $HOME/.config/app.",
            ["${HOME}/bin/{name}.txt", "$HOME/.config/app"],
        ),
        (r"%APPDATA%\foo, {n}/jour", [r"%APPDATA%\foo", "{n}"]),
        ("%d%% de %s:%s", ["%d%%", "%s:%s"]),
        ("%s: %s", ["%s", "%s"]),
        (
            "Example.com, GitHub.com/a/b, PHOTO.JPG ;)",
            ["Example.com", "GitHub.com/a/b", "PHOTO.JPG", ";)"],
        ),
    ],
)
def test_what_belongs_together_is_one_span(text: str, spans: list[str]) -> None:
    assert [span.source for span in SpanFinder().find(text)] == spans


AMOUNTS = [
    ("fr", "en", "-1 234,56 € puis +3 500,50", ["1,234.56", "€", "3,500.50"]),
    ("fr", "en", "le 0 800 123 456, arXiv:1706.03762", ["0 800 123 456"]),
    ("en", "fr", "arXiv:1706.03762, IDEA 2023.2", []),
    ("en", "fr", "1234.5 dollars", ["1234,5"]),
    ("de", "en", "1.234.567 Menschen", ["1,234,567"]),
    ("fr", "en", "version 1.234.567", ["1.234.567"]),
]


@pytest.mark.parametrize(("source", "target", "text", "written"), AMOUNTS)
def test_amounts_and_what_only_looks_like_one(
    source: str, target: str, text: str, written: list[str]
) -> None:
    assert [span.text for span in SpanFinder((), source, target).find(text)] == written


def test_tags_that_belong_together_share_a_number() -> None:
    protected = protected_text(FRENCH, "<p>Un <b>gros</b> <br> chat</p> <i>ici")
    assert protected is not None
    names = dict(zip(PLACEHOLDERS, PLACEHOLDER_PIECES, strict=True))
    assert "".join(names.get(c, c) for c in protected.text) == (
        "<open0>Un <open1>gros<close1> <mark0> chat<close0> <mark1>ici"
    )


def test_a_text_with_more_spans_than_placeholders_has_none() -> None:
    assert protected_text(FRENCH, "%s " * 8) is not None
    assert protected_text(FRENCH, "%s " * 9) is None


def test_an_amount_gets_the_separators_of_the_target_language() -> None:
    protected = protected_text(FRENCH, "Il a payé 1 234,56 € à 3,5 %.")
    assert protected is not None
    assert protected.restore(protected.text) == "Il a payé 1,234.56 € à 3,5 %."


@given(number=st.integers(1000, 10**12), fraction=st.none() | st.integers(0, 999))
def test_an_amount_there_and_back_is_the_same(number: int, fraction: int | None) -> None:
    english = f"{number:,}" + ("" if fraction is None else f".{fraction}")
    for language in ("fr", "de", "en"):
        there = localize_amount(english, "en", language)
        assert localize_amount(there, language, "en") == english
        assert "".join(filter(str.isdigit, there)) == "".join(filter(str.isdigit, english))


pieces = st.sampled_from([text for text, _ in FOUND] + PLAIN) | st.text(
    st.sampled_from("<>/b ai{}%s$`@.:'\"&;#-0123,\\ 😀" + PLACEHOLDERS[:2] + PLACEHOLDERS[9])
)


@given(texts=st.lists(pieces, max_size=4))
def test_every_text_comes_back(texts: list[str]) -> None:
    text = " ".join(texts)
    finder = SpanFinder(keep=["chat"])
    spans = finder.find(text)
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    assert all(span.start < span.end for span in spans)
    pairs = [span.pair for span in spans if span.pair is not None]
    assert all(pairs.count(pair) == 2 for pair in pairs)
    protected = protected_text(finder, text)
    if protected is not None:
        assert protected.restore(protected.text) == text
        assert is_intact(protected.text, protected.text)
        outside = "".join(
            text[a:b]
            for a, b in zip(
                [0, *(s.end for s in spans)], [*(s.start for s in spans), len(text)], strict=True
            )
        )
        assert not count_placeholders(outside)


def test_a_translation_is_intact_with_each_placeholder_once_and_tags_nested() -> None:
    word, other = get_placeholder("word", 0), get_placeholder("word", 1)
    o0, c0 = get_placeholder("open", 0), get_placeholder("close", 0)
    o1, c1 = get_placeholder("open", 1), get_placeholder("close", 1)
    assert is_intact(f"a {word} {other}", f"{other} b {word}")
    assert not is_intact(f"a {word}", "a")
    assert not is_intact(f"a {word}", f"{word} {word}")
    assert not is_intact("a", f"a {word}")
    source = f"{o0}a{o1}b{c1}{c0}"
    assert is_intact(source, f"{o1}b{c1}{o0}a{c0}")
    assert not is_intact(source, f"{o0}a{o1}b{c0}{c1}")
    assert not is_intact(source, f"{c0}a{o1}b{c1}{o0}")


@pytest.mark.parametrize(
    ("source", "written", "restored"),
    [
        ("the %d files", "les ⟨0⟩fichiers", "les %d fichiers"),
        ("open\t%s now", "ouvrir⟨0⟩ici", "ouvrir %s ici"),
        ("%d file%s", "⟨0⟩ fichier⟨1⟩", "%d fichier%s"),
        ("see %s.", "voir⟨0⟩.", "voir %s."),
        ("see %s", "見る⟨0⟩を", "見る%sを"),
    ],
)
def test_words_do_not_touch_what_they_did_not_touch(
    source: str, written: str, restored: str
) -> None:
    protected = protected_text(SpanFinder(), source)
    assert protected is not None
    for slot in (0, 1):
        written = written.replace(f"⟨{slot}⟩", get_placeholder("word", slot))
    assert protected.restore(written) == restored


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("unknown %%%s()", ["%%%s"]),
        ("mode ~3%s~2 of 50%", ["%s"]),
        ("%sCommand %F%P: on %Y-%m-%d", ["%s", "%F%P", "%Y-%m-%d"]),
        ("%%X is 100%sure", ["%%"]),
        ("%2lludays %ldfiles", ["%2llu", "%ld"]),
        ("50 %des gens, 50%d'eau", []),
    ],
)
def test_percent_signs(text: str, spans: list[str]) -> None:
    assert [span.source for span in SpanFinder().find(text)] == spans
