"""``translucid translate`` as people run it: arguments, pipes, files, and what goes wrong."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from small_translators import (
    reversed_translation,
    sentences,
    write_random_model,
    write_taught_model,
)
from translucid.cli.line_files import LineSplitter
from translucid.cli.resumable_output import unfinished_folder
from translucid.cli.translate import translate
from translucid.data.readers.arguments import find_corpora
from translucid.data.readers.corpus import ReadReport
from translucid.data.readers.tsv import read_tsv
from translucid.errors import ConfigError, DataError, InputError
from translucid.translator import Reranker, Translation, Translator, load

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(translate)


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_taught_model(tmp_path_factory.mktemp("models") / "taught")


@pytest.fixture(scope="module")
def untaught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network whose nonsense goes on to the limit of length; bytes are among its tokens."""
    folder = tmp_path_factory.mktemp("models") / "untaught"
    return write_random_model(folder, kind="bpe", generation={"beam": 1, "extra_length": 3})


def run(*words: str | Path, standard_input: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], input=standard_input)


def process(*words: str | Path, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "translucid", "translate", *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, **options)  # type: ignore[call-overload, no-any-return]


def lines_of(data: bytes) -> list[bytes]:
    splitter = LineSplitter()
    return [*splitter.feed(data), *splitter.finish()]


# What goes in and what comes out.


def test_texts_of_the_command_line(taught: Path) -> None:
    done = run("-m", taught, "chat noir", "", "dort\nmange arbre")
    assert done.exit_code == 0, done.output
    assert done.stdout == "black cat\n\nsleeps\ntree eats\n"
    assert re.fullmatch(
        r"4 lines, 5 tokens in \d+\.\d s \([\d,]+ tokens/s\): 0 truncated, 0 looped\n", done.stderr
    )


def test_translations_that_are_read_back(taught: Path, tmp_path: Path) -> None:
    back = {"directions": [("en", "fr")], "tags": {}}
    other = write_random_model(tmp_path / "back", kind="char", seed=3, generation=back)
    texts = sentences(12, seed=5)
    words = ("-m", taught, "--n-best", "3", "--format", "jsonl")
    done = run(*words, "--rerank", other, "--rerank-weight", "3", *texts)
    assert done.exit_code == 0, done.output
    search = load(taught).default_search.replace(n_best=3)
    reading_back = Reranker(load(other), 3.0)
    expected = load(taught).translate(texts, search=search, rerank=reading_back)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [[c["translation"] for c in one["n_best"]] for one in found] == [
        [candidate.text for candidate in one.n_best] for one in expected
    ]
    assert done.stdout != run(*words, *texts).stdout


def test_what_could_not_be_read_back_is_told_at_the_end(taught: Path, tmp_path: Path) -> None:
    back = {"directions": [("en", "fr")], "tags": {}}
    reader = write_random_model(
        tmp_path / "back", kind="char", generation=back, positions="learned", max_positions=24
    )
    long = "vieux livre rouge petit maison"
    done = run("-q", "-m", taught, "--rerank", reader, "chat noir", long)
    assert done.exit_code == 0, done.output
    assert done.stderr == "lines 1 to 2: 1 of 2 sentences were too long to rerank\n"


def test_standard_input_and_files_give_the_same(taught: Path, tmp_path: Path) -> None:
    texts = sentences(90, seed=5)
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("".join(f"{text}\n" for text in texts))
    expected = "".join(f"{one.text}\n" for one in load(taught).translate(texts))
    piped = run("-m", taught, "--batch-size", "7", standard_input=source.read_bytes())
    dashed = run("-m", taught, "-i", "-", "-o", "-", standard_input=source.read_bytes())
    assert piped.stdout == dashed.stdout == expected
    assert "90 lines" in piped.stderr
    filed = run("-m", taught, "-i", source, "-o", output)
    assert filed.exit_code == 0, filed.output
    assert (filed.stdout, output.read_text()) == ("", expected)
    assert "translating: 90 of 90 lines (100 %)" in filed.stderr
    from_texts = run("-m", taught, *texts, "-o", output, "-q")
    assert (from_texts.output, output.read_text()) == ("", expected)
    assert {entry.name for entry in tmp_path.iterdir()} == {"in", "out"}


