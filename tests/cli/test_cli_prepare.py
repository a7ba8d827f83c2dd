"""``translucid prepare`` as people type it."""

from __future__ import annotations

import itertools
import json
import re
import sys
from pathlib import Path

import pytest

from translucid.checksums import write_checksums
from translucid.cli.main import main
from translucid.cli.options import repeat_option
from translucid.data.prepare import PrepareConfig
from translucid.data.readers import built_in as lesson
from translucid.data.shards import open_data

LANGUAGES = ["--from", "fr", "--to", "en"]


def lines(folder: Path, name: str, count: int, start: int = 0) -> list[str]:
    """Write a small line-aligned corpus and return its two files."""
    for lang, word in (("fr", "phrase"), ("en", "some sentence")):
        text = "".join(f"{word} {chr(97 + i % 26)} {i}\n" for i in range(start, start + count))
        (folder / f"{name}.{lang}").write_text(text)
    return [str(folder / f"{name}.fr"), str(folder / f"{name}.en")]


class Done:
    """How a command ended and what it wrote."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def prepare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run the command in this process and this folder, characters for tokens."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, tokenizer: str | None = "char") -> Done:
        kind = [] if tokenizer is None else ["--tokenizer", tokenizer]
        workers = [] if "--workers" in arguments else ["--workers", "1"]
        words = ["translucid", "prepare", *arguments, *kind, *workers]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return run


def test_help_has_examples_and_every_filter(prepare) -> None:
    done = prepare("--help")
    assert done.code == 0
    assert "translucid prepare train.fr train.en --from fr --to en -o data --dev" in done.out
    for option in (
        *("--dev", "--test", "--split", "--vocab-size", "--tokenizer-from", "--both", "--fields"),
        "--target-pieces-only",
        *("--no-repair-encoding", "--no-strip-control", "--no-tidy-whitespace", "--no-nfc"),
        *(
            "--lowercase",
            "--keep-damaged",
            "--keep-empty",
            "--max-characters",
            "--max-words",
            "--max-tokens",
        ),
        *("--max-ratio", "--keep-identical", "--keep-markup", "--check-language"),
        *("--keep-duplicates", "--seed", "--workers", "--force"),
    ):
        assert option in done.out


def test_the_tables_say_what_was_read_removed_and_written(prepare, tmp_path: Path) -> None:
    lines(tmp_path, "train", 40)
    with (tmp_path / "train.fr").open("a") as french, (tmp_path / "train.en").open("a") as english:
        french.write("même\n\ncafÃ© noir\n")
        english.write("même\nempty\nblack coffee\n")
    done = prepare("train.fr", "train.en", *LANGUAGES, "-o", "data", "--split", "4,6")
    assert done.code == 0
    assert done.out == ""
    seen = re.sub(" +", " ", done.err)
    for expected in (
        "train.fr + train.en text 1 43 –",
        "repaired: encoding repaired 1 2.326%",
        "removed: empty side 1 2.326%",
        "removed: identical sides 1 2.326%",
        "left 41",
        "switched off: typography made plain, wrong language",
        "train 31",
        "dev 4",
        "test 6",
        "pieces (char)",
        "in batches of 4,096 tokens",
        "MB in data",
        "pairs per second",
        "data/report.json",
        "encoding: 31 of 31 pairs (100 %)",
    ):
        assert expected in seen, expected
    assert json.loads((tmp_path / "data" / "report.json").read_text())["read"]["pairs"] == 43


@pytest.mark.parametrize(
    "how",
    [
        ["--dev", "dev.fr", "dev.en"],
        ["--dev", "dev.fr", "--dev", "dev.en"],
        ["--dev", "dev.fr,dev.en"],
        ["--dev=dev.fr,dev.en"],
        ["--dev=dev.fr", "dev.en"],
    ],
    ids=" ".join,
)
def test_a_dev_set_can_be_given_in_any_way_one_would_try(
    prepare, tmp_path: Path, how: list[str]
) -> None:
    train, _ = lines(tmp_path, "train", 40), lines(tmp_path, "dev", 5, start=50)
    test = lines(tmp_path, "a,b", 3, start=60)  # a comma in the name of a file that exists
    done = prepare(*train, *LANGUAGES, *how, "--test", *test, "-o", "data")
    assert done.code == 0, done.err
    splits = open_data(tmp_path / "data").manifest.splits
    assert {name: split.pairs for name, split in splits.items()} == {
        "train": 40,
        "dev": 5,
        "test": 3,
    }


def test_options_with_several_values_are_spread_out() -> None:
    given = ["a", "--dev", "b", "c", "-o", "d", "e", "--test", "f"]
    assert repeat_option(given, ["--dev", "--test"]) == [
        *("a", "--dev", "b", "--dev", "c", "-o", "d", "e", "--test", "f")
    ]


def test_every_switch_reaches_the_settings(prepare, tmp_path: Path) -> None:
    train = lines(tmp_path, "train", 40)
    done = prepare(
        *train,
        *LANGUAGES,
        *("-o", "data", "--both", "--vocab-size", "90", "--seed", "5", "--batch-tokens", "500"),
        *("--no-repair-encoding", "--no-strip-control", "--no-tidy-whitespace", "--no-nfc"),
        *("--keep-damaged", "--keep-empty", "--keep-identical", "--keep-markup"),
        *("--keep-duplicates", "--check-language", "--max-ratio", "9", "--max-characters", "90"),
        *("--lowercase", "--plain-typography", "--placeholders", "0.3", "--capitals", "0.2"),
        *("--max-words", "80", "--max-tokens", "70", "--split", "2,3"),
    )
    assert done.code == 0, done.err
    settings = open_data(tmp_path / "data").manifest.settings
    cleaning = settings["cleaning"]
    assert [settings[name] for name in ("both", "vocab_size", "seed", "batch_tokens")] == [
        *(True, 90, 5, 500)
    ]
    assert (settings["split_dev"], settings["split_test"]) == (2, 3)
    limits = {"max_ratio": 9.0, "max_characters": 90, "max_words": 80, "max_tokens": 70}
    assert {name: cleaning.pop(name) for name in limits} == limits
    assert (settings["placeholders"], settings["capitals"]) == (0.3, 0.2)
    on = ("check_language", "lowercase", "plain_typography")
    assert all(cleaning.pop(name) for name in on)
    assert set(cleaning.values()) == {False}


def test_a_tokenizer_of_lower_case_brings_its_normalisation_along(prepare, tmp_path: Path) -> None:
    train = lines(tmp_path, "train", 40)
    plain = ("--lowercase", "--plain-typography")
    assert prepare(*train, *LANGUAGES, "-o", "lower", *plain).code == 0
    taken = (*train, *LANGUAGES, "--tokenizer-from", "lower")
    done = prepare(*taken, "-o", "more", tokenizer=None)
    assert done.code == 0
    for part in ("lower case only", "the apostrophes and quotes of a keyboard only"):
        assert f"note: like the text of lower, this one gets {part}." in done.err
    manifest = open_data(tmp_path / "more").manifest
    assert (manifest.lowercase, manifest.plain_typography) == (True, True)
    again = prepare(*taken, "-o", "more", *plain, tokenizer=None)  # said or not, it is the same
    assert "is prepared already" in again.err


def test_target_pieces_are_told_and_taken_over(prepare, tmp_path: Path) -> None:
    train = lines(tmp_path, "train", 400)
    only = "--target-pieces-only"
    syllables = ["".join(pair) for pair in itertools.product("bdgkmnpt", "aeiou")]
    words = ["".join(pair) for pair in itertools.product(syllables, syllables)][:400]
    Path(train[0]).write_text("".join(f"{word} {word[::-1]} {word}\n" for word in words))
    first = prepare(*train, *LANGUAGES, "-o", "first", only, tokenizer=None)
    assert first.code == 0, first.err
    entry = open_data(tmp_path / "first").manifest.tokenizer
    assert entry.target_pieces is not None
    assert entry.target_pieces < entry.vocab_size
    told = f"{entry.vocab_size:,} pieces (bpe), {entry.target_pieces:,} of them in the target"
    assert told in first.err
    report = tmp_path / "first" / "report.json"
    report.write_text(report.read_text().replace('"target_pieces"', '"unknown_to_older_ones"'))
    write_checksums(tmp_path / "first")
    again = prepare(*train, *LANGUAGES, "-o", "first", only, tokenizer=None)
    assert (again.code, "of them in the target" in again.err) == (0, False)
    taken = (*train, *LANGUAGES, "--tokenizer-from", "first")
    assert prepare(*taken, "-o", "more", only, tokenizer=None).code == 0
    assert open_data(tmp_path / "more").manifest.tokenizer == entry
    assert prepare(*taken, "-o", "all", tokenizer=None).code == 0
    assert open_data(tmp_path / "all").manifest.tokenizer.target_pieces is None
    turned = (*reversed(train), "--from", "en", "--to", "fr", "--tokenizer-from", "first")
    refused = prepare(*turned, "-o", "turned", only, tokenizer=None)
    assert refused.code == 2
    assert "does not know which pieces text in 'fr' has: take the tokenizer of" in refused.err
    refused = prepare(*train, *LANGUAGES, "-o", "both", only, "--both", tokenizer=None)
    assert refused.code == 2
    assert "--both trains both directions, so all pieces are written" in refused.err
    refused = prepare(*train, *LANGUAGES, "-o", "words", only, tokenizer="word")
    assert refused.code == 2
    assert "--target-pieces-only needs --tokenizer bpe, the default; word cannot" in refused.err


def test_without_switches_the_settings_are_those_of_the_config(prepare, tmp_path: Path) -> None:
    done = prepare(*lines(tmp_path, "train", 40), *LANGUAGES, "-o", "data", tokenizer=None)
    assert done.code == 0, done.err
    settings = open_data(tmp_path / "data").manifest.settings
    defaults = PrepareConfig().model_dump(mode="json")
    later = ("target_pieces_only", "capitals")
    assert not any(defaults.pop(name) for name in later)
    assert defaults["cleaning"].pop("plain_typography") is False
    assert not settings.keys() & set(later)  # it is the same data as before there were these
    assert settings["placeholders"] == 0.1
    plain = (*lines(tmp_path, "train", 40), *LANGUAGES, "--placeholders", "0")
    assert prepare(*plain, "-o", "plain", tokenizer=None).code == 0
    assert "placeholders" not in open_data(tmp_path / "plain").manifest.settings
    assert {name: settings[name] for name in defaults} == defaults


def test_fields_weights_and_a_third_language(prepare, tmp_path: Path) -> None:
    lines(tmp_path, "train", 40)
    rows = [{"quelle": f"frase {i}", "ziel": f"other words {i}"} for i in range(20)]
    (tmp_path / "es.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert prepare("train.fr@2", "train.en@2", *LANGUAGES, "-o", "first", "--both").code == 0
    done = prepare(
        *("es.jsonl", "--from", "es", "--to", "en", "--fields", "quelle,ziel", "-o", "second"),
        *("--tokenizer-from", "first"),
        tokenizer=None,
    )
    assert done.code == 0, done.err
    assert open_data(tmp_path / "first").manifest.corpora[0].weight == 2
    assert open_data(tmp_path / "second").manifest.languages == {"fr": 0, "en": 1, "es": 2}


def test_the_lesson_brings_its_own_held_out_sets(prepare, tmp_path: Path, monkeypatch) -> None:
    """The real lesson, only smaller: every fortieth pair."""
    made = {split: lesson.lesson_pairs(split)[::40] for split in lesson.SPLITS}
    monkeypatch.setattr(lesson, "lesson_pairs", made.__getitem__)
    assert prepare("lesson", "--from", "en", "--to", "fr", "-o", "data").code == 0
    assert prepare("lesson", *LANGUAGES, "-o", "split", "--split", "20,0").code == 0
    data, split = open_data(tmp_path / "data"), open_data(tmp_path / "split")
    for name in ("dev", "test"):
        part = data.split(name)
        found = tuple((part.text("fr", i), part.text("en", i)) for i in range(len(part)))
        assert found == made[name]
    assert 0 <= len(made["train"]) - len(data.split("train")) < 5  # identical sides: "Bravo !"
    assert (len(split.split("dev")), len(split.split("test"))) == (20, len(made["test"]))


# ---- how it ends --------------------------------------------------------------------------------


def test_the_same_again_is_told_and_fine(prepare, tmp_path: Path) -> None:
    train = lines(tmp_path, "train", 40)
    assert prepare(*train, *LANGUAGES, "-o", "data").code == 0
    done = prepare(*train, *LANGUAGES, "-o", "data")
    assert done.code == 0
    assert "data is prepared already, from the same files in the same way." in done.err
    assert "pairs per second" not in done.err
    done = prepare(*train, *LANGUAGES, "-o", "data", "--both")
    assert (done.code, "both (there False, now True)" in done.err) == (2, True)
    assert prepare(*train, *LANGUAGES, "-o", "data", "--both", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--split", "1000"], "--split 1000: give two whole numbers separated by a comma"),
        (["--split", "a,b"], "--split a,b: give two whole numbers"),
        (["--fields", "a"], "--fields a: give two names separated by a comma"),
        (["--fields", "a,"], "--fields a,: give two names separated by a comma"),
        (["--workers", "0"], "--workers 0: must be at least 1"),
        (["--chunk-pairs", "0"], "--chunk-pairs 0: must be at least 1"),
        (["--tokenizer-from", "x"], "--tokenizer char asks for a new one"),
        (["--seed", "-1"], "seed = -1"),
        (["--max-words", "-1"], "max_words = -1"),
        (["--no-such-option"], "No such option"),
        (["--vocab-size", "5"], "vocab_size = 5: should be greater than or equal to 22"),
    ],
)
def test_a_wrong_argument_is_explained(
    prepare, tmp_path: Path, arguments: list[str], message: str
) -> None:
    train = lines(tmp_path, "train", 40)
    done = prepare(*train, *LANGUAGES, "-o", "data", *arguments)
    assert done.code == 2, done.err
    assert message in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "data").exists()


def test_an_unknown_tokenizer_is_explained(prepare, tmp_path: Path) -> None:
    done = prepare(*lines(tmp_path, "train", 9), *LANGUAGES, "-o", "data", tokenizer="bpee")
    assert done.code == 2
    assert "tokenizer = 'bpee': must be one of 'bpe', 'unigram', 'word' or 'char'" in done.err


def test_bad_data_ends_with_3_and_leaves_nothing(prepare, tmp_path: Path) -> None:
    train = lines(tmp_path, "train", 40)
    with (tmp_path / "train.en").open("a") as english:
        english.write("one more\n")
    done = prepare(*train, *LANGUAGES, "-o", "data")
    assert done.code == 3
    assert "error: " in done.err
    assert not (tmp_path / "data").exists()


def test_a_missing_package_ends_with_1_and_names_the_switch(
    prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = lines(tmp_path, "train", 40)
    monkeypatch.setitem(sys.modules, "ftfy", None)
    done = prepare(*train, *LANGUAGES, "-o", "data")
    assert done.code == 1
    assert "--no-repair-encoding" in done.err
    assert not (tmp_path / "data").exists()
    assert prepare(*train, *LANGUAGES, "-o", "data", "--no-repair-encoding").code == 0


def test_pairs_that_all_have_too_many_tokens_are_no_success(prepare, tmp_path: Path) -> None:
    done = prepare(*lines(tmp_path, "train", 9), *LANGUAGES, "-o", "data", "--max-tokens", "3")
    assert done.code == 3
    assert "no pair is left to train on: all 9 have a side of more than 3 tokens" in done.err
    assert not (tmp_path / "data" / "manifest.json").exists()


def test_several_built_in_corpora(prepare, tmp_path: Path) -> None:
    words = ("copy", "reverse", "--from", "qaa", "--to", "qab", "--keep-identical")
    assert prepare(*words, "-o", "data").code == 0
    assert len(open_data(tmp_path / "data").manifest.corpora) == 2
    done = prepare(*words, "copy", "-o", "again")
    assert (done.code, "copy was given twice" in done.err) == (2, True)


def test_brackets_in_the_name_of_a_file_are_shown(prepare, tmp_path: Path) -> None:
    """They are no markup."""
    names = ("corpus[fr-en].tsv", "corpus[bold].tsv")
    for name in names:
        pairs = (f"le chat {n} {name}\tthe cat {n} {name}" for n in range(40))
        (tmp_path / name).write_text("\n".join(pairs) + "\n")
    done = prepare(*names, *LANGUAGES, "--keep-markup", "-o", "data[x]")
    assert done.code == 0, done.err
    assert all(name in done.err for name in (*names, "data[x]"))


@pytest.mark.parametrize("place", ["a-file/data", "a-file"])
def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(
    prepare, tmp_path: Path, place: str
) -> None:
    (tmp_path / "a-file").touch()
    done = prepare(*lines(tmp_path, "train", 40), *LANGUAGES, "-o", place)
    assert done.code in (1, 2)
    assert done.err.splitlines()[-1].startswith("error: ")
    assert "a-file" in done.err.splitlines()[-1]
    assert "Traceback" not in done.err
