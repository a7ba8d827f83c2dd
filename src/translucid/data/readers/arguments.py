"""Corpora from command line arguments: ``a.fr a.en``, ``memory.tmx.gz@2``, ``lesson``, ``sort``.

Two line-aligned text files belong together if their names differ only in the language:
``train.fr`` and ``train.en``, ``news_fr.txt`` and ``news_en.txt``, ``src-train.txt`` and
``tgt-train.txt``, in any order, each plain, ``.gz`` or ``.xz``. Every other format is one file,
recognised by its extension. ``@2`` or ``@0.5`` after a name is a weight, unless a file of exactly
that name exists.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from translucid.data.readers.built_in import LESSON, check_lesson_languages
from translucid.data.readers.corpus import Corpus, find_format, known_formats
from translucid.data.readers.lines import COMPRESSED_ENDINGS
from translucid.errors import InputError
from translucid.text.languages import check_languages, find_side

_WEIGHT = re.compile(r"(?P<name>.+)@(?P<weight>[^@/\\]*)", re.DOTALL)


@dataclass(frozen=True)
class _Argument:
    """A file as given: its path, its weight if it has one, and its position in the arguments."""

    path: Path
    weight: float | None
    position: int


@dataclass(frozen=True)
class _TextFile:
    """One of two line-aligned files: its side, and its name before and after the language."""

    argument: _Argument
    side: int
    before: str
    after: str

    @property
    def key(self) -> tuple[Path, str, str]:
        return self.argument.path.parent, self.before, self.after


def find_corpora(
    arguments: Sequence[str],
    *,
    source_lang: str,
    target_lang: str,
    fields: tuple[str, str] | None,
) -> list[Corpus]:
    """Return the corpora that command line arguments mean, in their order.

    `fields` are the source and the target field of formats that have named fields.
    """
    check_languages(source_lang, target_lang)
    languages = (source_lang, target_lang)
    if not arguments:
        raise InputError(f"no corpus was given. {_describe_formats(languages)}")
    placed: dict[int, Corpus] = {}
    halves: list[_TextFile] = []
    for position, text in enumerate(arguments):
        argument = _parse(text, position)
        name = str(argument.path)
        known = known_formats().get(name)
        if known is not None and not known.needs_file and not argument.path.exists():
            if name == LESSON:
                check_lesson_languages(languages)
            placed[position] = Corpus((), name, argument.weight or 1.0, *languages, None)
            continue
        _check_file(argument.path)
        kind = find_format(_extension(argument.path)) or "text"
        if kind == "text":
            halves.append(_text_file(argument, languages))
        else:
            chosen = fields if known_formats()[kind].has_fields else None
            paths = (argument.path,)
            placed[position] = Corpus(paths, kind, argument.weight or 1.0, *languages, chosen)
    for source, target in _pair_up(halves, languages):
        corpus = _text_corpus(source.argument, target.argument, languages)
        placed[min(source.argument.position, target.argument.position)] = corpus
    corpora = [placed[position] for position in sorted(placed)]
    _refuse_repeats(corpora)
    _check_fields(corpora, fields)
    return corpora


def _parse(text: str, position: int) -> _Argument:
    """Split a weight off an argument, unless a file has exactly that name."""
    if text == "-":
        raise InputError(
            "a corpus cannot come from standard input, since it is read more than once: "
            "write it to a file first"
        )
    name, weight = split_weight(text)
    return _Argument(Path(name), weight, position)


def split_weight(text: str) -> tuple[str, float | None]:
    """Split a weight off a name, unless a file or folder has exactly that name."""
    match = _WEIGHT.fullmatch(text)
    if match is None or os.path.lexists(text):
        return text, None
    try:
        weight = float(match["weight"])
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise InputError(
            f"{text!r}: there is no such file, and {match['weight']!r} after the @ is not a "
            f"weight: give a number above 0, such as {match['name']}@2 or {match['name']}@0.5"
        )
    return match["name"], weight


def _check_file(path: Path) -> None:
    """Refuse what is not a regular file that we may read."""
    name = f"{str(path)!r}"
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises for names that are too long
        raise InputError(f"{name} is a folder: give the files in it")
    if not os.path.exists(path):  # noqa: PTH110
        raise InputError(f"{name}: there is no such file{_suggest(path)}")
    if not path.is_file():
        raise InputError(
            f"{name} is not a regular file; a corpus is read more than once, so it cannot come "
            "from a pipe or device: write it to a file first"
        )
    if not os.access(path, os.R_OK):
        raise InputError(f"{name} cannot be read: you do not have permission (chmod +r {path})")


def _suggest(path: Path) -> str:
    """Return a hint at a file in the same folder with a similar name."""
    try:
        names = os.listdir(path.parent)  # noqa: PTH208 - names alone are wanted
    except OSError:
        return f"; there is no folder {str(path.parent)!r}"
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {str(path.with_name(close[0]))!r}?" if close else ""


def _plain_name(path: Path) -> str:
    return path.name[:-3] if path.name.lower().endswith(COMPRESSED_ENDINGS) else path.name


def _extension(path: Path) -> str:
    return _plain_name(path).rpartition(".")[2].lower()


def _text_file(argument: _Argument, languages: tuple[str, str]) -> _TextFile:
    """Find the language in a text file's name: its extension, or a part of NAME.txt."""
    name = _plain_name(argument.path)
    if find_format(_extension(argument.path)) == "text":
        parts = re.split(r"([._-])", name)
        candidates = range(len(parts) - 3, -1, -2)  # every part but the extension, last first
    else:
        parts = list(name.rpartition("."))
        candidates = range(2, 1, -1)  # the extension alone
    for position in candidates:
        side = find_side(parts[position], languages)
        if side is not None:
            before, after = "".join(parts[:position]), "".join(parts[position + 1 :])
            return _TextFile(argument, side, before, after)
    raise InputError(
        f"{str(argument.path)!r}: the name shows neither a format nor the language of a text file. "
        f"{_describe_formats(languages)}"
    )