def test_no_input_is_no_output(taught: Path, tmp_path: Path) -> None:
    assert run("-m", taught, "-q", standard_input=b"").output == ""
    (tmp_path / "in").touch()
    for words in (["-m", taught], []):  # the built-in model has two languages to choose from
        assert run(*words, "-i", tmp_path / "in", "-o", tmp_path / "out").exit_code == 0
        assert (tmp_path / "out").read_bytes() == b""
        (tmp_path / "out").unlink()


def test_several_models_are_an_ensemble(taught: Path) -> None:
    assert run("-m", taught, "-m", taught, "chat noir", "-q").stdout == "black cat\n"


NASTY = b"\n".join(
    [
        b"",
        b"   ",
        b" ".join([b"chat noir dort. petit"] * 500),
        b"a\0b \0",
        "\U0001f642\U0001f1eb\U0001f1f7 \u200d".encode(),
        "שלום עולם \u202b".encode(),
        b"chat noir\r",
        b"\r",
        b"one\rtwo",
        "x\u2028y\u0085z\x0c\x1c\ufeff".encode(),
        "▁▁ <unk> </s> <0x0A> ||| e\u0301".encode(),
        "我们。你们！".encode(),
        b"last",
    ]
)


@pytest.mark.parametrize("which", ["taught", "untaught"])
def test_a_nasty_file_keeps_its_lines(
    request: pytest.FixtureRequest, tmp_path: Path, which: str
) -> None:
    model = request.getfixturevalue(which)
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_bytes(NASTY)
    done = run("-m", model, "-i", source, "-o", output, "--batch-size", "4")
    assert done.exit_code == 0, done.output
    before, after = lines_of(NASTY), lines_of(output.read_bytes())
    assert len(after) == len(before) == 13
    assert [line[-2:] == b"\r\n" for line in after] == [line[-2:] == b"\r\n" for line in before]
    assert not after[-1].endswith(b"\n")
    assert after[0] == b"\n"
    assert after[1].strip() == b""
    assert "line 3: too long for the network at once, and translated in parts" in done.stderr
    objects = run("-m", model, "-i", source, "--format", "jsonl", "-q").stdout
    values = [json.loads(line) for line in lines_of(objects.encode())]
    assert [value["line"] for value in values] == list(range(1, 14))
    assert values[2]["flags"]["split"]
    assert [len(lines_of(value["translation"].encode())) for value in values[3:]] == [
        1 if value["translation"] else 0 for value in values[3:]
    ]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=8),
            st.sampled_from(["\n", "\r\n"]),
        ),
        max_size=6,
    ),
    st.booleans(),
)
def test_line_in_line_out(untaught: Path, lines: list[tuple[str, str]], ended: bool) -> None:
    data = "".join(text + ending for text, ending in lines).encode()
    data = data.removeprefix(b"\xef\xbb\xbf") if ended else data.removesuffix(b"\n")
    done = run("-m", untaught, "--threads", "1", standard_input=data)
    assert done.exit_code == 0, done.output
    before, after = lines_of(data), lines_of(done.stdout_bytes)
    assert len(after) == len(before)
    assert [line.endswith(b"\n") for line in after] == [line.endswith(b"\n") for line in before]
    for old, new in zip(before, after, strict=True):
        assert old.endswith(b"\r\n") == new.endswith(b"\r\n")
        if not old.decode().strip():
            assert not new.decode().strip()


def test_what_is_cut_or_unknown_is_told(taught: Path, untaught: Path) -> None:
    cut = run("-m", untaught, "chat", "--max-length", "2")
    assert "line 1: cut at the limit of length" in cut.stderr
    assert "1 truncated, 0 looped" in cut.stderr
    quiet = run("-m", untaught, "chat", "--max-length", "2", "-q")
    assert quiet.stderr == "line 1: cut at the limit of length (--max-length, --extra-length)\n"
    unknown = run("-m", taught, "chat", "zèbre")
    assert "line 2: with characters that the vocabulary cannot spell" in unknown.stderr


