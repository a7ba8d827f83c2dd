"""Preparation in one process: what ends up in the folder, and what does not."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from prepare_support import (
    corpora,
    files,
    pairs_of,
    prepare_pairs,
    removed,
    run,
    sentences,
    write_pairs,
)

from translucid.data.cleaning import CleaningConfig
from translucid.data.prepare import Inputs, PrepareConfig
from translucid.data.shards import open_data
from translucid.errors import BusyError, ConfigError, DataError, InputError
from translucid.events import Event, Notice
from translucid.text.normalization import comparison_key
from translucid.text.tokenizer import load_tokenizer

CHARACTERS = PrepareConfig(tokenizer="char")


def inputs_of(train: list[str], **given: object) -> Inputs:
    return Inputs(corpora(train), **{"dev": (), "test": (), "tokenizer_from": None, **given})


def notices(events: list[Event]) -> str:
    return "\n".join(event.message for event in events if isinstance(event, Notice))


# ---- content ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
def test_shards_hold_the_pairs_in_order_as_the_tokenizer_encodes_them(
    tmp_path: Path, kind: str
) -> None:
    train, dev = sentences(300), sentences(20, seed=1)
    data, report = prepare_pairs(
        tmp_path, train, PrepareConfig(tokenizer=kind, placeholders=0.0), dev=dev
    )
    tokenizer = load_tokenizer(data.tokenizer_path)
    assert (tokenizer.kind, report["tokenizer"]["kind"]) == (kind, kind)
    for name, pairs in (("train", train), ("dev", dev)):
        split = data.split(name)
        assert pairs_of(data, name) == pairs
        for i, pair in enumerate(pairs):
            for lang, text in zip(("fr", "en"), pair, strict=True):
                assert split.tokens(lang, i).tolist() == tokenizer.encode(text)
            assert split.origin(i) == (("train", "dev").index(name), i + 1)
    assert [entry.pairs for entry in data.manifest.corpora] == [300, 20]
    assert report["splits"]["train"]["tokens"] == data.manifest.splits["train"].tokens


TARGETS_ONLY = PrepareConfig(vocab_size=500, target_pieces_only=True, placeholders=0.0)


def test_targets_have_the_first_pieces_only(tmp_path: Path) -> None:
    train = sentences(300)
    dev = [(source, f"{target} élève forêt été") for source, target in sentences(20, seed=1)]
    data, report = prepare_pairs(tmp_path, train, TARGETS_ONLY, dev=dev)
    size, written = data.manifest.tokenizer.sizes
    assert (report["tokenizer"]["vocab_size"], report["tokenizer"]["target_pieces"]) == (
        *(size, written),
    )
    assert written < size
    tokenizer = load_tokenizer(data.tokenizer_path)
    writer = tokenizer.within(written)
    for name, pairs in (("train", train), ("dev", dev)):
        split = data.split(name)
        for i, (source, target) in enumerate(pairs):
            assert split.tokens("fr", i).tolist() == tokenizer.encode(source)
            assert split.tokens("en", i).tolist() == writer.encode(target)
    sources = max(int(data.split("train").tokens("fr", i).max()) for i in range(len(train)))
    assert sources >= written
    # Words of the source among the target's are spelled by smaller pieces, and come back.
    assert writer.decode(data.split("dev").tokens("en", 0).tolist()) == dev[0][1]


def test_every_pair_is_accounted_for(tmp_path: Path) -> None:
    good = sentences(100)
    bad = [
        ("", "empty"),
        ("même", "même"),
        ("a\ufffd", "b"),
        ("court", "x" * 500),
        ("<i>la</i> page est là", "the page is here"),
        *good[:7],  # duplicates
        ("LE CHAT; dort ICI", "something else"),  # in dev but for case and punctuation
        ("autre chose", "the cat sleeps here!"),  # in dev on the target side
    ]
    data, report = prepare_pairs(
        tmp_path, good + bad, dev=[("Le chat dort ici.", "The cat sleeps here.")]
    )
    assert removed(report) == {
        "damaged": 1,
        "empty": 1,
        "ratio": 1,
        "identical": 1,
        "markup": 1,
        "duplicate": 7,
        "held_out": 2,
    }
    assert pairs_of(data, "train") == good
    assert report["read"]["pairs"] == len(good + bad)
    assert report["read"]["pairs"] == len(good) + sum(removed(report).values())
    assert json.loads((data.folder / "report.json").read_text()) == report


def test_a_weight_and_the_files_are_in_the_manifest(tmp_path: Path) -> None:
    one, two = (
        write_pairs(tmp_path, "one", sentences(30)),
        write_pairs(tmp_path, "two", sentences(20, 1)),
    )
    run(inputs_of([*one, *(f"{name}@2.5" for name in two)]), tmp_path / "data", CHARACTERS)
    entries = open_data(tmp_path / "data").manifest.corpora
    assert [(entry.paths, entry.weight, entry.pairs) for entry in entries] == [
        (tuple(one), 1.0, 30),
        (tuple(two), 2.5, 20),
    ]


def test_of_two_corpora_with_the_same_pair_the_first_keeps_it(tmp_path: Path) -> None:
    one, two = (
        write_pairs(tmp_path, "one", sentences(30)),
        write_pairs(tmp_path, "two", sentences(40)),
    )
    run(inputs_of([*one, *two]), tmp_path / "data", CHARACTERS)
    assert [entry.pairs for entry in open_data(tmp_path / "data").manifest.corpora] == [30, 10]


def test_repaired_pairs_are_stored_repaired_and_reported_with_both_states(tmp_path: Path) -> None:
    data, report = prepare_pairs(tmp_path, [*sentences(10), ("dÃ©jÃ\xa0 vu  ici", "seen before")])
    assert pairs_of(data, "train")[-1] == ("déjà vu ici", "seen before")
    repaired = {entry["name"]: entry for entry in report["repaired"]}
    assert repaired["encoding"]["pairs"] == 1
    example = repaired["encoding"]["examples"][0]
    assert (example["line"], example["source_became"]) == (11, "déjà vu ici")
    assert example["file"].endswith("train.en")


def test_examples_are_the_first_twenty_however_the_corpus_is_cut(tmp_path: Path) -> None:
    pairs = [pair if i % 3 else ("", pair[1]) for i, pair in enumerate(sentences(120))]
    pairs += pairs[1:100:3]
    reports = [
        prepare_pairs(tmp_path, pairs, output=f"data{size}", chunk_pairs=size)[1]
        for size in (1000, 7, 64)
    ]
    assert reports[0] == reports[1] == reports[2]
    lines = {
        entry["name"]: [example["line"] for example in entry["examples"]]
        for entry in reports[0]["removed"]
    }
    assert lines["empty"] == list(range(1, 61, 3))
    assert lines["duplicate"] == list(range(121, 141))


def test_a_side_with_too_many_tokens_is_removed_from_training_only(tmp_path: Path) -> None:
    config = CHARACTERS.replace(cleaning=CleaningConfig(max_tokens=60))
    long = ("a b c " * 14, "d e f " * 9)
    data, report = prepare_pairs(
        tmp_path, [*sentences(20), long], config, dev=[("x y " * 20, "u v")]
    )
    assert removed(report) == {"too_many_tokens": 1}
    assert report["removed"][-1]["examples"][0]["line"] == 21
    assert len(data.split("dev").tokens("fr", 0)) > 60
    off = config.replace(cleaning=CleaningConfig(max_tokens=0))
    assert removed(prepare_pairs(tmp_path, [*sentences(20), long], off, output="off")[1]) == {}


def test_unknown_tokens_are_counted(tmp_path: Path) -> None:
    _, report = prepare_pairs(tmp_path, sentences(20), dev=[("le chat ζ", "the cat ζξ")])
    assert report["splits"]["train"]["unknown_tokens"] == {"fr": 0, "en": 0}
    assert report["splits"]["dev"]["unknown_tokens"] == {"fr": 1, "en": 2}


# ---- held-out data ------------------------------------------------------------------------------


def test_given_sets_keep_every_line_and_say_what_is_odd(tmp_path: Path) -> None:
    events: list[Event] = []
    dev = [("", "nothing"), ("le chat", "le chat"), ("le chat", "le chat"), ("x" * 3000, "y")]
    test = [("Le chat !", "a cat"), ("un", "one")]
    data, report = prepare_pairs(tmp_path, sentences(30), dev=dev, test=test, emit=events.append)
    assert pairs_of(data, "dev") == dev
    assert pairs_of(data, "test") == test
    assert "1 of 4 dev pairs have an empty side and are kept (line 1)" in notices(events)
    assert "2 of 4 dev pairs share a sentence with the test set" in notices(events)
    assert report["held_out"]["dev"]["kept_although"][0]["pairs"] == 1
    assert report["held_out"]["dev"]["from"] == "files"


def keys(pairs: list[tuple[str, str]], side: int) -> set[str]:
    return {comparison_key(pair[side]) for pair in pairs}


def test_a_split_shares_no_sentence_with_training(tmp_path: Path) -> None:
    pairs = [(f"Le chat {i % 290} dort.", f"The cat {i % 270} sleeps!") for i in range(600)]
    config = CHARACTERS.replace(split_dev=20, split_test=30)
    data, report = prepare_pairs(tmp_path, pairs, config)
    splits = {name: pairs_of(data, name) for name in ("train", "dev", "test")}
    assert (len(splits["dev"]), len(splits["test"])) == (20, 30)
    assert removed(report)["held_out"] > 0
    for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        for side in (0, 1):
            assert not keys(splits[one], side) & keys(splits[other], side)
    assert sum(map(len, splits.values())) + sum(removed(report).values()) == len(pairs)
    assert report["held_out"]["dev"]["from"] == "split"


def test_a_split_leaves_given_sets_alone(tmp_path: Path) -> None:
    test = [("le chat", "the cat")]
    config = CHARACTERS.replace(split_dev=5)
    data, _ = prepare_pairs(tmp_path, [*sentences(50), *test], config, test=test)
    assert (len(data.split("train")), len(data.split("dev")), len(data.split("test"))) == (45, 5, 1)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
def test_the_tokenizer_knows_nothing_of_held_out_text(tmp_path: Path, kind: str) -> None:
    """With and without the dev set it is the same file, and what is only in dev is not in it."""
    train, config = sentences(200), PrepareConfig(tokenizer=kind, vocab_size=600)
    dev = [("Ωmega zygote kwashiorkor", "Ωmega zygote")] * 50
    with_dev, _ = prepare_pairs(tmp_path, train, config, dev=dev)
    without, _ = prepare_pairs(tmp_path, train, config, output="without")
    assert with_dev.tokenizer_path.read_bytes() == without.tokenizer_path.read_bytes()
    tokenizer = load_tokenizer(with_dev.tokenizer_path)
    pieces = [tokenizer.piece(i) for i in range(tokenizer.vocab_size)]
    assert not [piece for piece in pieces if "Ω" in piece or "zyg" in piece]
    assert [piece for piece in pieces if "c" in piece]


def test_the_tokenizer_knows_nothing_of_pairs_that_a_split_holds_out(tmp_path: Path) -> None:
    """Every pair has a character of its own: the vocabulary has exactly those of training."""
    pairs = [(f"le chat {chr(0x4E00 + i)}", f"the cat {chr(0x4E00 + i)}") for i in range(60)]
    config = CHARACTERS.replace(split_dev=10, split_test=10)
    data, _ = prepare_pairs(tmp_path, pairs, config)
    tokenizer = load_tokenizer(data.tokenizer_path)
    known = {tokenizer.piece(i) for i in range(tokenizer.vocab_size)}
    for name in ("train", "dev", "test"):
        own = {text[-1] for text, _ in pairs_of(data, name)}
        assert own <= known if name == "train" else not own & known


def test_large_corpora_train_the_tokenizer_on_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from translucid.data.prepare import tokenization as vocabulary

    pairs = [(f"le chat {chr(0x4E00 + i)}", f"the cat {i}") for i in range(400)]
    monkeypatch.setattr(vocabulary, "SAMPLE_PAIRS", 100)
    sizes = set()
    for chunk in (1000, 30):
        data, _ = prepare_pairs(tmp_path, pairs, output=f"data{chunk}", chunk_pairs=chunk)
        tokenizer = load_tokenizer(data.tokenizer_path)
        pieces = {tokenizer.piece(i) for i in range(tokenizer.vocab_size)}
        sizes.add(len([piece for piece in pieces if piece >= "\u4e00"]))
    assert len(sizes) == 1
    assert 70 <= sizes.pop() <= 130


def test_a_sample_is_bounded_in_pairs_and_in_text() -> None:
    from translucid.data.prepare.tokenization import sample_share

    assert sample_share("bpe", 1_000_000, 200_000_000) == 1.0
    assert sample_share("bpe", 4_000_000, 10_000) == 0.25
    assert sample_share("bpe", 1_000, 2_000_000_000) == 0.1
    assert sample_share("unigram", 1_000, 400_000_000) == 0.1
    assert sample_share("char", 0, 0) == 1.0


# ---- directions and languages -------------------------------------------------------------------


def test_one_direction_has_no_tag_unless_wanted(tmp_path: Path) -> None:
    plain, _ = prepare_pairs(tmp_path, sentences(20))
    assert plain.manifest.directions == (("fr", "en"),)
    assert (plain.manifest.tagged, plain.manifest.languages) == (False, {"fr": 0, "en": 1})
    tagged, _ = prepare_pairs(tmp_path, sentences(20), CHARACTERS.replace(tags=True), output="t")
    assert tagged.manifest.tagged


def test_both_directions_have_tags_and_one_copy_of_the_text(tmp_path: Path) -> None:
    data, _ = prepare_pairs(tmp_path, sentences(20), CHARACTERS.replace(both=True))
    assert data.manifest.directions == (("fr", "en"), ("en", "fr"))
    assert data.manifest.tagged
    assert len(data.split("train")) == 20


def test_a_third_language_takes_over_tokenizer_and_tags(tmp_path: Path) -> None:
    config = PrepareConfig(both=True, vocab_size=400)
    first, _ = prepare_pairs(tmp_path, sentences(100), config)
    (tmp_path / "more.es").write_text("el gato duerme ñ\n" * 3, encoding="utf-8")
    (tmp_path / "more.en").write_text("the cat sleeps\n" * 3, encoding="utf-8")
    inputs = Inputs(
        corpora([str(tmp_path / "more.es"), str(tmp_path / "more.en")], "es", "en"),
        dev=(),
        test=(),
        tokenizer_from=first.folder,
    )
    run(inputs, tmp_path / "more")
    more = open_data(tmp_path / "more").manifest
    assert more.languages == {"fr": 0, "en": 1, "es": 2}
    assert (more.directions, more.tagged) == ((("es", "en"),), True)
    assert more.tokenizer == first.manifest.tokenizer
    assert (tmp_path / "more" / "tokenizer.model").read_bytes() == first.tokenizer_path.read_bytes()


def test_a_tokenizer_file_brings_no_languages(tmp_path: Path) -> None:
    first, _ = prepare_pairs(tmp_path, sentences(100))
    train = write_pairs(tmp_path, "more", sentences(10, seed=2))
    run(inputs_of(train, tokenizer_from=first.tokenizer_path), tmp_path / "more")
    more = open_data(tmp_path / "more").manifest
    assert (more.tagged, more.languages) == (False, {"fr": 0, "en": 1})
    assert more.tokenizer == first.manifest.tokenizer


def test_a_seventeenth_language_is_refused() -> None:
    from translucid.data.prepare.tokenization import assign_tag_slots

    assert assign_tag_slots({"fr": 0, "en": 2}, ("es", "de"))["de"] == 3
    full = {f"l{slot}": slot for slot in range(16)}
    assert assign_tag_slots(full, ("l3",)) == full
    with pytest.raises(InputError, match="no tag left for 'es': one tokenizer serves at most 16"):
        assign_tag_slots(full, ("es", "l1"))


# ---- vocabulary size ----------------------------------------------------------------------------


def test_a_vocabulary_that_the_text_cannot_fill_is_smaller_and_says_so(tmp_path: Path) -> None:
    events: list[Event] = []
    data, report = prepare_pairs(tmp_path, sentences(50), PrepareConfig(), emit=events.append)
    size = data.manifest.tokenizer.vocab_size
    assert 276 < size < 4000
    assert report["tokenizer"]["vocab_size"] == size
    assert f"has only {size:,} pieces; the vocabulary has these instead of 4,000" in notices(events)


def test_the_vocabulary_grows_with_the_data() -> None:
    from translucid.data.prepare.tokenization import default_vocab_size

    sizes = [default_vocab_size("bpe", pairs) for pairs in (1_000, 150_000, 5_000_000, 50_000_000)]
    assert sizes == [4_000, 8_000, 16_000, 32_000]
    assert default_vocab_size("word", 1_000) == 32_000
    assert default_vocab_size("char", 1_000) == 4_000


def test_padding_is_measured_as_training_will_see_it(tmp_path: Path) -> None:
    from translucid.data.batches import Batches, load_examples

    config = CHARACTERS.replace(batch_tokens=300)
    data, report = prepare_pairs(tmp_path, sentences(200), config)
    epoch = Batches(load_examples(data, "train"), 300, seed=0).epoch(0)
    assert report["padding"] == {"batch_tokens": 300, "share": round(epoch.padding_share, 6)}
    events: list[Event] = []
    small = CHARACTERS.replace(batch_tokens=10)
    _, report = prepare_pairs(tmp_path, sentences(20), small, output="s", emit=events.append)
    assert report["padding"]["share"] is None
    assert "does not fit into a batch of 10 tokens" in notices(events)


# ---- what is asked for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "config", "message"),
    [
        (
            "dev",
            PrepareConfig(split_dev=5),
            r"--dev gives a dev set and --split asks for another of 5 pairs; leave --dev out",
        ),
        ("test", PrepareConfig(split_test=5), "--test gives a test set and --split asks"),
        (
            "tokenizer_from",
            PrepareConfig(vocab_size=500),
            "--tokenizer-from takes over a vocabulary as it is; it cannot have --vocab-size 500",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(
    tmp_path: Path, change: str, config: PrepareConfig, message: str
) -> None:
    train = write_pairs(tmp_path, "train", sentences(10))
    value = tmp_path if change == "tokenizer_from" else corpora(train)
    with pytest.raises(InputError, match=message):
        run(inputs_of(train, **{change: value}), tmp_path / "data", config)
    assert not (tmp_path / "data").exists()


def test_a_language_that_cannot_be_a_file_name_is_refused(tmp_path: Path) -> None:
    train = write_pairs(tmp_path, "train", sentences(10))
    (corpus,) = corpora(train)
    odd = Inputs((type(corpus)(corpus.paths, "text", 1.0, "sr@latin", "en", None),), (), (), None)
    with pytest.raises(InputError, match=r"'sr@latin' would be part of file names.*'sr-latin'"):
        run(odd, tmp_path / "data")


def test_all_faults_of_a_config_are_told() -> None:
    with pytest.raises(ConfigError, match=r"(?s)2 faults.*tokenizer.*'bpe'.*seed"):
        PrepareConfig(tokenizer="bpee", seed=-1)


def test_a_corpus_of_which_nothing_is_left_says_why(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"no pair is left to train on: of 3 read.*\(identical sides: 3\)"
    ):
        prepare_pairs(tmp_path, [("a", "a"), ("b", "b"), ("c", "c")])
    with pytest.raises(DataError, match=r"of 0 read.*the files are empty"):
        prepare_pairs(tmp_path, [])
    assert not (tmp_path / "data").exists()


def test_an_empty_dev_set_is_refused(tmp_path: Path) -> None:
    train = write_pairs(tmp_path, "train", sentences(10))
    empty = corpora(write_pairs(tmp_path, "dev", []))
    with pytest.raises(DataError, match="the dev set has no pair"):
        run(inputs_of(train, dev=empty), tmp_path / "data")


def test_a_split_that_is_too_large_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--split 20,20 would hold out 40 of the 30 pairs"):
        prepare_pairs(tmp_path, sentences(30), PrepareConfig(split_dev=20, split_test=20))
    assert not (tmp_path / "data").exists()


# ---- what is there already ----------------------------------------------------------------------


def test_the_same_again_does_nothing_and_other_data_is_not_overwritten(tmp_path: Path) -> None:
    train, output = write_pairs(tmp_path, "train", sentences(30)), tmp_path / "data"
    assert not run(inputs_of(train), output, CHARACTERS).was_complete
    before = {path: path.stat().st_mtime_ns for path in output.rglob("*")}
    again = run(inputs_of(train), output, CHARACTERS)
    assert again.was_complete
    assert again.report["read"]["pairs"] == 30
    assert {path: path.stat().st_mtime_ns for path in output.rglob("*")} == before

    other = CHARACTERS.replace(seed=7, cleaning=CleaningConfig(max_ratio=9.0))
    with pytest.raises(
        InputError,
        match=r"prepared differently: seed \(there 0, now 7\), cleaning.max_ratio \(there 4.0, now "
        r"9.0\). Give another folder with -o, or --force",
    ):
        run(inputs_of(train), output, other)
    assert {path: path.stat().st_mtime_ns for path in output.rglob("*")} == before
    assert not run(inputs_of(train), output, other, force=True).was_complete
    assert open_data(output).manifest.settings["seed"] == 7


def test_a_changed_file_is_other_data(tmp_path: Path) -> None:
    train, output = write_pairs(tmp_path, "train", sentences(30)), tmp_path / "data"
    run(inputs_of(train), output, CHARACTERS)
    write_pairs(tmp_path, "train", sentences(31))
    with pytest.raises(InputError, match=r"train \(other files, content or weights\)"):
        run(inputs_of(train), output, CHARACTERS)


def test_force_replaces_everything_even_a_split_that_is_no_more(tmp_path: Path) -> None:
    prepare_pairs(tmp_path, sentences(50), CHARACTERS.replace(split_dev=5))
    expected, _ = prepare_pairs(tmp_path, sentences(50), output="expected")
    train = [str(tmp_path / "train.fr"), str(tmp_path / "train.en")]
    run(inputs_of(train), tmp_path / "data", CHARACTERS, force=True)
    assert files(tmp_path / "data") == files(expected.folder)


def test_a_damaged_folder_is_prepared_again(tmp_path: Path) -> None:
    data, _ = prepare_pairs(tmp_path, sentences(30))
    whole = files(data.folder)
    os.truncate(data.folder / "train" / "fr.text", 10)
    events: list[Event] = []
    again, _ = prepare_pairs(tmp_path, sentences(30), emit=events.append)
    assert "is damaged and will be prepared again" in notices(events)
    assert files(again.folder) == whole


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe"])
def test_a_manifest_that_cannot_be_read_is_not_overwritten(tmp_path: Path, content: bytes) -> None:
    data, _ = prepare_pairs(tmp_path, sentences(30))
    (data.folder / "manifest.json").write_bytes(content)
    with pytest.raises(
        InputError, match=r"(?s)has data that cannot be read. Give another.*--force"
    ):
        prepare_pairs(tmp_path, sentences(30))


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match=r"has other files \(thesis.tex…\) and no prepared data"):
        prepare_pairs(tmp_path, sentences(30))
    assert list(files(tmp_path / "data")) == ["thesis.tex"]
    with pytest.raises(InputError, match=r"train.fr is a file; give a folder"):
        prepare_pairs(tmp_path, sentences(30), output="train.fr")


def test_an_empty_folder_may_be_used_and_stays_when_preparation_fails(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(DataError):
        prepare_pairs(tmp_path, [("a", "a")])
    assert list((tmp_path / "data").iterdir()) == []
    prepare_pairs(tmp_path, sentences(30))


def test_work_for_other_settings_is_not_gone_on_with(tmp_path: Path) -> None:
    """Leave the work folder of a stopped run there, change a filter, and compare with a new run."""
    pairs = [*sentences(40), ("x", "y" * 100)]
    train, output = write_pairs(tmp_path, "train", pairs), tmp_path / "data"
    lenient = CHARACTERS.replace(cleaning=CleaningConfig(max_ratio=0.0))

    stop_at(output, "cleaned.json", lambda emit: run(inputs_of(train), output, lenient, emit=emit))
    assert (output / "unfinished" / "cleaned.json").exists()
    run(inputs_of(train), output, CHARACTERS)
    expected = tmp_path / "expected"
    run(inputs_of(train), expected, CHARACTERS)
    assert files(output) == files(expected)
    assert not (output / "unfinished").exists()


class Stop(BaseException):
    """Ends a run from inside, as a signal would."""


def stop_at(output: Path, name: str, start: Callable[..., object]) -> None:
    """Run until the work folder has a file of this name, and stop at the next event."""

    def emit(event: Event) -> None:
        if (output / "unfinished" / name).exists():
            raise Stop

    with pytest.raises(Stop):
        start(emit)


@pytest.mark.parametrize("moved", [0, 1, 3, 5])
def test_a_move_that_was_cut_off_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """Stop before the move into place and do the first steps of it by hand."""
    config = CHARACTERS.replace(split_dev=3, split_test=3)
    expected, _ = prepare_pairs(tmp_path, sentences(40), config, output="expected")
    train, output = [str(tmp_path / f"train.{lang}") for lang in ("fr", "en")], tmp_path / "data"

    def stop(*_: object) -> None:
        raise Stop

    with monkeypatch.context() as patch:
        patch.setattr("translucid.data.prepare.pipeline._publish", stop)
        with pytest.raises(Stop):
            run(inputs_of(train), output, config)
    items = sorted((output / "unfinished" / "output").iterdir())
    assert len(items) == 5
    for item in items[:moved]:
        item.rename(output / item.name)
    run(inputs_of(train), output, config)
    assert files(output) == files(expected.folder)


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    train, output = write_pairs(tmp_path, "train", sentences(30)), tmp_path / "data"

    def touch(event: Event) -> None:
        os.utime(train[0], ns=(1, 1))

    with pytest.raises(DataError, match="the file changed while it was being read"):
        run(inputs_of(train), output, CHARACTERS, emit=touch)
    assert not output.exists()


def test_a_file_that_cannot_be_read_is_bad_data(tmp_path: Path) -> None:
    train = write_pairs(tmp_path, "train", sentences(30))
    inputs = inputs_of(train)
    shutil.move(train[1], tmp_path / "gone")
    with pytest.raises(DataError, match=r"train.en: cannot be read: No such file"):
        run(inputs, tmp_path / "data")


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    from translucid.files import locked

    (tmp_path / "data").mkdir()
    with locked(tmp_path / "data"), pytest.raises(BusyError, match="another process"):
        prepare_pairs(tmp_path, sentences(30))
