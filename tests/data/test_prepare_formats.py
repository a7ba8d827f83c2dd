"""The same pairs, whatever file they come in, give the same shards to the byte."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from prepare_support import Pairs, corpora, files, run, sentences, write_pairs

from translucid.data.prepare import Inputs, PrepareConfig

PAIRS = [
    *sentences(60),
    ("Tom & Léa < tous", "Tom & Lea < all"),
    ('Il dit « "oui" ».', 'He says "yes".'),
    ("une\u00a0espace  insécable", "a\u00a0no-break  space"),
    ("e\u0301te\u0301", "summer"),
    ("مرحبا بالعالم", "hello world 👩\u200d💻"),
    ("dÃ©jÃ\xa0 vu", "seen before"),
    ("identique", "identique"),
    *sentences(5),
]


def tsv(pairs: Pairs) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def jsonl(pairs: Pairs) -> str:
    return "".join(json.dumps({"en": target, "fr": source}) + "\n" for source, target in pairs)


def tmx(pairs: Pairs) -> str:
    units = "".join(
        f'<tu><tuv xml:lang="EN-us"><seg>{escape(target)}</seg></tuv>'
        f'<tuv xml:lang="fr-FR"><seg>{escape(source)}</seg></tuv></tu>\n'
        for source, target in pairs
    )
    return f'<tmx version="1.4"><header srclang="fr"/><body>{units}</body></tmx>'


def po(pairs: Pairs) -> str:
    head = 'msgid ""\nmsgstr ""\n"Language: en\\n"\n\n'
    return head + "".join(
        f"msgid {json.dumps(source, ensure_ascii=False)}\n"
        f"msgstr {json.dumps(target, ensure_ascii=False)}\n\n"
        for source, target in pairs
    )


def xliff(pairs: Pairs) -> str:
    units = "".join(
        f'<trans-unit id="{i}"><source>{escape(source)}</source>'
        f"<target>{escape(target)}</target></trans-unit>\n"
        for i, (source, target) in enumerate(pairs)
    )
    return (
        '<xliff version="1.2"><file source-language="fr" target-language="en" original="x" '
        f'datatype="plaintext"><body>{units}</body></file></xliff>'
    )


def shards(folder: Path, arguments: list[str]) -> dict[str, bytes]:
    """Prepare and return everything that training reads, but for the line numbers."""
    inputs = Inputs(corpora(arguments), dev=(), test=(), tokenizer_from=None)
    run(inputs, folder, PrepareConfig(vocab_size=500, split_test=8))
    names = {"origin", "manifest.json", "report.json", "checksums.json"}
    return {name: data for name, data in files(folder).items() if Path(name).name not in names}


@pytest.fixture(scope="module")
def from_text(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("text")
    return shards(folder / "data", write_pairs(folder, "corpus", PAIRS))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("corpus.tsv", tsv),
        ("corpus.jsonl", jsonl),
        ("corpus.tmx", tmx),
        ("corpus.tmx.gz", tmx),
        ("corpus.tsv.xz", tsv),
        ("corpus.po", po),
        ("corpus.xliff", xliff),
    ],
)
def test_same_pairs_same_shards(
    tmp_path: Path, from_text: dict[str, bytes], name: str, write: Callable[[Pairs], str]
) -> None:
    data = write(PAIRS).encode()
    compress = {".gz": gzip.compress, ".xz": lzma.compress}.get(Path(name).suffix, bytes)
    (tmp_path / name).write_bytes(compress(data))
    assert {"tokenizer.model", "train/fr.tokens", "test/en.text"} <= set(from_text)
    assert shards(tmp_path / "data", [str(tmp_path / name)]) == from_text