def test_bytes_that_are_no_utf8(taught: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"chat\n\xe9\xe8\nnoir\n")
    done = run("-m", taught, "-i", source, "-o", output)
    assert isinstance(done.exception, DataError)
    assert "in, line 2: not UTF-8" in str(done.exception)
    assert not output.exists()
    piped = run("-m", taught, standard_input=source.read_bytes())
    assert "/dev/stdin, line 2: not UTF-8" in str(piped.exception)
    replaced = run("-m", taught, "-i", source, "-o", output, "--errors", "replace")
    assert replaced.exit_code == 0, replaced.output
    assert "line 2: not UTF-8" in replaced.stderr
    assert output.read_bytes().count(b"\n") == 3


# Formats, and that they say what the translator says.


def test_tsv_is_a_corpus_in_either_direction(taught: Path, tmp_path: Path) -> None:
    texts, table = ["chat noir dort", "chat"], tmp_path / "made.fr-en.tsv"
    source = tmp_path / "in"
    source.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    run("-m", taught, "-i", source, "-o", table, "--format", "tsv", "-q")
    written = run("-m", taught, "-i", source, "-q").stdout.splitlines()
    for languages in (("fr", "en"), ("en", "fr")):
        (corpus,) = find_corpora(
            [str(table)], source_lang=languages[0], target_lang=languages[1], fields=None
        )
        pairs = [(pair.source, pair.target) for pair in read_tsv(corpus, ReadReport())]
        wanted = list(zip(texts, written, strict=True))
        assert pairs == (wanted if languages[0] == "fr" else [pair[::-1] for pair in wanted])


def test_an_n_best_list(taught: Path) -> None:
    done = run("-m", taught, "chat noir", "", "dort", "--beam", "3", "--n-best", "3", "-q")
    entries = [line.split(" ||| ") for line in done.stdout.splitlines()]
    assert [entry[0] for entry in entries] == ["0", "0", "0", "1", "2", "2", "2"]
    translator = load(taught)
    search = translator.default_search.replace(beam=3, n_best=3)
    for number, translation in enumerate(
        translator.translate(["chat noir", "", "dort"], search=search)
    ):
        found = [entry for entry in entries if entry[0] == str(number)]
        for entry, candidate in zip(found, translation.n_best, strict=True):
            assert entry[1] == candidate.text
            assert entry[2].startswith(f"LogProb= {candidate.log_prob:.4f} ")
            assert float(entry[3]) == pytest.approx(candidate.score, abs=1e-4)


def test_alignment_links_words_that_translate_each_other(taught: Path) -> None:
    text = "chat noir dort"
    done = run("-m", taught, text, "--alignment", "-q")
    translation, links = done.stdout.rstrip("\n").split(" ||| ")
    assert translation == "sleeps black cat"
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    (translated,) = load(taught).translate([text], alignment=True)
    assert translated.alignment is not None
    assert pairs == list(translated.alignment.links)
    assert all(0 <= source < 3 and 0 <= target < 3 for source, target in pairs)


def test_word_scores_sum_to_the_whole(taught: Path) -> None:
    done = run("-m", taught, "chat noir dort", "--word-scores", "--format", "jsonl", "-q")
    value = json.loads(done.stdout)
    assert len(value["word_scores"]) == 3
    assert sum(value["word_scores"]) == pytest.approx(value["log_prob"], abs=1e-5)


def test_terms_prefix_forbidden_words_and_sampling_reach_the_search(
    taught: Path, tmp_path: Path
) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("chat\tdog\n")
    assert "dog" in run("-m", taught, "chat noir", "--terms", terms, "-q").stdout.split()
    assert run("-m", taught, "chat noir", "--prefix", "old", "-q").stdout.startswith("old")
    hot = ["--sample", "--temperature", "50", "--no-loop-guard"]
    draws = {run("-m", taught, "chat", *hot, "--seed", str(seed), "-q").stdout for seed in range(3)}
    assert len(draws) == 3
    again = [run("-m", taught, "chat", *hot, "--seed", "1", "-q").stdout for _ in range(2)]
    assert again[0] == again[1]
    cold = run("-m", taught, "chat noir", "--sample", "--temperature", "0", "-q")
    assert cold.stdout == "black cat\n"
    assert "cat" not in run("-m", taught, "chat noir", "--forbid", "cat", "-q").stdout
    unknown = run("-m", taught, "chat", "--forbid", "zebra")
    assert "no token of the vocabulary is this word" in str(unknown.exception)
    many = run("-m", taught, "chat", *hot, "--n-best", "4", "-q").stdout
    assert len(many.splitlines()) == 4


