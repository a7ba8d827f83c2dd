"""A model as CTranslate2 and SentencePiece use it, without Translucid.

::

    DIR/model.bin, config.json, shared_vocabulary.json    the network
        sentencepiece.model    the tokenizer, which also normalises a text as the model needs it
        README.md              the lines of Python that translate
        MODEL_CARD.md          the card of the model, and the pictures that it shows

The network's tokens are the pieces of SentencePiece as they are, and the engine adds the end symbol
to a source by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import sentencepiece

from translucid import __version__
from translucid.built_in import describe_model
from translucid.checkpoint.model_directory import (
    CARD,
    TOKENIZER,
    WEIGHTS,
    read_arrays,
    read_config,
    read_generation,
    read_model_files,
)
from translucid.checkpoint.store import write_file
from translucid.config import Precision
from translucid.engines.conversion import find_obstacle
from translucid.engines.ctranslate2 import build_files
from translucid.engines.ctranslate2_directory import SENTENCEPIECE
from translucid.engines.heads import read_alignment_heads
from translucid.errors import InputError, optional
from translucid.machine import thread_count
from translucid.text.normalization import normalization_table
from translucid.text.sentencepiece_model import add_normalization, read_model
from translucid.text.tokenizer import BOS, CORE_PIECES, EOS, UNK, load_tokenizer
from translucid.translator.request import describe_directions
from translucid.translator.segmentation import MAX_SOURCE_TOKENS

MODEL_CARD = "MODEL_CARD.md"
SUBWORDS = ("bpe", "unigram")  # the kinds of tokenizers that are SentencePiece's


def refuse_unless_convertible(model: Path) -> None:
    """Refuse a model that CTranslate2 or SentencePiece cannot represent, naming the property."""
    obstacle = find_obstacle(read_config(model))
    kind = load_tokenizer(model / TOKENIZER).kind
    if obstacle is None and kind not in SUBWORDS:
        obstacle = f"its tokenizer is of kind {kind!r}, not {' or '.join(SUBWORDS)}"
    if obstacle is not None:
        raise InputError(f"{model} cannot be exported to CTranslate2: {obstacle}")


def write_ctranslate2(model: Path, folder: Path, precision: Precision) -> None:
    """Write a model directory into a folder, as CTranslate2 reads it."""
    files = {
        **build_network(model, precision),
        SENTENCEPIECE: build_tokenizer(model),
        **build_card(model),
        CARD: _describe_use(model, precision).encode(),
    }
    for name, content in files.items():
        write_file(folder / name, content)


def build_network(model: Path, precision: Precision, tag: int | None = None) -> dict[str, bytes]:
    """Return the files of a network by name; each source begins with the `tag`, if there is one."""
    config, pieces = read_config(model), read_pieces(model)
    return build_files(
        config,
        read_arrays(model),
        read_alignment_heads(model, config),
        precision=precision,
        pieces=pieces,
        settings={
            "unk_token": pieces[UNK],
            "bos_token": pieces[BOS if tag is None else tag],  # what is put before a source
            "eos_token": pieces[EOS],
            "decoder_start_token": pieces[BOS],
            "add_source_bos": tag is not None,
            "add_source_eos": True,
        },
        path=model / WEIGHTS,
    )


def read_pieces(model: Path) -> tuple[str, ...]:
    """Return the pieces of a model directory's tokenizer, as SentencePiece spells them."""
    return read_model((model / TOKENIZER).read_bytes()).pieces


def build_tokenizer(model: Path) -> bytes:
    """Return the SentencePiece model that normalises a text as the model's training text was."""
    generation = read_generation(model)
    table = normalization_table(lower=generation.lowercase, plain=generation.plain_typography)
    return add_normalization((model / TOKENIZER).read_bytes(), table)


def build_card(model: Path) -> dict[str, bytes]:
    """Return the card of a model and the pictures it shows, by the names that exports give them."""
    texts = read_model_files(model).texts
    return {(MODEL_CARD if name == CARD else name): text.encode() for name, text in texts.items()}


def translate_greedily(
    tokenizer: bytes,
    network: Path | dict[str, bytes],
    texts: Sequence[str],
    tag: Sequence[str],
    longest: int,
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the pieces of texts and of their greedy translations, by the other tools alone.

    The network is a folder, or its files by name; the pieces of a text follow the `tag`. As in our
    search, the start symbol is never written.
    """
    package = optional("ctranslate2", extra="all", job="Checking an export")
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer)
    sources = processor.encode(list(texts), out_type=str)
    translator = package.Translator(
        str(network) if isinstance(network, Path) else "model",
        files=None if isinstance(network, Path) else network,
        compute_type="default",  # that of the weights
        inter_threads=thread_count(),
        intra_threads=1,
    )
    results = translator.translate_batch(
        [[*tag, *source] for source in sources],
        beam_size=1,
        max_input_length=0,
        max_decoding_length=longest,
        max_batch_size=64,
        suppress_sequences=[[CORE_PIECES[BOS]]],
    )
    return sources, [result.hypotheses[0] for result in results]


_USE = """# {name}, for CTranslate2

{directions}, {precision}, written by Translucid {version}. {card} says what the model was
trained on and under which licences. This reads sentences, one per line, and writes their
translations{into}:

```python
import sys

import ctranslate2
import sentencepiece

folder = "."  # this one
translator = ctranslate2.Translator(folder)
pieces = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/{tokenizer}")
for line in sys.stdin:
    source = [{tag}*pieces.encode(line.strip(), out_type=str)]
    (result,) = translator.translate_batch([source], beam_size=4, patience=1.5)
    print(pieces.decode(result.hypotheses[0]))
```
{tags}
The end symbol is added to a source by itself. A line should be one sentence, of at most {longest:,}
pieces with its language tag.
"""


def _describe_use(model: Path, precision: Precision) -> str:
    """Return the page that says how to translate with the exported folder."""
    generation, pieces = read_generation(model), read_pieces(model)
    tags = {target: pieces[tag] for target, tag in generation.tags.items()}
    into = generation.directions[0][1]
    each = ", ".join(f"`{tag}` into {target}" for target, tag in tags.items())
    return _USE.format(
        name=describe_model(model),
        directions=describe_directions(generation.directions),
        precision=precision,
        version=__version__,
        card=MODEL_CARD,
        into=f" into {into}" if tags else "",
        tokenizer=SENTENCEPIECE,
        tag=f'"{tags[into]}", ' if tags else "",
        tags=f"\nA source begins with the tag of the language that it is translated into: {each}.\n"
        if tags
        else "",
        longest=min(MAX_SOURCE_TOKENS, read_config(model).max_positions - 1),
    )
