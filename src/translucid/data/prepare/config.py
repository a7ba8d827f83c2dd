"""Inputs of a preparation, and the record of them that decides what may be reused."""

from __future__ import annotations

import contextlib
import json
import platform
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

from translucid import __version__
from translucid.checksums import compute_checksum
from translucid.data.cleaning import CleaningConfig
from translucid.data.config import PrepareConfig
from translucid.data.prepare.tokenization import BaseTokenizer
from translucid.data.readers import Corpus, find_corpora
from translucid.errors import DataError, InputError

_WORK_VERSION = 1  # of the files in the work folder
_PACKAGES = ("numpy", "sentencepiece", "ftfy", "py3langid")


@dataclass(frozen=True)
class Inputs:
    """The corpora to prepare, and the data folder or file whose tokenizer to use.

    The built-in lesson in `dev` or `test` means its own dev or test set.
    """

    train: tuple[Corpus, ...]
    dev: tuple[Corpus, ...]
    test: tuple[Corpus, ...]
    tokenizer_from: Path | None

    @property
    def languages(self) -> tuple[str, str]:
        """The source and the target language."""
        return self.train[0].languages

    @property
    def corpora(self) -> tuple[Corpus, ...]:
        """All corpora in the order of their numbers in the prepared data."""
        return (*self.train, *self.dev, *self.test)


Files: TypeAlias = str | Path | Sequence[str | Path]


def make_config(*, split: tuple[int, int] | None, **settings: Any) -> PrepareConfig:
    """Make the config of flat settings, those of `PrepareConfig` and of `CleaningConfig`."""
    if settings.get("tokenizer", "") is None:
        del settings["tokenizer"]
    cleaning = {
        name: settings.pop(name) for name in CleaningConfig.model_fields if name in settings
    }
    if split is not None:
        settings["split_dev"], settings["split_test"] = split
    if cleaning:
        settings["cleaning"] = CleaningConfig(**cleaning)
    return PrepareConfig(**settings)


def find_inputs(
    files: Files,
    *,
    dev: Files,
    test: Files,
    languages: tuple[str, str],
    fields: tuple[str, str] | None,
    tokenizer_from: Path | None,
    config: PrepareConfig,
) -> Inputs:
    """Find the corpora that file names mean (see `translucid.data.readers.find_corpora`).

    If there is only the lesson to train on, its own dev and test sets are used, unless others are
    given or to be split off: they combine words as training never does.
    """

    def find(names: Files) -> tuple[Corpus, ...]:
        listed = [names] if isinstance(names, str | Path) else names
        source, target = languages
        arguments = [str(name) for name in listed]
        return tuple(find_corpora(arguments, source_lang=source, target_lang=target, fields=fields))

    train = find(files)
    lesson = train if all(corpus.format == "lesson" for corpus in train) else ()
    return Inputs(
        train=train,
        dev=find(dev) if dev else () if config.split_dev else lesson,
        test=find(test) if test else () if config.split_test else lesson,
        tokenizer_from=tokenizer_from,
    )


def check_request(inputs: Inputs, config: PrepareConfig) -> None:
    """Refuse inputs and settings that contradict each other."""
    for lang in inputs.languages:
        if not re.fullmatch("[A-Za-z0-9_-]+", lang):
            raise InputError(
                f"the language {lang!r} would be part of file names: write it with letters, "
                f"digits and hyphens only, such as {re.sub('[^A-Za-z0-9]+', '-', lang)!r}"
            )
    for name, given, wanted in (
        ("dev", inputs.dev, config.split_dev),
        ("test", inputs.test, config.split_test),
    ):
        if given and wanted:
            raise InputError(
                f"--{name} gives a {name} set and --split asks for another of {wanted:,} pairs; "
                f"leave --{name} out, or write 0 for {name} in --split (dev,test)"
            )
    if config.target_pieces_only and config.both:
        raise InputError(
            "--both trains both directions, so all pieces are written: leave --target-pieces-only "
            "out"
        )
    if config.target_pieces_only and inputs.tokenizer_from is None and config.tokenizer != "bpe":
        raise InputError(
            f"--target-pieces-only needs --tokenizer bpe, the default; {config.tokenizer} cannot "
            "spell a word without one of its pieces"
        )
    if inputs.tokenizer_from is not None and config.vocab_size is not None:
        raise InputError(
            f"--tokenizer-from takes over a vocabulary as it is; it cannot have --vocab-size "
            f"{config.vocab_size}. Leave one of the two out."
        )


def describe_settings(
    inputs: Inputs, config: PrepareConfig, base: BaseTokenizer | None
) -> dict[str, Any]:
    """Return the settings that go into the manifest: everything that the result depends on.

    Files are identified by their content, so a changed file is never taken for the same one.
    """
    settings = {
        "source_lang": inputs.languages[0],
        "target_lang": inputs.languages[1],
        "train": [_describe_corpus(corpus) for corpus in inputs.train],
        "dev": [_describe_corpus(corpus) for corpus in inputs.dev],
        "test": [_describe_corpus(corpus) for corpus in inputs.test],
        "tokenizer_from": None if base is None else compute_checksum(base.tokenizer).sha256,
        **config.model_dump(mode="json"),
    }
    # Data that was prepared before these settings existed is the same data.
    for name in ("target_pieces_only", "placeholders", "capitals"):
        if not settings[name]:
            del settings[name]
    if not config.cleaning.plain_typography:
        del settings["cleaning"]["plain_typography"]
    if base is not None and base.is_of_model:
        settings["language_tags"] = base.languages
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def _describe_corpus(corpus: Corpus) -> dict[str, Any]:
    content = {"made_by": f"translucid {__version__}"} if not corpus.paths else {}
    return {
        **content,
        "paths": [str(path) for path in corpus.paths],
        "sha256": [_checksum(path) for path in corpus.paths],
        "format": corpus.format,
        "fields": corpus.fields,
        "weight": corpus.weight,
    }


@contextlib.contextmanager
def _explain_unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            path,
            f"cannot be read: {error.strerror}",
            remedy="Check that the file is there and that you may read it.",
        ) from error


def _checksum(path: Path) -> str:
    with _explain_unreadable(path):
        return compute_checksum(path).sha256


def stamp_files(corpora: Iterable[Corpus]) -> dict[Path, tuple[int, int]]:
    """Return size and time of every file, to notice changes while it is being read."""
    stamps = {}
    for path in {path for corpus in corpora for path in corpus.paths}:
        with _explain_unreadable(path):
            status = path.stat()
        stamps[path] = (status.st_size, status.st_mtime_ns)
    return stamps


def describe_job(settings: Mapping[str, Any], chunk_pairs: int) -> dict[str, Any]:
    """Return what unfinished work depends on: the settings and the versions of the programs."""
    return {
        "work_version": _WORK_VERSION,
        "translucid": __version__,
        "python": platform.python_version(),
        "unicode": unicodedata.unidata_version,
        "packages": {name: _version(name) for name in _PACKAGES},
        "chunk_pairs": chunk_pairs,
        "settings": dict(settings),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def find_differences(there: Mapping[str, Any], now: Mapping[str, Any]) -> Sequence[str]:
    """Name the settings in which two preparations differ, with both values if they are short."""
    found = []
    for name in [*now, *(name for name in there if name not in now)]:
        old, new = there.get(name), now.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            found += [f"{name}.{inner}" for inner in find_differences(old, new)]
        elif isinstance(old, list) or isinstance(new, list):
            found.append(f"{name} (other files, content or weights)")
        else:
            found.append(f"{name} (there {old!r}, now {new!r})")
    return found
