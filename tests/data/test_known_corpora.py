"""The table of known corpora: complete, pinned, and encrypted on the way."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from translucid.data.known_corpora import (
    KNOWN,
    MULTI30K_COMMIT,
    KnownCorpus,
    KnownFile,
    WebFile,
    Wheel,
    WheelFile,
)
from translucid.data.readers import Pair, ReadReport, find_corpora, read_pairs

FILES = [(corpus, file) for corpus in KNOWN.values() for file in corpus.files]


@pytest.mark.parametrize(("corpus", "file"), FILES, ids=lambda value: value.name)
def test_a_file_is_named_weighed_and_pinned(corpus: KnownCorpus, file: KnownFile) -> None:
    assert re.fullmatch(r"[a-z0-9_.-]+", file.name)
    assert file.size > 0
    assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
    if isinstance(file, WebFile):
        address = urlsplit(file.url)
        assert address.scheme == "https"
        assert MULTI30K_COMMIT in address.path.split("/")
        assert address.path.endswith(f"/{file.name}")
    elif isinstance(file, WheelFile):
        assert re.fullmatch(r"[0-9a-f]{64}", file.wheel.sha256)
        name, version = file.wheel.requirement.split("==")
        assert file.wheel.name.startswith(f"{name}-{version}-")


@pytest.mark.parametrize("corpus", KNOWN.values(), ids=lambda corpus: corpus.name)
def test_a_corpus_says_all_about_itself(corpus: KnownCorpus) -> None:
    assert KNOWN[corpus.name] is corpus
    names = [file.name for file in corpus.files]
    assert len(set(names)) == len(names)
    assert corpus.pairs > 0
    assert all((corpus.about, corpus.licence, corpus.terms, corpus.source))
    for language in corpus.languages:
        assert language in corpus.prepare
    assert set(names) & set(corpus.prepare)


def test_a_wheel_is_weighed_once_however_many_files_come_out_of_it() -> None:
    wheel = Wheel("some-1-py3-none-any.whl", 100, "0" * 64, "some==1")
    files = (
        WheelFile("a", 7, "1" * 64, "some/a", wheel),
        WheelFile("b", 8, "2" * 64, "some/b", wheel),
        WebFile("c", 5, "3" * 64, "https://example.org/c"),
        WebFile("d", 6, "4" * 64, "https://example.org/d"),
    )
    corpus = KnownCorpus("n", "a", ("en", "fr"), 1, "l", "t", "s", files, ("a",))
    assert corpus.download_size == 111
    assert corpus.transport == "pip (some==1), https (example.org)"


def test_prepare_reads_tatoeba_from_french_to_english(tmp_path: Path) -> None:
    """The file has English first; its name must tell ``prepare`` so."""
    (tmp_path / "eng-fra.tsv").write_text("Go.\tVa !\nRun!\tCours !\n", encoding="utf-8")
    file, *options = KNOWN["tatoeba-fra-eng"].prepare
    assert options[:4] == ["--from", "fr", "--to", "en"]
    (corpus,) = find_corpora(
        [str(tmp_path / file)], source_lang="fr", target_lang="en", fields=None
    )
    assert list(read_pairs(corpus, ReadReport())) == [
        Pair("Va !", "Go.", 1),
        Pair("Cours !", "Run!", 2),
    ]


def test_prepare_reads_each_part_of_multi30k_from_english_to_german(tmp_path: Path) -> None:
    words = KNOWN["multi30k"].prepare
    names = [word for word in words if word.endswith(".gz")]
    assert names == [file.name for file in KNOWN["multi30k"].files]
    for name in names:
        (tmp_path / name).write_bytes(gzip.compress(f"{name.split('.')[1]}\n".encode()))
    for source, target in zip(names[::2], names[1::2], strict=True):
        (corpus,) = find_corpora(
            [str(tmp_path / source), str(tmp_path / target)],
            source_lang="en",
            target_lang="de",
            fields=None,
        )
        assert list(read_pairs(corpus, ReadReport())) == [Pair("en", "de", 1)]
