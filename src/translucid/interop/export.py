"""Export a model to another tool, and keep it only if that tool translates as the model does.

::

    DIR.translucid-partial    written, loaded by the other tool, compared with our network
            │
            ▼ the same tokens
    DIR

The comparison is greedy and in float32, on sentences of the built-in lesson or of a file. Where two
tokens are equally probable, rounding chooses: such a difference is a tie, which is counted, not
refused.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TypeAlias, get_args

from translucid import __version__
from translucid.built_in import find_model_directory
from translucid.checkpoint.model_directory import read_config, read_generation, read_model_files
from translucid.checkpoint.store import explain_full_disk, write_file
from translucid.config import ExportTarget, GenerationConfig, Precision
from translucid.data.readers.built_in import LESSON_LANGUAGES, lesson_pairs
from translucid.data.readers.corpus import ReadReport
from translucid.data.readers.lines import read_text_lines
from translucid.decoding.config import SearchConfig
from translucid.decoding.hypothesis import Tokens
from translucid.engines.base import DecoderInput, Pair, SearchOptions
from translucid.engines.conversion import count_parameters
from translucid.engines.ctranslate2_directory import RECORD, SENTENCEPIECE
from translucid.errors import InputError, TranslucidError, nearest
from translucid.files import new_folder
from translucid.interop.argos import package_path, translate_with_argos, write_argos
from translucid.interop.ctranslate2 import (
    SUBWORDS,
    read_pieces,
    refuse_unless_convertible,
    translate_greedily,
    write_ctranslate2,
)
from translucid.text.languages import matches
from translucid.text.normalization import nfc
from translucid.text.sentencepiece_model import SPACE_MARK
from translucid.text.tokenizer import EOS, PAD, PLACEHOLDERS, Tokenizer
from translucid.translator.loading import check_engine, load
from translucid.translator.search import map_in_batches
from translucid.translator.segmentation import MAX_SOURCE_TOKENS
from translucid.translator.translator import Translator

Pieces: TypeAlias = list[list[str]]
SAMPLE = 500  # sentences that are compared

_TIE = 1e-4  # difference of log P below which rounding may choose either token
_MORE = 50  # most tokens that a translation may have beyond those of the longest source
_BATCH = 64


class ExportError(TranslucidError):
    """The other tool does not translate with the exported model as the model does."""


@dataclass(frozen=True)
class Export:
    """An exported folder, and how it was checked.

    Of the `sentences`, `ties` have other tokens from a tie on, and `different` have other tokens in
    the `precision` asked for. `tool` and `reference`, which were compared, have their versions.
    """

    folder: Path
    target: ExportTarget
    model: str
    hash: str
    precision: Precision
    tool: str
    reference: str
    sentences: int
    ties: int
    different: int


@dataclass(frozen=True)
class Sample:
    """Sentences of one direction, as our network reads and translates them, greedily.

    Tokens are those of the `vocabulary`; `read` and `written` have neither the language's tag nor
    the end symbol. No translation has more than `longest` tokens, and of none are more compared
    than 50 beyond its source: a good one has ended by then.
    """

    direction: tuple[str, str]
    vocabulary: tuple[str, ...]
    texts: tuple[str, ...]
    tag: Tokens
    read: tuple[Tokens, ...]
    written: tuple[Tokens, ...]
    longest: int

    def spell(self, tokens: Sequence[int]) -> list[str]:
        """Return the pieces of tokens."""
        return [self.vocabulary[token] for token in tokens]

    def cut(self, number: int, translation: Sequence[str]) -> list[str]:
        """Return what is compared of a translation in pieces."""
        return list(translation[: min(self.longest, len(self.read[number]) + _MORE)])

    @property
    def sources(self) -> Pieces:
        """The sentences in pieces."""
        return list(map(self.spell, self.read))

    @property
    def translations(self) -> Pieces:
        """The translations in pieces, as far as they are compared."""
        return [self.cut(number, self.spell(each)) for number, each in enumerate(self.written)]


@dataclass(frozen=True)
class Target:
    """Another tool: how to write a model for it, and how it translates a sample with that."""

    tool: str
    package: str
    refuse: Callable[[Path], None]
    write: Callable[[Path, Path, Precision], None]
    translate: Callable[[Path, Sample], tuple[Pieces, Pieces]]
    precisions: tuple[Precision, ...] = get_args(Precision)


def _in_ctranslate2(folder: Path, sample: Sample) -> tuple[Pieces, Pieces]:
    tokenizer = (folder / SENTENCEPIECE).read_bytes()
    tag = sample.spell(sample.tag)
    return translate_greedily(tokenizer, folder, sample.texts, tag, sample.longest)


def _in_argos(folder: Path, sample: Sample) -> tuple[Pieces, Pieces]:
    package = package_path(folder, sample.direction)
    return translate_with_argos(package, sample.texts, sample.longest)


def _write_huggingface(model: Path, folder: Path, precision: Precision) -> None:
    del precision  # always float32
    importlib.import_module("translucid.interop.huggingface").write_huggingface(model, folder)
    for name, text in read_model_files(model).texts.items():
        write_file(folder / name, text.encode())


def _in_huggingface(folder: Path, sample: Sample) -> tuple[Pieces, Pieces]:
    module = importlib.import_module("translucid.interop.huggingface")
    sources = [sample.spell((*sample.tag, *tokens)) for tokens in sample.read]
    return sample.sources, module.translate_with_huggingface(folder, sources)


TARGETS: Mapping[ExportTarget, Target] = {
    "ctranslate2": Target(
        "CTranslate2",
        "ctranslate2",
        refuse_unless_convertible,
        write_ctranslate2,
        _in_ctranslate2,
    ),
    "huggingface": Target(
        "Transformers",
        "transformers",
        lambda _: None,  # what does not fit is refused when it is written
        _write_huggingface,
        _in_huggingface,
        ("float32",),
    ),
    "argos": Target(
        "CTranslate2",  # which computes in Argos Translate
        "ctranslate2",
        refuse_unless_convertible,
        write_argos,
        _in_argos,
    ),
}


def export(
    model: Translator | str | PathLike[str],
    target: ExportTarget,
    *,
    output: str | PathLike[str],
    precision: Precision = "float32",
    sample: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> Export:
    """Write a model for another tool into the folder `output`, and check that it translates alike.

    ::

        translucid.export("run", "ctranslate2", output="ct2")

    The tools are CTranslate2 (ctranslate2), Hugging Face Transformers (huggingface), and Argos
    Translate and LibreTranslate (argos). Each must write the same tokens as our network, in greedy
    search in float32, for `sample`: a text file with sentences in the model's source language, or
    for French and English the built-in lesson. If it does not, nothing is kept. With the precision
    int8, it is told how many translations differ then. `overwrite` replaces an earlier export.
    """
    into = _find_target(target, precision)
    folder, place = _find_folder(model), Path(output)
    _check_output(place, overwrite=overwrite)
    into.refuse(folder)
    has_pytorch = importlib.util.find_spec("torch") is not None
    translator = load(
        folder, engine="pytorch" if has_pytorch else "ctranslate2", precision="float32"
    )
    samples = _build_samples(translator, folder, None if sample is None else Path(sample))
    with (
        explain_full_disk(
            place,
            "the exported model",
            needed=_estimate_size(folder, target),
            remedy="Nothing was kept. Free some space, and try again.",
        ),
        new_folder(place) as draft,
    ):
        into.write(folder, draft, "float32")
        ties = sum(_check(translator, into, draft, one) for one in samples)
        different = 0
        if precision != "float32":
            into.write(folder, draft, precision)
            different = sum(_count_different(into, draft, one) for one in samples)
        done = Export(
            folder=place,
            target=target,
            model=translator.name,
            hash=translator.hash,
            precision=precision,
            tool=f"{into.tool} {importlib.metadata.version(into.package)}",
            reference=_describe_reference(has_pytorch),
            sentences=sum(len(one.texts) for one in samples),
            ties=ties,
            different=different,
        )
        write_file(draft / RECORD, _describe(done, read_generation(folder)))
    return done


def _find_target(target: str, precision: Precision) -> Target:
    if target not in TARGETS:
        raise InputError(f"target = {target!r}; {nearest(target, TARGETS)}")
    check_engine("auto", precision)
    found = TARGETS[target]  # type: ignore[index]
    if precision not in found.precisions:
        raise InputError(
            f"precision = {precision!r} is none of {target}'s: {', '.join(found.precisions)}"
        )
    return found


def _find_folder(model: Translator | str | PathLike[str]) -> Path:
    """Return the directory of a model, which must be one of its own."""
    if not isinstance(model, Translator):
        return find_model_directory(Path(model))
    if len(model.folders) != 1:
        raise InputError(
            f"{model.name} was loaded from {len(model.folders)} model directories, and only a "
            "model that is one of its own can be exported"
        )
    return model.folders[0]


def _check_output(place: Path, *, overwrite: bool) -> None:
    """Refuse to replace anything that was not exported, or what nobody has said may go."""
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    if not (place / RECORD).is_file():
        raise InputError(
            f"-o {place} exists and is not an exported model (it has no {RECORD}): give another "
            "name"
        )
    if not overwrite:
        raise InputError(f"-o {place} exists: give another name, or --overwrite to replace it")


def _estimate_size(folder: Path, target: ExportTarget) -> int:
    copies = len(read_generation(folder).directions) if target == "argos" else 1
    return 4 * count_parameters(read_config(folder)) * copies


def _build_samples(translator: Translator, folder: Path, file: Path | None) -> list[Sample]:
    """Return the sentences to compare, for each direction, with the greedy translations."""
    directions = translator.directions
    texts = None if file is None else list(read_text_lines(file, (), ReadReport()))
    samples = []
    for direction in directions:
        given = _read_lesson(direction[0]) if texts is None else texts
        fitting = [one for one in map(nfc, map(str.strip, given)) if _fits(translator, one)]
        if not fitting:
            raise InputError(
                f"--sample {file} has no sentence of 1 to {_longest(translator)} tokens"
            )
        count = max(1, SAMPLE // len(directions))
        samples.append(_build_sample(translator, folder, direction, _spread(fitting, count)))
    return samples


def _read_lesson(language: str) -> list[str]:
    for side, known in enumerate(LESSON_LANGUAGES):
        if matches(known, language):
            return [pair[side] for split in ("test", "dev") for pair in lesson_pairs(split)]
    raise InputError(
        f"the built-in lesson has no {language}, which the model translates: give sentences to "
        "compare, --sample FILE"
    )


def _longest(translator: Translator) -> int:
    """Return the most tokens of a sentence that is compared."""
    return min(MAX_SOURCE_TOKENS, min(c.max_positions for c in translator.engines.configs) - 2)


def _fits(translator: Translator, text: str) -> bool:
    """Tell whether a text is short enough, and has no character that has a meaning of its own."""
    plain = SPACE_MARK not in text and not any(character in PLACEHOLDERS for character in text)
    return plain and 0 < len(translator.tokenizer.encode(text)) <= _longest(translator)


def _spread(texts: Sequence[str], count: int) -> list[str]:
    """Return some of the texts, evenly spread over them."""
    count = min(count, len(texts))
    return [texts[number * len(texts) // count] for number in range(count)]


def _build_sample(
    translator: Translator, folder: Path, direction: tuple[str, str], texts: Sequence[str]
) -> Sample:
    tag = translator.tag(direction[1])
    ids = translator.tokenizer.encode_batch(texts)
    longest = min(max(map(len, ids)) + _MORE, _longest(translator))
    options = SearchOptions(
        SearchConfig(method="greedy", max_length=longest, loop_guard=False),
        unwritable=(),
        forbidden=(),
        placeholders=(),
        decode=translator.tokenizer.decode,
        token_scores=False,
    )
    inputs = [DecoderInput((*tag, *each, EOS), (), ()) for each in ids]
    found = map_in_batches(
        [len(item.source) for item in inputs],
        _BATCH,
        lambda numbers: translator.engines.search([inputs[number] for number in numbers], options),
    )
    return Sample(
        direction=direction,
        vocabulary=_spell_vocabulary(translator.tokenizer, folder),
        texts=tuple(texts),
        tag=tag,
        read=tuple(map(tuple, ids)),
        written=tuple(each[0].tokens for each in found),
        longest=longest,
    )


def _spell_vocabulary(tokenizer: Tokenizer, folder: Path) -> tuple[str, ...]:
    if tokenizer.kind in SUBWORDS:
        return read_pieces(folder)  # where placeholders are characters, as in SentencePiece
    return tuple(map(tokenizer.piece, range(tokenizer.vocab_size)))


def _check(translator: Translator, target: Target, folder: Path, sample: Sample) -> int:
    """Refuse a folder with which the tool translates in another way; return the number of ties."""
    read, written = _translate(target, folder, sample)
    if wrong := [n for n, one in enumerate(sample.sources) if one != read[n]]:
        raise _difference(target, sample, wrong, sample.sources, read, "reads")
    different = [n for n, one in enumerate(sample.translations) if one != written[n]]
    wrong = [n for n in different if not _is_tie(translator, sample, n, written[n])]
    if wrong:
        raise _difference(target, sample, wrong, sample.translations, written, "translates")
    return len(different)


def _count_different(target: Target, folder: Path, sample: Sample) -> int:
    _, written = _translate(target, folder, sample)
    return sum(one != other for one, other in zip(sample.translations, written, strict=True))


def _translate(target: Target, folder: Path, sample: Sample) -> tuple[Pieces, Pieces]:
    """Return what the tool reads, and what it writes, as far as that is compared."""
    read, written = target.translate(folder, sample)
    return read, [sample.cut(number, each) for number, each in enumerate(written)]


def _difference(
    target: Target,
    sample: Sample,
    wrong: Sequence[int],
    ours: Pieces,
    theirs: Pieces,
    verb: str,
) -> ExportError:
    first = wrong[0]
    return ExportError(
        f"{target.tool} {verb} {len(wrong):,} of {len(sample.texts):,} sentences in another way "
        f"than the model, {'→'.join(sample.direction)}, so nothing was kept. The first of them:\n"
        f"  sentence     {sample.texts[first]}\n"
        f"  the model    {' '.join(ours[first])}\n"
        f"  {target.tool:<12} {' '.join(theirs[first])}"
    )


def _is_tie(translator: Translator, sample: Sample, number: int, written: Sequence[str]) -> bool:
    """Tell whether the first token that differs is as probable as ours, but for rounding."""
    tokens = {piece: token for token, piece in enumerate(sample.vocabulary)}
    ours = (*(tokens[piece] for piece in sample.translations[number]), EOS)
    theirs = (*(tokens[piece] for piece in written), EOS)
    same = next(n for n, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other)
    if PAD in ours[: same + 1] or PAD in theirs[: same + 1]:
        return False  # a token that cannot be scored
    source = (*sample.tag, *sample.read[number], EOS)
    pairs = [Pair(source, each[: same + 1]) for each in (ours, theirs)]
    one, other = (scores[same] for scores in translator.engines.score(pairs))
    return abs(one - other) < _TIE


def _describe_reference(has_pytorch: bool) -> str:
    if has_pytorch:
        return f"PyTorch {importlib.metadata.version('torch')}"
    return f"Translucid {__version__} with CTranslate2 in float32"


def _describe(export: Export, generation: GenerationConfig) -> bytes:
    """Return the record of an export: how it was checked, languages, and how the model searches."""
    content = {"translucid": __version__, **asdict(export)}
    del content["folder"]  # which may be moved
    content["generation"] = generation.model_dump(mode="json")
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()
