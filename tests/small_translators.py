"""Small model directories for tests: random networks, and one that was taught to translate.

The taught one knows twelve words and says them in reverse, so every test can tell the right
translation and the right alignment of any sentence of up to five words, none of them twice::

    chat noir dort   →   sleeps black cat       target word t is source word (n - 1 - t)
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from networks import network
from small_tokenizers import small_tokenizer, tokenizer_with_placeholders
from translucid.checkpoint.model_directory import (
    CARD,
    ModelFiles,
    named_weights,
    write_model,
)
from translucid.config import GenerationConfig, ModelConfig
from translucid.model import Transformer
from translucid.text.tokenizer import BOS, EOS, PAD, Tokenizer
from translucid.text.word_and_character import WordTokenizer

LEXICON = {
    "chat": "cat", "chien": "dog", "noir": "black", "petit": "small", "maison": "house",
    "rouge": "red", "mange": "eats", "dort": "sleeps", "arbre": "tree", "eau": "water",
    "livre": "book", "vieux": "old",
}  # fmt: skip
LONGEST = 5  # words of a sentence that the taught network has seen


def reversed_translation(source: str) -> str:
    """Return what the taught network has learned to answer."""
    return " ".join(LEXICON[word] for word in reversed(source.split()))


def sentences(count: int, seed: int) -> list[str]:
    """Return sentences of one to five French words, no word twice in one."""
    draw = random.Random(seed)
    words = sorted(LEXICON)
    return [" ".join(draw.sample(words, draw.randint(1, LONGEST))) for _ in range(count)]


def write_taught_model(folder: Path) -> Path:
    """Write the model directory of the taught network, French to English; a few seconds once."""
    model = _taught_network()
    return write_directory(folder, model, _word_tokenizer(), GenerationConfig(**_LANGUAGES))


def write_random_model(
    folder: Path,
    *,
    kind: str = "bpe",
    seed: int = 0,
    placeholders: bool = False,
    generation: Mapping[str, Any] | None = None,
    **config: Any,
) -> Path:
    """Write a model directory with a small tokenizer and a network that was never trained.

    Its translations are nonsense, and often endless: what a program must survive.
    """
    tokenizer = tokenizer_with_placeholders(kind) if placeholders else small_tokenizer(kind)
    sizes: dict[str, Any] = {
        "d_model": 32, "d_ff": 48, "heads": 4, "encoder_layers": 2, "decoder_layers": 2,
        "norm": "pre",
    }  # fmt: skip
    model = network(_config(tokenizer, {**sizes, **config}), seed)
    settings = GenerationConfig(**{**_LANGUAGES, **(generation or {})})
    return write_directory(folder, model, tokenizer, settings)


def write_directory(
    folder: Path, model: Transformer, tokenizer: Tokenizer, generation: GenerationConfig
) -> Path:
    """Write a model directory and return its path."""
    tokenizer.save(folder.parent / f"{folder.name}.tokenizer")
    files = ModelFiles(
        config=model.config,
        generation=generation,
        tokenizer=(folder.parent / f"{folder.name}.tokenizer").read_bytes(),
        provenance={"made": "by a test"},
        texts={CARD: "# A small model\n"},
    )
    write_model(folder, named_weights(model), files)
    return folder


_LANGUAGES: dict[str, Any] = {"directions": [("fr", "en")], "tags": {}}


def _config(tokenizer: Tokenizer, settings: Mapping[str, Any]) -> ModelConfig:
    vocab = {"source_vocab_size": tokenizer.vocab_size, "target_vocab_size": tokenizer.vocab_size}
    return ModelConfig(**{**vocab, **settings})


@cache
def _word_tokenizer() -> Tokenizer:
    return WordTokenizer.train([*LEXICON, *LEXICON.values()], vocab_size=1000)


@cache
def _taught_network(steps: int = 400) -> Transformer:
    """Return a network that has learned to translate word by word, in reverse."""
    torch.manual_seed(0)
    model = Transformer(
        _config(
            _word_tokenizer(),
            {"d_model": 48, "d_ff": 96, "heads": 4, "encoder_layers": 1, "decoder_layers": 2,
             "norm": "pre", "dropout": 0.0},
        )
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3, betas=(0.9, 0.98), fused=True)
    decay = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 30) * (1 - step / steps)
    )
    pool = _batch(sentences(4000, seed=1))
    generator = torch.Generator().manual_seed(2)
    for _ in range(steps):
        picks = torch.randint(len(pool[0]), (64,), generator=generator)
        source_BS, target_BT, labels_BT = (ids[picks] for ids in pool)
        logits_BTV = model(source_BS, target_BT)
        loss = nn.functional.cross_entropy(
            logits_BTV.flatten(0, 1), labels_BT.flatten(), ignore_index=PAD
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
    return model.eval()


def _batch(texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
    tokenizer = _word_tokenizer()
    sources = tokenizer.encode_batch(list(texts))
    targets = tokenizer.encode_batch([reversed_translation(text) for text in texts])
    return (
        _padded([[*ids, EOS] for ids in sources]),
        _padded([[BOS, *ids] for ids in targets]),
        _padded([[*ids, EOS] for ids in targets]),
    )


def _padded(rows: Sequence[Sequence[int]]) -> Tensor:
    tensors = [torch.tensor(row) for row in rows]
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=PAD)
