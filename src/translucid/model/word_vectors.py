"""Pretrained word vectors (word2vec or GloVe text format) for an embedding (section 3.4)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

import torch

from translucid.errors import DataError, InputError
from translucid.model.embeddings import TokenEmbedding


def load_word_vectors(embedding: TokenEmbedding, path: Path | str, tokens: Sequence[str]) -> int:
    """Fill the embedding's rows from a file of vectors; return the number of rows filled.

    ``tokens[i]`` is the text of id i. Embeddings are multiplied by √d_model on their way into the
    network (section 3.4), so a vector is stored divided by it: the network sees the vector as it
    stands in the file. Nothing is changed when the file turns out to be bad.
    """
    vocab_size, d_model = embedding.weight.shape
    if len(tokens) != vocab_size:
        raise InputError(
            f"tokens has {len(tokens)} entries, but the embedding has {vocab_size} rows: "
            "give the text of every id"
        )
    rows: dict[str, list[int]] = {}
    for row, token in enumerate(tokens):
        rows.setdefault(token, []).append(row)
    found = {
        row: vector
        for word, vector in _read_vectors(Path(path), d_model, wanted=rows)
        for row in rows[word]
    }
    if found:
        vectors = torch.tensor(list(found.values()), dtype=torch.float64) / math.sqrt(d_model)
        with torch.no_grad():
            embedding.weight[list(found)] = vectors.to(embedding.weight)
    return len(found)


def _read_vectors(
    path: Path, size: int, wanted: Container[str]
) -> Iterator[tuple[str, list[float]]]:
    """Yield (word, vector) of the wanted words, line by line; word2vec's header is skipped."""
    try:
        lines = path.open(encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise _bad(path, None, error.strerror or "cannot be read") from error
    with lines:
        for number, line in enumerate(itertools.chain([next(lines, "")], lines), start=1):
            fields = line.split()
            if number == 1:
                _check_size(path, fields, size)
                if len(fields) == 2:
                    continue
            # Some words of GloVe's largest file have spaces in them: the vector is what comes last.
            word, values = " ".join(fields[:-size]), fields[-size:]
            if fields and not word:
                raise _bad(path, number, f"{len(fields) - 1} numbers instead of {size}")
            if word in wanted:
                yield word, _numbers(path, number, values)


def _check_size(path: Path, first_line: list[str], size: int) -> None:
    header = len(first_line) == 2 and first_line[1].isdigit()
    found = int(first_line[1]) if header else len(first_line) - 1
    if found != size:
        raise _bad(path, 1, f"vectors of {found} numbers, but d_model is {size}")


def _numbers(path: Path, line: int, values: list[str]) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except ValueError as error:
        raise _bad(path, line, f"not a number: {error}") from error
    if not all(map(math.isfinite, numbers)):
        raise _bad(path, line, "a number that is not finite")
    return numbers


def _bad(path: Path, line: int | None, problem: str) -> DataError:
    remedy = "Give a word2vec or GloVe text file: a line is a word, then its d_model numbers."
    return DataError(path, problem, remedy=remedy, line=line)
