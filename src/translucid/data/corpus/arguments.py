"""From what a person typed to corpora: ``a.fr a.en``, ``memory.tmx.gz@2``, ``lesson``, ``sort``.

Two line-aligned text files belong together when their names differ in the language alone:
``train.fr`` and ``train.en``, ``news_fr.txt`` and ``news_en.txt``, ``src-train.txt`` and
``tgt-train.txt``, in any order, each plain, ``.gz`` or ``.xz``. Every other format is one file,
known by its extension. ``@2`` or ``@0.5`` after a name is a weight, unless a file of that very name
exists.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from translucid.data.corpus import lesson
from translucid.data.corpus.corpus import Corpus
from translucid.data.corpus.lines import COMPRESSED_ENDINGS
from translucid.data.corpus.string_tasks import TASKS
from translucid.errors import InputError
from translucid.text.languages import check_languages, find_side, matches

FORMAT_OF_EXTENSION = {
    **dict.fromkeys(("tsv", "tab"), "tsv"),
    **dict.fromkeys(("jsonl", "ndjson", "json"), "jsonl"),
    "tmx": "tmx",
    **dict.fromkeys(("po", "pot"), "po"),
    **dict.fromkeys(("xlf", "xliff", "xlf2", "sdlxliff", "mqxliff", "mxliff"), "xliff"),
    "parquet": "parquet",
}
BUILT_IN = (lesson.NAME, *TASKS)  # corpora that need no file
_WITH_FIELDS = {"tsv", "jsonl", "parquet"}
_PLAIN_TEXT = {"txt", "text"}
_WEIGHT = re.compile(r"(?P<name>.+)@(?P<weight>[^@/\\]*)", re.DOTALL)


@dataclass(frozen=True)
class _Argument:
    """A file as given: where it is, its weight if it has one, and its place among the arguments."""

    path: Path
    weight: float | None
    place: int


@dataclass(frozen=True)
class _TextFile:
    """One half of a line-aligned pair: its side, and its name before and after the language."""

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
    """Return the corpora that command line arguments stand for, in the order they were given."""
    check_languages(source_lang, target_lang)
    languages = (source_lang, target_lang)
    if not arguments:
        raise InputError(f"no corpus was given. {_known_formats(languages)}")
    placed: dict[int, Corpus] = {}
    halves: list[_TextFile] = []
    for place, text in enumerate(arguments):
        argument = _parse(text, place)
        name = str(argument.path)
        if name in BUILT_IN and not argument.path.exists():
            if name == lesson.NAME:
                _check_lesson(languages)
            placed[place] = Corpus((), name, argument.weight or 1.0, *languages, None)
            continue
        _check_file(argument.path)
        kind = FORMAT_OF_EXTENSION.get(_extension(argument.path))
        if kind is None:
            halves.append(_text_file(argument, languages))
        else:
            chosen = fields if kind in _WITH_FIELDS else None
            paths = (argument.path,)
            placed[place] = Corpus(paths, kind, argument.weight or 1.0, *languages, chosen)
    for source, target in _pair_up(halves, languages):
        corpus = _text_corpus(source.argument, target.argument, languages)
        placed[min(source.argument.place, target.argument.place)] = corpus
    corpora = [placed[place] for place in sorted(placed)]
    _refuse_repeats(corpora)
    _check_fields(corpora, fields)
    return corpora


def _parse(text: str, place: int) -> _Argument:
    """Split a weight off an argument, unless a file has that very name."""
    if text == "-":
        raise InputError(
            "a corpus cannot come from standard input, since it is read more than once: "
            "write it to a file first"
        )
    match = _WEIGHT.fullmatch(text)
    if match is None or os.path.lexists(text):
        return _Argument(Path(text), None, place)
    try:
        weight = float(match["weight"])
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise InputError(
            f"{text!r}: there is no such file, and {match['weight']!r} after the @ is not a "
            f"weight: give a number above 0, such as {match['name']}@2 or {match['name']}@0.5"
        )
    return _Argument(Path(match["name"]), weight, place)


def _check_file(path: Path) -> None:
    """Refuse what is no regular file that we may read."""
    name = f"{str(path)!r}"
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises for names that are too long
        raise InputError(f"{name} is a folder: give the files in it")
    if not os.path.exists(path):  # noqa: PTH110
        raise InputError(f"{name}: there is no such file{_similar(path)}")
    if not path.is_file():
        raise InputError(
            f"{name} is not a regular file; a corpus is read more than once, so it cannot come "
            "from a pipe or device: write it to a file first"
        )
    if not os.access(path, os.R_OK):
        raise InputError(f"{name} cannot be read: you lack the permission (chmod +r {path})")


def _similar(path: Path) -> str:
    """Return a hint at a file in the same folder whose name is nearly this one."""
    try:
        names = os.listdir(path.parent)  # noqa: PTH208 - names alone are wanted
    except OSError:
        return f"; nor is there a folder {str(path.parent)!r}"
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {str(path.with_name(close[0]))!r}?" if close else ""


def _plain_name(path: Path) -> str:
    return path.name[:-3] if path.name.lower().endswith(COMPRESSED_ENDINGS) else path.name


def _extension(path: Path) -> str:
    return _plain_name(path).rpartition(".")[2].lower()


def _text_file(argument: _Argument, languages: tuple[str, str]) -> _TextFile:
    """Find the language in a text file's name: its extension, or a part of NAME.txt."""
    name = _plain_name(argument.path)
    if _extension(argument.path) in _PLAIN_TEXT:
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
        f"{str(argument.path)!r}: the name does not tell the format, nor a text file's language. "
        f"{_known_formats(languages)}"
    )


def _pair_up(
    halves: Iterable[_TextFile], languages: tuple[str, str]
) -> list[tuple[_TextFile, _TextFile]]:
    """Bring together the two halves of each pair; two that are left over are a pair as well."""
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
        odd = min(left, key=lambda half: half.argument.place)
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
    if not any(corpus.format in _WITH_FIELDS for corpus in corpora):
        raise InputError(
            f"fields {fields[0]!r} and {fields[1]!r} were given, but no corpus has fields: "
            f"only {', '.join(sorted(_WITH_FIELDS))} have"
        )


def _check_lesson(languages: tuple[str, str]) -> None:
    order = lesson.LANGUAGES
    for one, other in (order, order[::-1]):
        if matches(one, languages[0]) and matches(other, languages[1]):
            return
    raise InputError(
        f"the built-in lesson is in {order[0]} and {order[1]}, not in {languages[0]} and "
        f"{languages[1]}"
    )


def _known_formats(languages: tuple[str, str]) -> str:
    extensions = " ".join(f".{extension}" for extension in FORMAT_OF_EXTENSION)
    return (
        f"Known are two text files, NAME.{languages[0]} and NAME.{languages[1]} (or with .txt "
        f"after the language), and {extensions}; each may end in .gz or .xz, and @2 after it "
        "doubles its weight."
    )
