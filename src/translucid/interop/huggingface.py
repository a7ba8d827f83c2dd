"""Model directories as Hugging Face Marian directories, which transformers loads.

::

    DIR/config.json              settings of MarianMTModel, and ours for importing it again
        generation_config.json   beam, and the tokens that no translation has
        model.safetensors        weights, with zeros for biases that the network does not have
        source.spm, target.spm   SentencePiece models; of a tokenizer of ours, twice the same
        vocab.json               pieces and their ids, which are ours
        tokenizer_config.json    languages and symbols of MarianTokenizer

The text of a multilingual source begins with its target language: ``>>fr<<The cat``, no space
between.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translucid.checkpoint.model_directory import (
    TOKENIZER,
    read_config,
    read_generation,
    read_weights,
)
from translucid.checkpoint.store import write_file
from translucid.config import KERNELS, GenerationConfig, ModelConfig
from translucid.engines.conversion import expected_shapes
from translucid.errors import InputError, optional
from translucid.interop.marian import (
    ACTIVATIONS,
    NORM_EPSILON,
    OURS,
    OUTPUT,
    OUTPUT_BIAS,
    SHARED,
    SOURCE,
    TARGET,
    WEIGHTS,
    name_layers,
    reorder_dimensions,
)
from translucid.text.marian import MarianTokenizer
from translucid.text.marian_vocabulary import (
    CONFIG,
    GENERATION,
    SOURCE_MODEL,
    TARGET_MODEL,
    TOKENIZER_CONFIG,
    VOCABULARY,
)
from translucid.text.sentencepiece import SentencePieceTokenizer
from translucid.text.sentencepiece_model import read_model
from translucid.text.tokenizer import (
    BOS,
    CORE_PIECES,
    EOS,
    FIRST_TAG,
    PAD,
    TAG_PIECES,
    UNK,
    Tokenizer,
    load_tokenizer,
)
from translucid.translator.search import build_batches, find_unwritable_tokens

if TYPE_CHECKING:
    from torch import Tensor

_POSITIONS = ("sinusoidal", "sinusoidal-halves")
_ROWS = 32  # sentences that are translated at once
_MORE = 50  # tokens that a translation may have beyond the longest source


def write_huggingface(model: Path, folder: Path) -> None:
    """Write a model directory as a Hugging Face Marian directory, into a folder.

    Raises InputError that names each property of the model that MarianMTModel does not have.
    """
    config, generation = read_config(model), read_generation(model)
    tokenizer = load_tokenizer(model / TOKENIZER)
    if faults := [*_find_misfits(config), *_find_text_misfits(generation, tokenizer)]:
        lines = [f"{model} does not fit into MarianMTModel:", *(f"  - {one}" for one in faults)]
        raise InputError("\n".join(lines))
    data = (model / TOKENIZER).read_bytes()
    models = tokenizer.models if isinstance(tokenizer, MarianTokenizer) else (data, data)
    pieces = _name_pieces(tokenizer, models[0], generation)
    contents = {
        CONFIG: _as_json(_build_config(config, generation)),
        GENERATION: _as_json(_build_generation_config(config, generation, tokenizer)),
        SOURCE_MODEL: models[0],
        TARGET_MODEL: models[1],
        VOCABULARY: _as_json({piece: token for token, piece in enumerate(pieces)}),
        TOKENIZER_CONFIG: _as_json(_build_tokenizer_config(config, generation)),
        WEIGHTS: _serialize(_rename_weights(config, read_weights(model))),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_file(folder / name, content)


def translate_with_huggingface(folder: Path, sources: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the greedy target pieces of source pieces, by transformers itself.

    Sources and translations are pieces as vocab.json spells them; a source may name its tag as our
    tokenizers do, and may have its end symbol or not. All tokens may be written. A translation has
    at most 50 tokens more than the longest source, and no more than there are positions.
    """
    job = "Translating with a Hugging Face directory"
    transformers = optional("transformers", extra="dev", job=job)
    import torch

    transformers.utils.logging.disable_progress_bar()
    # In half precision, it would round the sinusoids too.
    network = transformers.MarianMTModel.from_pretrained(
        folder, local_files_only=True, dtype=torch.float32
    ).eval()
    network.generation_config.bad_words_ids = None
    ids = json.loads((folder / VOCABULARY).read_bytes())
    pieces = sorted(ids, key=ids.__getitem__)
    ids = {**{piece: token for token, piece in enumerate(TAG_PIECES, FIRST_TAG)}, **ids}
    rows = [[ids.get(p, UNK) for p in source if p != CORE_PIECES[EOS]] for source in sources]
    longest = 1 + max(map(len, rows), default=0) + _MORE  # the start symbol counts
    found: list[list[str]] = [[] for _ in rows]
    for batch in build_batches(list(map(len, rows)), _ROWS):
        width = len(rows[batch[0]])  # they begin with the longest
        source_BS = torch.tensor(
            [[*rows[number], EOS, *[PAD] * (width - len(rows[number]))] for number in batch]
        )
        written_BT = network.generate(
            input_ids=source_BS,
            attention_mask=(source_BS != PAD).long(),
            num_beams=1,
            do_sample=False,
            max_length=min(longest, network.config.max_position_embeddings),
        )
        for number, tokens in zip(batch, written_BT[:, 1:].tolist(), strict=True):
            text = itertools.takewhile(lambda token: token != EOS, tokens)
            found[number] = [pieces[token] for token in text]
    return found