def _pair_up(
    halves: Iterable[_TextFile], languages: tuple[str, str]
) -> list[tuple[_TextFile, _TextFile]]:
    """Match the two files of each pair; if exactly two remain, they are a pair as well."""
    waiting: dict[tuple[Path, str, str], _TextFile] = {}
    pairs = []
    left: list[_TextFile] = []
    for half in halves:
        partner = waiting.pop(half.key, None)
        if partner is None:
            waiting[half.key] = half
        elif partner.side == half.side:
            left += [partner, half]
        else:
            pairs.append((half, partner) if half.side == 0 else (partner, half))
    left += waiting.values()
    if [half.side for half in sorted(left, key=lambda half: half.side)] == [0, 1]:
        source, target = sorted(left, key=lambda half: half.side)
        return [*pairs, (source, target)]
    if left:
        odd = min(left, key=lambda half: half.argument.position)
        partner_name = f"{odd.before}{languages[1 - odd.side]}{odd.after}"
        raise InputError(
            f"{str(odd.argument.path)!r} has no partner: line-aligned text comes in two files, "
            f"here one in {languages[0]} and one in {languages[1]}; give "
            f"{odd.argument.path.with_name(partner_name)} as well"
        )
    return pairs


def _text_corpus(source: _Argument, target: _Argument, languages: tuple[str, str]) -> Corpus:
    weights = {argument.weight for argument in (source, target)} - {None}
    if len(weights) > 1:
        raise InputError(
            f"{source.path.name} has weight {source.weight:g} and {target.path.name} has weight "
            f"{target.weight:g}, but they are one corpus: give one weight, or the same twice"
        )
    weight = weights.pop() if weights else None
    return Corpus((source.path, target.path), "text", weight or 1.0, *languages, None)


def _refuse_repeats(corpora: Iterable[Corpus]) -> None:
    seen = set()
    for corpus in corpora:
        key = (corpus.format, *(path.resolve() for path in corpus.paths))
        if key in seen:
            raise InputError(
                f"{corpus.name} was given twice; to see it twice as often, give it a weight: "
                f"{corpus.paths[0] if corpus.paths else corpus.name}@2"
            )
        seen.add(key)


def _check_fields(corpora: Iterable[Corpus], fields: tuple[str, str] | None) -> None:
    if fields is None:
        return
    if not all(fields) or fields[0] == fields[1]:
        raise InputError(
            f"fields {fields[0]!r} and {fields[1]!r}: give two different names (or column "
            "numbers), that of the source and that of the target"
        )
    having = sorted(name for name, entry in known_formats().items() if entry.has_fields)
    if not any(corpus.format in having for corpus in corpora):
        raise InputError(
            f"fields {fields[0]!r} and {fields[1]!r} were given, but no corpus has fields: "
            f"only {', '.join(having)} have"
        )


def _describe_formats(languages: tuple[str, str]) -> str:
    extensions = " ".join(
        f".{extension}"
        for name, entry in known_formats().items()
        for extension in entry.extensions
        if name != "text"
    )
    return (
        f"Known are two text files, NAME.{languages[0]} and NAME.{languages[1]} (or with .txt "
        f"after the language), and {extensions}; each may end in .gz or .xz, and @2 after it "
        "doubles its weight."
    )
