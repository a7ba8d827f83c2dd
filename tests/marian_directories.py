"""Hugging Face Marian directories for tests: a random network, SentencePiece models trained here.

The directory is written as that of an OPUS-MT model: the ids of vocab.json are in no order of
either SentencePiece model, padding comes last and begins every translation, half of the pieces are
of one language only, and a few pieces of the models are not in the vocabulary.
"""

from __future__ import annotations

import io
import json
import random
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from small_tokenizers import COMPOUNDS, SENTENCES
from translucid.text.tokenizer import Tokenizer

ENGLISH = [text for number, text in enumerate(SENTENCES) if number % 12 in (0, 1, 5, 6, 9, 10)]
FRENCH = [text for text in SENTENCES if text not in ENGLISH]
SIZES: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "activation_function": "swish",
    "max_position_embeddings": 512,
}


@cache
def train_spm(side: str) -> bytes:
    """Return a SentencePiece model as OPUS-MT has them: unigram, NFKC, white space merged."""
    file = io.BytesIO()
    sentences = (FRENCH if side == "source" else ENGLISH) * 2 + COMPOUNDS
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=file,
        model_type="unigram",
        vocab_size=150,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return file.getvalue()


def write_marian(folder: Path, *, tags: Sequence[str] = (), seed: int = 0, **settings: Any) -> Path:
    """Write a Marian directory with a random network, and return its path."""
    folder.mkdir(parents=True)
    pieces = {"</s>", "<unk>", *tags}
    for side in ("source", "target"):
        data = train_spm(side)
        (folder / f"{side}.spm").write_bytes(data)
        model = sentencepiece.SentencePieceProcessor(model_proto=data)
        ids = [i for i in range(model.vocab_size()) if not model.is_control(i) and i % 29]
        pieces |= {model.id_to_piece(i) for i in ids if not model.is_unknown(i)}
    order = sorted(pieces)
    random.Random(seed).shuffle(order)
    vocabulary = {piece: token for token, piece in enumerate([*order, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    names = {"source_lang": "fr", "target_lang": "en", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    random_network(vocabulary, seed, settings).save_pretrained(folder)
    return folder


def random_network(vocabulary: dict[str, int], seed: int, settings: dict[str, Any]) -> Any:
    """Return a network all of whose weights and biases are random; padding's row is zero."""
    size, padding = len(vocabulary), vocabulary["<pad>"]
    values = {
        "vocab_size": size,
        "pad_token_id": padding,
        "decoder_start_token_id": padding,
        "eos_token_id": vocabulary["</s>"],
        "forced_eos_token_id": vocabulary["</s>"],
        "scale_embedding": True,
        **SIZES,
        **settings,
    }
    torch.manual_seed(seed)
    model = MarianMTModel(MarianConfig(**values)).eval()
    model.generation_config.bad_words_ids = [[padding]]
    model.generation_config.num_beams = 6
    large = ("embed_tokens", "shared", "q_proj", "k_proj", "encoder_attn.v", "encoder_attn.out")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:  # so that translations depend on their sources
                scale = 0.3 if any(part in name for part in large) else 0.1
                parameter.add_(torch.randn_like(parameter) * scale)
        # Else each token is followed by itself, because one matrix reads and writes it.
        model.model.decoder.layers[-1].final_layer_norm.weight.normal_()
        for stack in (model.model.encoder, model.model.decoder):
            stack.embed_tokens.weight[padding] = 0
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias) * 0.5)
        model.final_logits_bias[0, vocabulary["</s>"]] += 2
    return model


def their_ids(folder: Path, tokenizer: Tokenizer) -> list[int]:
    """Return the id that each of our tokens has in a directory; padding's where it has none."""
    ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    named = [tokenizer.piece(token) for token in range(tokenizer.vocab_size)]
    return [ids.get(piece, ids["<pad>"]) for piece in named]


def load_theirs(folder: Path) -> tuple[Any, Any]:
    """Return transformers' own network and tokenizer of a directory."""
    model = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends a package that it does not use
        return model, MarianTokenizer.from_pretrained(folder)