def _find_misfits(config: ModelConfig) -> Iterator[str]:
    """Yield what of a network MarianMTModel does not have."""
    if config.norm != "post":
        yield f"norm is {config.norm!r}: its LayerNorm comes after each sublayer (post)"
    if config.positions not in _POSITIONS:
        yield f"positions are {config.positions!r}: its are {' or '.join(_POSITIONS)}"
    if config.activation not in ACTIVATIONS:
        yield f"activation is {config.activation!r}: its are {', '.join(ACTIVATIONS)}"
    if config.attention not in KERNELS.built_in:
        yield f"attention is {config.attention!r}, which is registered, not built in"
    if not config.d_k == config.d_v == config.d_model / config.heads:
        yield (
            f"d_k is {config.d_k} and d_v {config.d_v}: both of its are d_model / heads, "
            f"{config.d_model / config.heads:g}"
        )
    if config.norm_epsilon != NORM_EPSILON:
        yield f"norm_epsilon is {config.norm_epsilon:g}: its is {NORM_EPSILON:g}"
    if config.padding_id != PAD:
        yield f"padding_id is {config.padding_id}, not {PAD}"


def _find_text_misfits(generation: GenerationConfig, tokenizer: Tokenizer) -> Iterator[str]:
    """Yield what of its text MarianTokenizer does not know."""
    if not isinstance(tokenizer, SentencePieceTokenizer | MarianTokenizer):
        yield f"its tokenizer is of kind {tokenizer.kind!r}: MarianTokenizer has SentencePiece's"
    for name in ("lowercase", "plain_typography"):
        if getattr(generation, name):
            yield f"{name}: MarianTokenizer does not normalise text so"


# ---- settings ------------------------------------------------------------------------------------


def _build_config(config: ModelConfig, generation: GenerationConfig) -> dict[str, Any]:
    shared = config.tying == "all" and config.source_vocab_size == config.target_vocab_size
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("ffn_dim", config.d_ff), ("attention_heads", config.heads))
    }
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": config.source_vocab_size,
        "decoder_vocab_size": config.target_vocab_size,
        "share_encoder_decoder_embeddings": shared,
        "tie_word_embeddings": config.tying != "none",
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "num_hidden_layers": config.encoder_layers,
        **sides,
        "activation_function": ACTIVATIONS[config.activation],
        "scale_embedding": True,
        "static_position_embeddings": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "max_position_embeddings": config.max_positions,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.feed_forward_dropout,
        **_SYMBOLS,
        OURS: {
            "positions": config.positions,
            "generation": generation.model_dump(mode="json"),
        },
    }


_SYMBOLS = {
    "pad_token_id": PAD,
    "bos_token_id": None,
    "eos_token_id": EOS,
    "decoder_start_token_id": BOS,
    "forced_eos_token_id": None,
}


def _build_generation_config(
    config: ModelConfig, generation: GenerationConfig, tokenizer: Tokenizer
) -> dict[str, Any]:
    """Return how transformers is to search; its length penalty is always of the plain form."""
    plain = generation.length_form == "plain"
    never = find_unwritable_tokens(tokenizer.within(config.target_vocab_size))
    return {
        **_SYMBOLS,
        "bad_words_ids": [[token] for token in never],
        "num_beams": generation.beam,
        "length_penalty": generation.length_penalty if plain else 1.0,
        "max_length": config.max_positions,
    }


def _build_tokenizer_config(config: ModelConfig, generation: GenerationConfig) -> dict[str, Any]:
    source, target = generation.directions[0]
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": source,
        "target_lang": target,
        "unk_token": CORE_PIECES[UNK],
        "eos_token": CORE_PIECES[EOS],
        "pad_token": CORE_PIECES[PAD],
        "model_max_length": config.max_positions,
        "separate_vocabs": False,
        "sp_model_kwargs": {},
    }


def _as_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()


# ---- vocabulary and weights ----------------------------------------------------------------------


def _name_pieces(tokenizer: Tokenizer, model: bytes, generation: GenerationConfig) -> list[str]:
    """Return the pieces by id, as SentencePiece spells them, and tags as MarianTokenizer does."""
    if isinstance(tokenizer, MarianTokenizer):
        pieces = [tokenizer.piece(token) for token in range(tokenizer.vocab_size)]
    else:
        pieces = list(read_model(model).pieces)
        for language, tag in generation.tags.items():
            pieces[tag] = f">>{language}<<"
    if pieces[BOS] in pieces[BOS + 1 :]:  # a piece of an imported vocabulary
        pieces[BOS] = "<start>"
    return pieces


def _rename_weights(config: ModelConfig, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights under their names."""
    import torch

    if config.positions == "sinusoidal":
        weights = dict(reorder_dimensions(weights, sines_first=True))
    source = weights["source_embedding.weight"]
    target = weights.get("target_embedding.weight", source[: config.target_vocab_size])
    whole = config.replace(attention_bias=True)
    shapes = expected_shapes(whole)
    found = {
        theirs: weights[ours] if ours in weights else source.new_zeros(shapes[ours])
        for ours, theirs in name_layers(whole).items()
    }
    bias = weights.get("output_projection.bias", source.new_zeros(len(target)))
    found[OUTPUT_BIAS] = bias[None]
    if config.tying == "all" and len(source) == len(target):
        return {**found, SHARED: source}
    found |= {SOURCE: source, TARGET: target}
    if config.tying == "none":
        found[OUTPUT] = weights["output_projection.weight"]
    return {name: torch.clone(tensor) for name, tensor in found.items()}


def _serialize(weights: Mapping[str, Tensor]) -> bytes:
    """Return a safetensors file that says that it is PyTorch's, which transformers wants."""
    from safetensors.torch import save

    whole = {name: tensor.contiguous() for name, tensor in weights.items()}
    data: bytes = save(whole, metadata={"format": "pt"})
    return data
