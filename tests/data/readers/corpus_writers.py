"""Small valid files of each format, made from pairs by other means than the readers use.

Each writer returns the line on which each pair stands, counted from what it wrote.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from translucid.data.readers import Corpus, Pair, ReadReport, read_pairs

Pairs = Sequence[tuple[str, str]]
Writer = Callable[[Path, Pairs, str, str], list[int]]

# What XML 1.0 cannot hold.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def save(path: Path, text: str) -> None:
    """Write text to a plain or compressed file, newlines as they are."""
    data = text.encode("utf-8")
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def save_units(path: Path, head: str, units: Sequence[str], tail: str) -> list[int]:
    """Write units one after the other and return the line on which each begins."""
    lines, text, line = [], [head], 1 + head.count("\n")
    for unit in units:
        lines.append(line)
        line += unit.count("\n")
        text.append(unit)
    save(path, "".join([*text, tail]))
    return lines


def xml(text: str) -> str:
    """Escape text for XML; a carriage return would otherwise be read as a newline."""
    for char, escape in {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}.items():
        text = text.replace(char, escape)
    return text


def po(text: str) -> str:
    """Write text as a PO string."""
    for char, escape in {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}.items():
        text = text.replace(char, escape)
    return f'"{text}"'


def write_tsv(path: Path, pairs: Pairs, source: str, target: str) -> list[int]:
    return save_units(path, "", [f"{one}\t{other}\n" for one, other in pairs], "")


def write_jsonl(path: Path, pairs: Pairs, source: str, target: str) -> list[int]:
    rows = [json.dumps({source: one, target: other, "n": 1}) + "\n" for one, other in pairs]
    return save_units(path, "", rows, "")


def write_tmx(path: Path, pairs: Pairs, source: str, target: str) -> list[int]:
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
        '<tmx version="1.4">\n<header creationtool="t" creationtoolversion="1" segtype="sentence" '
        f'o-tmf="t" adminlang="en" srclang="{source}" datatype="plaintext"/>\n<body>\n'
    )
    units = [
        f'<tu>\n<tuv xml:lang="{source}"><seg>{xml(one)}</seg></tuv>\n'
        f'<tuv xml:lang="{target}"><seg>{xml(other)}</seg></tuv>\n</tu>\n'
        for one, other in pairs
    ]
    return save_units(path, head, units, "</body>\n</tmx>\n")


def write_po(path: Path, pairs: Pairs, source: str, target: str) -> list[int]:
    head = (
        'msgid ""\nmsgstr ""\n'
        f'"Language: {target}\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    )
    units = [f"msgid {po(one)}\nmsgstr {po(other)}\n\n" for one, other in pairs]
    return save_units(path, head, units, "")


def write_xliff(path: Path, pairs: Pairs, source: str, target: str) -> list[int]:
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\n'
        f'<file original="t" datatype="plaintext" source-language="{source}" '
        f'target-language="{target}">\n<body>\n'
    )
    units = [
        f'<trans-unit id="{number}"><source>{xml(one)}</source>\n'
        f"<target>{xml(other)}</target></trans-unit>\n"
        for number, (one, other) in enumerate(pairs)
    ]
    return save_units(path, head, units, "</body>\n</file>\n</xliff>\n")


def write_xliff2(path: Path, pairs: Pairs, source: str, target: str) -> list[int]:
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" '
        f'srcLang="{source}" trgLang="{target}">\n<file id="f">\n'
    )
    units = [
        f'<unit id="{number}"><segment><source>{xml(one)}</source>\n'
        f"<target>{xml(other)}</target></segment></unit>\n"
        for number, (one, other) in enumerate(pairs)
    ]
    return save_units(path, head, units, "</file>\n</xliff>\n")


def write_parquet(path: Path, pairs: Pairs, source: str, target: str) -> list[int]:
    rows = [{source: one, target: other} for one, other in pairs]
    kind = pa.struct([(source, pa.string()), (target, pa.string())])
    pq.write_table(pa.table({"translation": pa.array(rows, kind)}), path)
    return list(range(1, len(pairs) + 1))


def write_text_pair(paths: tuple[Path, Path], pairs: Pairs) -> list[int]:
    """Write two line-aligned files."""
    save(paths[0], "".join(f"{one}\n" for one, _ in pairs))
    save(paths[1], "".join(f"{other}\n" for _, other in pairs))
    return list(range(1, len(pairs) + 1))


# File name, format, writer.
WRITERS: dict[str, tuple[str, Writer]] = {
    "corpus.tsv": ("tsv", write_tsv),
    "corpus.jsonl": ("jsonl", write_jsonl),
    "corpus.tmx": ("tmx", write_tmx),
    "corpus.po": ("po", write_po),
    "corpus.xlf": ("xliff", write_xliff),
    "corpus-2.0.xlf": ("xliff", write_xliff2),
    "corpus.parquet": ("parquet", write_parquet),
}


def corpus_of(
    path: Path, kind: str, *, fields: tuple[str, str] | None = None, langs: str = "fr en"
) -> Corpus:
    """Return a corpus of one file."""
    source, target = langs.split()
    return Corpus((path,), kind, 1.0, source, target, fields)


def text_corpus(source: Path, target: Path) -> Corpus:
    """Return a corpus of two line-aligned files."""
    return Corpus((source, target), "text", 1.0, "fr", "en", None)


def read_all(corpus: Corpus) -> tuple[list[Pair], ReadReport]:
    """Read a corpus to its end."""
    report = ReadReport()
    return list(read_pairs(corpus, report)), report


def skipped(report: ReadReport) -> dict[str, int]:
    """Return how many lines or units were skipped, by reason."""
    return {str(reason): tally.count for reason, tally in report.skipped.items()}
