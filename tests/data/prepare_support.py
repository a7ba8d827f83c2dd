"""Small corpora and short ways to prepare them, shared by the tests of preparation."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from translucid.data.prepare import Inputs, PrepareConfig, Prepared, prepare_corpora
from translucid.data.readers import Corpus, find_corpora
from translucid.data.shards import PreparedData
from translucid.events import Emit, silent

Pairs = Sequence[tuple[str, str]]
FRENCH = "le chat chien maison mange dort rouge grand petit vert été élève cœur bois forêt nuit"
ENGLISH = "the cat dog house eats sleeps red big small green summer pupil heart wood forest night"


def sentences(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return pairs of random words; a source sentence stands for one target sentence only."""
    draw = random.Random(seed)
    words = list(zip(FRENCH.split(), ENGLISH.split(), strict=True))
    pairs = []
    for number in range(count):
        chosen = [draw.choice(words) for _ in range(draw.randint(3, 9))]
        french, english = (" ".join(side) for side in zip(*chosen, strict=True))
        pairs.append((f"{french} n° {number} .", f"{english} no {number}."))
    return pairs


def write_pairs(folder: Path, name: str, pairs: Pairs) -> list[str]:
    """Write two line-aligned files and return their names as arguments."""
    for side, lang in enumerate(("fr", "en")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (folder / f"{name}.{lang}").write_bytes(text.encode())
    return [str(folder / f"{name}.fr"), str(folder / f"{name}.en")]


def corpora(arguments: Sequence[str], source: str = "fr", target: str = "en") -> tuple[Corpus, ...]:
    found = find_corpora(arguments, source_lang=source, target_lang=target, fields=None)
    return tuple(found)


def run(
    inputs: Inputs,
    output: Path,
    config: PrepareConfig = PrepareConfig(),  # noqa: B008
    *,
    workers: int = 1,
    chunk_pairs: int = 1000,
    force: bool = False,
    emit: Emit = silent,
) -> Prepared:
    """Prepare in this process, with characters for tokens unless the config says otherwise."""
    return prepare_corpora(
        inputs,
        config,
        output,
        workers=workers,
        chunk_pairs=chunk_pairs,
        force=force,
        emit=emit,
    )


def prepare_pairs(
    folder: Path,
    train: Pairs,
    config: PrepareConfig = PrepareConfig(tokenizer="char"),  # noqa: B008
    *,
    dev: Pairs = (),
    test: Pairs = (),
    output: str = "data",
    chunk_pairs: int = 1000,
    emit: Emit = silent,
) -> tuple[PreparedData, dict]:
    """Write the pairs to files, prepare them, and return the data and its report."""
    inputs = Inputs(
        train=corpora(write_pairs(folder, "train", train)),
        dev=corpora(write_pairs(folder, "dev", dev)) if dev else (),
        test=corpora(write_pairs(folder, "test", test)) if test else (),
        tokenizer_from=None,
    )
    done = run(inputs, folder / output, config, chunk_pairs=chunk_pairs, emit=emit)
    return done, done.report


def pairs_of(data: PreparedData, split: str) -> list[tuple[str, str]]:
    """Return the text of a split."""
    part = data.split(split)
    source, target = data.manifest.source_lang, data.manifest.target_lang
    return [(part.text(source, i), part.text(target, i)) for i in range(len(part))]


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def removed(report: dict) -> dict[str, int]:
    """Return how many pairs each filter removed, where it did."""
    return {entry["name"]: entry["pairs"] for entry in report["removed"] if entry["pairs"]}
