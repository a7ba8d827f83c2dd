"""The translator: one translation a text, in order, whatever the text and whatever the batch."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import translucid
from small_translators import (
    reversed_translation,
    sentences,
    write_random_model,
    write_taught_model,
)
from translucid.decoding.config import SearchConfig
from translucid.errors import ConfigError, InputError, RenamedWarning
from translucid.events import Event, Progress
from translucid.text.normalization import NormalizingTokenizer
from translucid.translator import Translation, TranslationRequest, Translator, load
from translucid.translator.segmentation import MAX_SOURCE_TOKENS

QUICK = SearchConfig(beam=2, max_length=6)  # for networks whose translations are endless
METHODS = [
    SearchConfig(method="greedy"),
    SearchConfig(beam=3, n_best=3),
    SearchConfig(method="diverse", beam=4, groups=2, n_best=2),
    SearchConfig(method="sampling", samples=3, n_best=2, seed=5, temperature=1.5),
    SearchConfig(method="mbr", samples=4, seed=5, temperature=1.5),
    SearchConfig(coverage_penalty=0.2),
]


def texts(translations: list[Translation]) -> list[list[str]]:
    return [[candidate.text for candidate in one.n_best] for one in translations]


def test_translates(taught: Translator) -> None:
    sources = sentences(60, seed=5)
    found = taught.translate(sources, token_scores=True)
    assert [one.text for one in found] == [reversed_translation(text) for text in sources]
    assert [one.source for one in found] == sources
    first = found[0]
    assert first.log_probs is not None
    assert first.text == "".join(first.tokens).strip()
    assert len(first.log_probs) == len(first.tokens) + 1
    assert first.log_prob == pytest.approx(sum(first.log_probs))
    assert first.n_best[0].ending == "end"
    assert first.alignment is None


@pytest.mark.parametrize("search", METHODS, ids=lambda search: str(search.method))
def test_the_batch_changes_nothing(taught: Translator, search: SearchConfig) -> None:
    """Batch sizes, order and threads: the same texts, for every kind of search.

    Scores differ in their last digits, as sums over other sizes are rounded otherwise; a text could
    only change where two hypotheses are as near to each other as that. Here none are.
    """
    sources = sentences(80, seed=6)
    expected = texts(taught.translate(sources, search=search, batch_size=64))
    order = random.Random(1).sample(range(len(sources)), len(sources))
    shuffled = taught.translate([sources[n] for n in order], search=search, batch_size=7)
    assert texts(shuffled) == [expected[n] for n in order]
    assert texts(taught.translate(sources[:20], search=search, batch_size=1)) == expected[:20]


def test_the_number_of_threads_changes_nothing(taught: Translator, babbling: Translator) -> None:
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(
                (
                    texts(taught.translate(sentences(10, seed=7))),
                    texts(babbling.translate(["The cat sat.", "L'eau est ici."], search=QUICK)),
                )
            )
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]


def test_untrained_networks_do_not_depend_on_the_batch_either(babbling: Translator) -> None:
    sources = ["The cat sat on the mat.", "Où est l'eau ?", "a", "31 books", "« Non », dit-il."] * 4
    search = SearchConfig(beam=3, n_best=2, max_length=15)
    each = [texts(babbling.translate(sources, search=search, batch_size=n)) for n in (1, 7, 64)]
    assert each[0] == each[1] == each[2]


NASTY = [
    "",
    "   ",
    "\t \u3000",
    "\x00",
    "\x00\x01\x7f",
    "a\x00b",
    "😀👩‍👩‍👧",
    "中文",
    "שלום עולם",
    "مرحبا\u202e",
    "line\rbreak",
    "\r",
    "a\u2028b\u0085c",
    "\ufeffbom",
    "▁ ▁▁",
    "</s> <pad> <unk>",
    "e\u0301",
    "z" * 3000,
    "...!!!???" * 300,
]


def check_lines(sources: list[str], found: list[Translation]) -> None:
    assert len(found) == len(sources)
    for source, one in zip(sources, found, strict=True):
        assert one.source == source
        lines, written = source.split("\n"), one.text.split("\n")
        assert len(lines) == len(written)
        for line, translation in zip(lines, written, strict=True):
            if not line.strip():
                assert translation == line
        if not source.strip():
            assert (one.tokens, one.score) == ((), 0)
            assert not any(vars(one.flags).values())


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
def test_nasty_texts_come_through(tmp_path: Path, kind: str) -> None:
    translator = load(write_random_model(tmp_path / kind, kind=kind))
    found = translator.translate(NASTY, search=QUICK, alignment=True)
    check_lines(NASTY, found)
    together = "\n".join(NASTY)
    check_lines([together], translator.translate([together], search=QUICK))
    by_source = dict(zip(NASTY, found, strict=True))
    assert by_source["中文"].flags.unknown == (kind in ("word", "char"))
    assert by_source["z" * 3000].flags.split == (kind != "word")


@settings(max_examples=25)
@given(
    st.lists(
        st.lists(st.text(max_size=8) | st.sampled_from(["\n", "\r\n", " ", "le chat", "\x00"]))
        .map("".join)
        .filter(lambda text: text.isprintable() or "\n" in text or len(text) < 8),
        max_size=6,
    )
)
def test_line_in_is_line_out(babbling: Translator, sources: list[str]) -> None:
    check_lines(sources, babbling.translate(sources, search=QUICK, batch_size=3))


def test_a_line_of_20000_words_is_split_and_nothing_is_lost(taught: Translator) -> None:
    words = " ".join(sentences(8000, seed=1)).split()[:20_000]
    line = " ".join(words)
    (asked,) = taught.encode([line], taught.build_request(target="en")).encoded
    assert " ".join(part.text for part in asked.segmented.segments) == line
    assert all(len(part.tokens) <= MAX_SOURCE_TOKENS for part in asked.segmented.segments)
    found = taught.translate([line, "chat"], search=SearchConfig(method="greedy"))
    assert found[0].flags.split
    assert not found[1].flags.split
    assert len(found[0].text.split()) >= len(asked.segmented.segments) >= 20_000 / MAX_SOURCE_TOKENS
    assert found[0].text.count("\n") == 0
    assert found[1].text == "cat"


def test_sentences_of_a_long_line_are_translated_by_themselves(tmp_path: Path) -> None:
    translator = load(write_random_model(tmp_path / "short", positions="learned", max_positions=20))
    first, second = "The cat sat on the mat.", "Where is the water?"
    search = SearchConfig(beam=2, max_length=5)
    alone = translator.translate([first, second], search=search)
    (both,) = translator.translate([f"{first}  {second}"], search=search)
    assert both.flags.split
    assert not alone[0].flags.split
    assert both.text == f"{alone[0].text}  {alone[1].text}"
    assert both.score == pytest.approx(alone[0].score + alone[1].score, abs=1e-4)


def test_learned_positions_limit_source_and_translation(tmp_path: Path) -> None:
    translator = load(write_random_model(tmp_path / "short", positions="learned", max_positions=20))
    (found,) = translator.translate(["untracatloading " * 30], search=SearchConfig(beam=2))
    assert found.flags.split


@torch.inference_mode()
def test_lines_have_no_breaks_inside_whatever_the_network_wants(tmp_path: Path) -> None:
    translator = load(write_random_model(tmp_path / "breaks", tying="none"), engine="pytorch")
    model, breaks = translator.members[0].model, translator.tokenizer.encode("\n\r")[-2:]
    norm = cast("nn.LayerNorm", model.decoder.norm)
    norm.weight.zero_()  # so that the states are the bias, whatever was read
    model.output_projection.weight[breaks] = 10 * norm.bias
    source = torch.tensor([[30, 31]])
    assert set(model(source, source)[0].topk(2).indices.flatten().tolist()) == set(breaks)
    for method in ("greedy", "beam", "sampling"):
        search = SearchConfig(method=method, max_length=20)  # type: ignore[arg-type]
        found = translator.translate(["The cat sat."] * 3, search=search)
        assert all(one.tokens for one in found)
        assert not any("\n" in one.text or "\r" in one.text for one in found)


def test_long_translations_are_flagged(taught: Translator) -> None:
    short = SearchConfig(method="greedy", max_length=2)
    (found,) = taught.translate(["chat noir dort"], search=short, token_scores=True)
    assert found.log_probs is not None
    assert found.text == "sleeps black"
    assert found.flags.truncated
    assert found.n_best[0].ending == "limit"
    assert len(found.log_probs) == len(found.tokens) + 1
    (found,) = taught.translate(["chat noir dort"])
    assert not found.flags.truncated


def test_a_translation_that_just_fits_is_not_truncated(taught: Translator) -> None:
    for method in ("greedy", "beam"):
        search = SearchConfig(method=method, max_length=3)  # type: ignore[arg-type]
        (found,) = taught.translate(["chat noir dort"], search=search)
        assert (found.text, found.n_best[0].ending) == ("sleeps black cat", "end")
        assert not found.flags.truncated


@pytest.mark.parametrize("length", [1, 2, 3])
def test_with_a_tight_limit_n_best_lists_no_text_twice_and_nothing_beyond(
    taught: Translator, length: int
) -> None:
    search = SearchConfig(beam=4, n_best=4, max_length=length)
    for found in taught.translate(sentences(20, seed=5), search=search, token_scores=True):
        assert len({candidate.text for candidate in found.n_best}) == len(found.n_best) == 4
        for candidate in found.n_best:
            assert len(candidate.tokens) <= length
            assert len(candidate.log_probs) == len(candidate.tokens) + 1
        scores = [candidate.score for candidate in found.n_best]
        assert scores == sorted(scores, reverse=True)


def test_a_beam_cut_short_says_what_it_can(taught: Translator) -> None:
    """Not the empty translation, which ends by itself and is less probable."""
    (found,) = taught.translate(["chat noir dort"], search=SearchConfig(max_length=2))
    assert found.tokens
    assert found.flags.truncated


def test_loops_are_flagged(tmp_path: Path) -> None:
    translator = load(write_random_model(tmp_path / "looping", tying="none"))
    model = translator.members[0].model
    with torch.no_grad():  # whatever has come, the states are the same, and so is the next token
        model.decoder.norm.weight.zero_()  # type: ignore[operator]
    (found,) = translator.translate(["The cat"], search=SearchConfig(method="greedy"))
    assert len(set(found.tokens)) == 1
    assert found.flags.looped
    assert found.n_best[0].ending == "loop"
    unguarded = SearchConfig(method="greedy", loop_guard=False)
    (endless,) = translator.translate(["The cat"], search=unguarded)
    assert len(endless.tokens) > len(found.tokens)
    assert endless.flags.truncated
    assert not endless.flags.looped


def test_n_best_of_a_text_in_parts(taught: Translator) -> None:
    search = SearchConfig(beam=4, n_best=4)
    one, two = taught.translate(["chat noir", "livre"], search=search)
    (both,) = taught.translate(["chat noir\nlivre"], search=search)
    assert len(both.n_best) == 4
    assert both.text == "black cat\nbook"
    scores = [candidate.score for candidate in both.n_best]
    assert scores == sorted(scores, reverse=True)
    sums = sorted((a.score + b.score for a in one.n_best for b in two.n_best), reverse=True)
    assert scores == pytest.approx(sums[:4], abs=1e-4)


def test_prefixes_begin_their_translations(taught: Translator) -> None:
    found = taught.translate(["chat noir", "chat noir", "\n livre"], prefix=["red", "", "old"])
    assert found[0].text.startswith("red ")
    assert found[1].text == "black cat"
    assert found[2].text.startswith("\n old")


def test_a_prefix_may_be_longer_than_the_source(taught: Translator) -> None:
    prefix = " ".join(["old"] * 70)
    (found,) = taught.translate(["chat"], prefix=[prefix], search=SearchConfig(loop_guard=False))
    assert found.text.startswith(prefix)


@pytest.mark.parametrize("beam", [1, 4])
def test_terms_are_in_the_translation(taught: Translator, beam: int) -> None:
    terms = {"chat": "tree", "noir": "old dog", "maison": "water"}
    found = taught.translate(
        ["chat noir", "livre rouge"], terms=terms, search=SearchConfig(beam=beam)
    )
    assert "tree" in found[0].text
    assert "old dog" in found[0].text
    assert "water" not in found[0].text
    assert found[1].text == "red book"


def test_terms_of_other_texts_change_nothing(taught: Translator) -> None:
    """A batch in which some have no term, some one and some several."""
    terms = {"chat": "tree", "noir": "old dog", "maison": "water"}
    sources = sentences(24, seed=9)
    search = SearchConfig(beam=3, n_best=2)
    together = texts(taught.translate(sources, terms=terms, search=search))
    assert together == texts(taught.translate(sources, terms=terms, search=search, batch_size=1))


def test_terms_may_be_longer_than_the_source(taught: Translator) -> None:
    term = " ".join(map(reversed_translation, sentences(30, seed=4)))
    assert len(term.split()) > 60
    (found,) = taught.translate(["chat"], terms={"chat": term}, search=SearchConfig(beam=1))
    assert term in found.text


@pytest.mark.parametrize(
    ("prefixes", "terms", "message"),
    [
        (["", "old old old"], {}, "text 2: its prefix of 3 tokens and its terms of 0 do not fit"),
        (None, {"noir": "a b"}, "cannot be written"),
        (
            None,
            {"noir": "old red tree"},
            "text 2: its prefix of 0 tokens and its terms of 3 do not",
        ),
        (
            ["", "dog"],
            {"noir": "old tree"},
            "text 2: its prefix of 1 tokens and its terms of 2 do not",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    taught: Translator, prefixes: list[str] | None, terms: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        taught.translate(
            ["chat", "noir"], prefix=prefixes, terms=terms, search=SearchConfig(max_length=2)
        )


def test_forbidden_words_are_not_written(taught: Translator) -> None:
    free, without = (
        taught.translate(["chat noir"], forbidden=words)[0].text for words in ([], ["cat", "black"])
    )
    assert free == "black cat"
    assert not {"cat", "black"} & set(without.split())
    *_, last = taught.stream("chat noir", forbidden=["cat", "black"])
    assert last.stable == without


def test_words_that_a_model_of_lower_case_is_told_may_have_capitals(taught: Translator) -> None:
    lower = Translator(
        name="lower",
        tokenizer=NormalizingTokenizer(taught.tokenizer, lowercase=True, plain_typography=False),
        engines=taught.engines,
        generation=taught.generation.replace(lowercase=True),
    )
    assert lower.translate(["Chat NOIR"])[0].text == "black cat"
    written = lower.translate(["chat noir"], forbidden=["Cat", "BLACK"])[0].text
    assert written == taught.translate(["chat noir"], forbidden=["cat", "black"])[0].text
    (found,) = lower.translate(["le chat"], terms={"Chat": "Dog"}, prefix=["Old"])
    assert found.text.startswith("old")
    assert "dog" in found.text


def test_a_word_that_is_no_token_cannot_be_forbidden(babbling: Translator) -> None:
    with pytest.raises(InputError, match=r"'catalogue' cannot be forbidden: .*written as"):
        babbling.translate(["a"], forbidden=["catalogue"])
    with pytest.raises(InputError, match="' ' cannot be forbidden: no token of the vocabulary"):
        babbling.translate(["a"], forbidden=[" "])


def test_progress_is_told(taught: Translator) -> None:
    events: list[Event] = []
    taught.translate(["chat", "noir\n\nlivre", ""], batch_size=2, on_event=events.append)
    assert events == [
        Progress("translate", 2, 3, "sentences"),
        Progress("translate", 3, 3, "sentences"),
    ]


def test_nothing_to_do(taught: Translator) -> None:
    assert taught.translate([]) == []
    assert taught.translate(["", " \n"])[1].text == " \n"


def test_inputs_are_normalised_as_the_training_text(tmp_path: Path) -> None:
    translator = load(write_random_model(tmp_path / "nfc"))
    composed, decomposed = translator.translate(
        ["où été", "ou\u0300 e\u0301te\u0301"], search=QUICK
    )
    assert composed.text == decomposed.text
    assert decomposed.source == "ou\u0300 e\u0301te\u0301"


TWO_WAYS = {"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 4, "fr": 5}}


def test_the_target_language_is_the_tag_that_the_source_begins_with(tmp_path: Path) -> None:
    translator = load(write_random_model(tmp_path / "both", generation=TWO_WAYS))
    assert translator.directions == (("fr", "en"), ("en", "fr"))
    assert translator.languages == ("en", "fr")
    (french,) = translator.translate(["The cat"], target="fr", search=QUICK, alignment=True)
    (english,) = translator.translate(["The cat"], target="en", search=QUICK, alignment=True)
    assert french.text != english.text
    assert french.alignment is not None
    assert english.alignment is not None
    assert french.alignment.source_tokens[0] == "<tag1>"
    assert english.alignment.source_tokens[0] == "<tag0>"


def test_the_target_language_must_be_said_where_there_are_several(tmp_path: Path) -> None:
    translator = load(write_random_model(tmp_path / "both", generation=TWO_WAYS))
    with pytest.raises(InputError, match=r"both translates into en, fr: say which \(target"):
        translator.translate(["a"])
    with pytest.raises(InputError, match=r"both does not translate into 'de' but into en, fr$"):
        translator.translate(["a"], target="de")


def test_the_model_directory_says_how_to_search(tmp_path: Path) -> None:
    generation = {"beam": 7, "length_penalty": 0.25, "extra_length": 9}
    translator = load(write_random_model(tmp_path / "m", generation=generation))
    assert translator.default_search == SearchConfig(
        method="beam", beam=7, length_penalty=0.25, extra_length=9
    )


def test_one_text_has_one_translation(taught: Translator) -> None:
    assert taught.translate("chat noir", beam=2) == taught.translate(["chat noir"], beam=2)[0]


def test_options_are_fields_of_the_request_or_settings_of_the_search(taught: Translator) -> None:
    by_name = taught.translate(["chat noir"], beam=3, n_best=2, terms={"noir": "red"})
    request = TranslationRequest(
        search=taught.default_search.replace(beam=3, n_best=2), terms={"noir": "red"}
    )
    assert by_name == taught.translate(["chat noir"], request)
    assert taught.translate(["chat noir"], request, n_best=1)[0].n_best == by_name[0].n_best[:1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beems": 3}, "unknown option 'beems'; .*beam"),
        ({"method": "greedy", "beam": 3}, "beam is not used by the method 'greedy'"),
        ({"temperature": 0.5}, "temperature is not used by the method 'beam'"),
        ({"max_length": 3, "extra_length": 2}, "both set the same limit"),
        ({"method": "gready"}, "method = 'gready'.*greedy"),
        ({"n_best": 9}, "n_best = 9, but the method 'beam' finds at most"),
        ({"method": "sampling", "terms": {"chat": "cat"}}, "terms need the method 'beam'"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    taught: Translator, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        taught.translate(["chat"], **options)


def test_the_first_versions_names_work_with_a_notice(taught: Translator) -> None:
    with pytest.warns(RenamedWarning, match="prefixes is now called prefix"):
        old = taught.translate(["chat"], prefixes=["old"])
    assert old == taught.translate(["chat"], prefix="old")


def test_texts_that_can_be_read_only_once_are_all_translated(taught: Translator) -> None:
    given = sentences(5, seed=3)
    expected = [one.text for one in taught.translate(given)]
    assert [one.text for one in taught.translate(text for text in given)] == expected
    scored = taught.score(iter(given), iter(expected))
    assert [one.log_prob for one in scored] == [
        one.log_prob for one in taught.score(given, expected)
    ]


def test_what_must_be_and_may_not_be_is_refused_in_words(taught: Translator) -> None:
    with pytest.raises(InputError, match="the term 'chat' must become 'cat', and a word of that"):
        taught.translate(["chat"], terms={"chat": "cat"}, forbidden=["cat"])
    with pytest.raises(ConfigError, match="forbidden = 'cat': give a list of texts"):
        taught.translate(["chat"], forbidden="cat")


def test_what_is_no_text_is_refused(taught: Translator) -> None:
    with pytest.raises(InputError, match="number 2 of texts is None, NoneType: give strings"):
        taught.translate(["chat", None])  # type: ignore[list-item]


def test_prefixes_that_are_not_one_a_text_are_refused(taught: Translator) -> None:
    with pytest.raises(InputError, match="1 prefixes for 2 texts: give one per text, '' for none"):
        taught.translate(["chat", "noir"], prefix=["a"])


@pytest.mark.parametrize("prefix", ["unheard-of", "red\nold"])
def test_a_prefix_that_cannot_be_written_is_refused(taught: Translator, prefix: str) -> None:
    with pytest.raises(InputError, match="cannot begin a translation: it has several lines, or"):
        taught.translate(["chat"], prefix=[prefix])


def test_an_empty_batch_is_refused(taught: Translator) -> None:
    with pytest.raises(InputError, match="batch_size = 0: a batch has at least 1 sentence"):
        taught.translate(["chat"], batch_size=0)


def test_half_a_character_is_refused_with_its_place(babbling: Translator) -> None:
    with pytest.raises(InputError, match=r"text 2: character 3 of the text is the lone surrogate"):
        babbling.translate(["fine", "ab\ud800"])


def test_the_package_has_the_translator(taught_folder: Path) -> None:
    assert translucid.Translator is Translator
    assert translucid.load(taught_folder).translate(["chat"])[0].text == "cat"
    assert {"load", "Translator"} <= set(dir(translucid))
    with pytest.raises(AttributeError, match="has no attribute 'transalte'"):
        translucid.transalte  # noqa: B018


def test_an_ensemble_of_a_model_with_itself_is_the_model(
    taught_folder: Path, tmp_path: Path
) -> None:
    copy = write_taught_model(tmp_path / "copy")
    single, double = load(taught_folder, engine="pytorch"), load(taught_folder, copy)
    assert double.name == "taught + copy"
    sources = sentences(20, seed=8)
    for search in (SearchConfig(n_best=2), SearchConfig(coverage_penalty=0.3)):
        one = single.translate(sources, search=search, alignment=True)
        two = double.translate(sources, search=search, alignment=True)
        assert texts(one) == texts(two)
        assert [a.score for a in one] == pytest.approx([b.score for b in two], abs=1e-5)
        assert [a.alignment and a.alignment.links for a in one] == [
            b.alignment and b.alignment.links for b in two
        ]
    scored = zip(single.score(sources, sources), double.score(sources, sources), strict=True)
    assert all(a.log_prob == pytest.approx(b.log_prob, abs=1e-4) for a, b in scored)


def test_an_ensemble_averages_probabilities(taught_folder: Path, tmp_path: Path) -> None:
    """Two different networks: P of a translation, token by token, is the mean of theirs."""
    folders = [write_random_model(tmp_path / f"{seed}", seed=seed) for seed in (1, 2)]
    one, two, both = load(folders[0]), load(folders[1]), load(*folders)
    pair = (["The cat sat."], ["Le chat"])
    first, second, mean = (torch.tensor(t.score(*pair)[0].log_probs) for t in (one, two, both))
    assert torch.allclose(mean.exp(), (first.exp() + second.exp()) / 2, atol=1e-6)