# What is refused, before anything is written.


def test_what_is_not_translated_comes_out_unchanged(taught: Path, tmp_path: Path) -> None:
    words = tmp_path / "keep.txt"
    words.write_text("\nGrand Hôtel\n\n")
    texts = ["<b>chat noir</b> {x}", "dort http://a.b/c", "dort Grand Hôtel mange"]
    done = run("-m", taught, "--keep", words, *texts)
    assert done.exit_code == 0, done.output
    assert done.stdout == ("<b>black cat</b> {x}\nsleeps http://a.b/c\nsleeps Grand Hôtel eats\n")
    assert "lines 1, 2, 3: translated piece by piece between" in done.stderr
    assert "3 translated between spans" in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("messages.po", b'msgid ""', "a PO file of messages"),
        ("page.HTML", b"<p>x", "an HTML page"),
        ("page", b"\xef\xbb\xbf\n <!DOCTYPE html><p>x", "an HTML page"),
        ("memory.tmx", b"x", "a translation memory"),
        ("x.fr.xliff.gz", b"x", "an XLIFF file"),
        ("letter", b"PK\x03\x04...", "a packed document, such as DOCX"),
        ("data.json", b"{}", "structured data"),
        ("messages", b'# French\n\nmsgid ""\nmsgstr ""\n', "a PO file of messages"),
        ("unit.gz", gzip.compress(b"<?xml version='1.0'?>", mtime=0), "an XML file"),
    ],
)
def test_documents_are_not_destroyed(
    taught: Path, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    source, output = tmp_path / name, tmp_path / "out"
    source.write_bytes(content)
    done = run("-m", taught, "-i", source, "-o", output)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert "--as text" in str(done.exception)
    assert not output.exists()


def test_a_document_can_be_taken_for_text(taught: Path, tmp_path: Path) -> None:
    source = tmp_path / "messages.po"
    source.write_text("chat noir\n")
    done = run("-m", taught, "-i", source, "--as", "text")
    assert done.stdout == "black cat\n"
    assert isinstance(run("-m", taught, "-i", source, "--as", "po").exception, InputError)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["chat", "-i", "in"], "TEXT and -i in: give one of the two"),
        (["-i", "none"], "-i none: there is no such file"),
        (["-i", "."], "-i .: is a folder; give a text file"),
        (["-i", "in", "-o", "."], "-o .: is a folder; give a file"),
        (["-i", "in", "-o", "none/out"], "there is no folder none; create it first"),
        (["-i", "in", "-o", "in"], "-o in is also an input file; choose another name"),
        (["chat", "--resume"], "give -i FILE and -o FILE"),
        (["-i", "in", "--resume"], "give -i FILE and -o FILE"),
        (["-i", "in", "-o", "/dev/null", "--resume"], "both of them plain files"),
        (["chat", "--format", "xml"], "--format xml: must be text or tsv or jsonl"),
        (["chat", "--errors", "ignore"], "--errors ignore: must be strict or replace"),
        (["chat", "--top-k", "5"], "top_k is not used by the method 'beam'"),
        (["chat", "--beam", "5", "--sample"], "beam is not used by the method 'sampling'"),
        (["chat", "--n-best", "9"], "n_best = 9, but the method 'beam' finds at most 4"),
        (["chat", "--n-best", "2", "--alignment"], "leave --n-best out"),
        (["chat", "--to", "de"], "does not translate into 'de'"),
        (["chat", "-o", "kept", "--to", "de"], "does not translate into 'de'"),
        (["chat", "-o", "kept", "--prefix", "zebra"], "the prefix 'zebra' cannot begin"),
    ],
)
def test_mistakes(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("chat\n")
    (tmp_path / "kept").write_text("old\n")
    done = run("-m", taught, *words)
    assert isinstance(done.exception, InputError | ConfigError), done.output
    assert message in str(done.exception)
    assert done.stdout == ""
    assert {entry.name for entry in tmp_path.iterdir()} == {"in", "kept"}
    assert (tmp_path / "kept").read_text() == "old\n"


@pytest.mark.parametrize("words", [["--batch-size", "0"], ["--threads", "0"]])
def test_counts_are_at_least_one(taught: Path, words: list[str]) -> None:
    assert run("-m", taught, "chat", *words).exit_code == 2


def test_without_a_model_the_built_in_one_translates_both_ways() -> None:
    done = run("Je suis étudiant.", "I am a student.", "-q")
    assert done.exit_code == 0, done.output
    english, french = done.stdout.splitlines()
    assert "student" in english
    assert "étudiant" in french


def test_a_model_that_is_not_there_is_told_with_what_can_be_given() -> None:
    done = run("chat", "-m", "no-model")
    assert isinstance(done.exception, InputError)
    assert "no-model does not exist" in str(done.exception)
    assert "a built-in model (fr-en)" in str(done.exception)


# Pipes.


def test_a_pipe_lives(taught: Path) -> None:
    """Each line is answered before the next is sent, in one process."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with process("-m", taught, **pipes) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for text in ("chat noir", "", "dort"):
            running.stdin.write(f"{text}\n".encode())
            running.stdin.flush()
            assert running.stdout.readline().decode() == f"{reversed_translation(text)}\n"
        running.stdin.close()
        assert running.stdout.read() == b""
        assert running.stderr is not None
        assert b"3 lines" in running.stderr.read()
    assert running.returncode == 0


def test_a_named_pipe_is_read_like_standard_input(taught: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/sh", "-c", f"printf 'chat noir\\ndort' > {pipe}"]):
        done = run("-m", taught, "-i", pipe, "-q")
    assert done.stdout == "black cat\nsleeps"


def test_a_closed_pipe_ends_it_quietly(taught: Path, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_text("chat noir\n" * 2000)
    with process(
        *("-m", taught, "-i", source, "--batch-size", "16", "-q"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == b"black cat\n"
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is full, of Linux")
@pytest.mark.parametrize("to_file", [True, False])
def test_a_full_disk_is_told_in_a_sentence(taught: Path, to_file: bool) -> None:
    words = ["-m", taught, "chat noir", "-q", *(["-o", "/dev/full"] if to_file else [])]
    with (
        Path("/dev/full").open("wb") as full,
        process(*words, stdout=full, stderr=subprocess.PIPE) as running,
    ):
        assert running.stderr is not None
        told = running.stderr.read().decode()
    place = "-o /dev/full" if to_file else "standard output"
    assert told == f"error: {place} cannot be written: No space left on device\n"
    assert running.returncode == 1


def test_a_closed_standard_output_is_told(taught: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(InputError, match="standard output is closed; give a file with -o FILE"):
        app(["-m", str(taught), "chat noir"], standalone_mode=False)


# Going on.


LINES = 600


def lines_done(output: Path) -> int:
    record = unfinished_folder(output) / "progress.json"
    return int(json.loads(record.read_bytes())["lines"]) if record.exists() else 0


def until_begun(running: subprocess.Popen[bytes], output: Path) -> None:
    while not lines_done(output):
        assert running.poll() is None
        time.sleep(0.01)


def killed_when_begun(source: Path, output: Path, *words: str | Path) -> None:
    """Translate until something is recorded as done, then kill without a warning."""
    with process("-i", source, "-o", output, *words, stderr=subprocess.DEVNULL) as running:
        until_begun(running, output)
        running.send_signal(signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL


def test_killed_and_resumed_is_as_if_nothing_had_happened(taught: Path, tmp_path: Path) -> None:
    texts = sentences(LINES, seed=9)
    source, output, whole = (tmp_path / name for name in ("in", "out", "whole"))
    source.write_bytes("\r\n".join([*texts[:300], "", *texts[300:]]).encode())
    words = ["-m", taught, "--batch-size", "4"]
    assert run("-i", source, "-o", whole, *words).exit_code == 0
    killed_when_begun(source, output, *words)
    done = lines_done(output)
    assert 0 < done < LINES
    with output.open("ab") as file:
        file.write(b"black ca")  # as if it had been killed in the middle of writing a line
    unfinished = run("-i", source, "-o", output, *words)
    assert "is unfinished: continue with the same command and --resume" in str(unfinished.exception)
    resumed = run("-i", source, "-o", output, *words, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert f"{done:,} lines are done already" in resumed.stderr
    assert f"{LINES + 1 - done:,} lines, " in resumed.stderr
    assert output.read_bytes() == whole.read_bytes()
    assert {entry.name for entry in tmp_path.iterdir()} == {"in", "out", "whole"}


def test_other_input_model_or_settings_are_not_gone_on_with(
    taught: Path, untaught: Path, tmp_path: Path
) -> None:
    source, output, whole = (tmp_path / name for name in ("in", "out", "whole"))
    source.write_text("".join(f"{text}\n" for text in sentences(LINES, seed=3)))
    words = ["-m", taught, "--batch-size", "4", "--n-best", "2"]
    killed_when_begun(source, output, *words)

    def refusal(*changed: str | Path) -> str:
        done = run("-i", source, "-o", output, *changed, "--resume")
        assert isinstance(done.exception, InputError), done.output
        return str(done.exception)

    assert "beam was 4 and is now 3" in refusal(*words, "--beam", "3")
    assert "batch_size was 4 and is now 64" in refusal("-m", taught, "--n-best", "2")
    assert "n_best_list was True and is now False" in refusal(*words[:-2])
    assert "format was text and is now jsonl" in refusal(*words, "--format", "jsonl")
    assert "model was" in refusal("-m", untaught, *words[2:], "--beam", "4")
    back = {"directions": [("en", "fr")], "tags": {}}
    reader = write_random_model(tmp_path / "back", generation=back)
    assert "rerank was {} and is now" in refusal(*words, "--rerank", reader)
    shutil.rmtree(reader)
    shutil.copy(source, tmp_path / "kept")
    source.write_text(source.read_text() + "chat\n")
    message = refusal(*words)
    assert f"input was a file of {LINES} lines" in message
    assert f"now a file of {LINES + 1} lines" in message
    shutil.copy(tmp_path / "kept", source)
    assert run("-i", source, "-o", output, *words, "--resume").exit_code == 0
    assert run("-i", source, "-o", whole, *words).exit_code == 0
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    "form", [[], ["--n-best", "2"], ["--format", "jsonl", "--n-best", "2"], ["--format", "tsv"]]
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_there_is_nothing_to_resume_when_all_is_done(
    taught: Path, tmp_path: Path, form: list[str], end: str
) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text(f"chat noir\n\nchien{end}")
    words = ["-m", taught, "-i", source, "-o", output, *form, "--resume"]
    assert run(*words).exit_code == 0
    written, content = output.stat().st_mtime_ns, output.read_bytes()
    again = run(*words)
    assert again.exit_code == 0
    assert again.stderr == (
        f"{output} is complete, with 3 lines: leave --resume out to translate it again\n"
    )
    assert output.stat().st_mtime_ns == written
    assert run(*words, "--quiet").stderr == ""
    source.write_text("chat noir\n\nchien\nchat\n")
    assert "no complete translation of this input" in str(run(*words).exception)
    assert output.read_bytes() == content


def test_an_interruption_says_how_to_go_on(taught: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("chat noir\n" * LINES)
    words = ("-m", taught, "-i", source, "-o", output, "--batch-size", "4")
    with process(*words, stderr=subprocess.PIPE) as running:
        until_begun(running, output)
        running.send_signal(signal.SIGINT)
        assert running.stderr is not None
        assert b"Continue:  the same command with --resume" in running.stderr.read()
    assert running.returncode == 130
    assert run(*words, "--resume").exit_code == 0
    assert output.read_text() == "black cat\n" * LINES


def test_interrupted_before_anything_is_kept_there_is_nothing_to_go_on_with(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older result is still whole then, and --resume would refuse to touch it."""

    def translated(
        _: Translator, texts: list[str], *request: object, **options: object
    ) -> list[Translation]:
        del request, options
        if texts != [""]:
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr(Translator, "translate", translated)
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("chat noir")
    output.write_text("older")
    done = run("-m", taught, "-i", source, "-o", output)
    assert done.exit_code == 130
    assert "--resume" not in done.stderr
    assert output.read_text() == "older"
