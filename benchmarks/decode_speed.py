"""Decoding speed against Hugging Face's `generate` and CTranslate2, with the same weights.

    .venv/bin/pip install -e '.[export]' -c constraints.txt
    .venv/bin/python benchmarks/decode_speed.py --data FOLDER --source FILE [--preset tiny …]
    .venv/bin/python benchmarks/decode_speed.py --data FOLDER --source FILE --model MODEL

FOLDER is prepared data, whose tokenizer is used; FILE holds sentences, of which the first 1,000
(--sentences) are translated. Without --model the weights are random, and every contender is made
to write exactly as many tokens as the longest source of the batch has, so that all do the same
work. MODEL is a trained model whose network the others can hold too: post-norm, `positions =
"sinusoidal-halves"`, `attention_bias = true`.

Each contender lives in a process of its own; they take turns, three rounds, and the median counts.
Float32 and two threads, batches of 64 sentences of similar length, for all.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peers import marian_model
from torch import Tensor, nn
from turns import take_turns

from translucid.checkpoint.model_directory import (
    load_model,
)
from translucid.decoding.config import SearchConfig
from translucid.decoding.request import SearchRequest
from translucid.decoding.search import search
from translucid.model import Transformer
from translucid.presets import find_preset
from translucid.text.tokenizer import BOS, EOS, PAD, load_tokenizer
from translucid.translator.search import map_in_threads

THREADS = 2
ROUNDS = 3
BATCH = 64
CONTENDERS = (
    "translucid",
    "generate",
    "CTranslate2 float32, threads share a batch",
    "CTranslate2 float32, a batch a thread",
    "CTranslate2 int8, a batch a thread",
)
BEAMS = (5, 1)

Rows = list[list[int]]


def network(preset: str, vocab_size: int, model: Path | None) -> Transformer:
    if model is not None:
        found = load_model(model)
        if found.config.source_vocab_size != found.config.target_vocab_size:
            raise SystemExit(f"{model} writes fewer pieces than it reads, which peers here cannot")
        return found
    torch.manual_seed(0)
    config = find_preset(preset).config(vocab_size)
    return Transformer(
        config.replace(positions="sinusoidal-halves", attention_bias=True, norm="post")
    ).eval()


def batches_of(rows: Rows) -> list[Tensor]:
    """Return padded batches of rows of similar length, the longest first."""
    ordered = sorted(rows, key=len, reverse=True)
    return [
        torch.tensor([[*row, *[PAD] * (len(some[0]) - len(row))] for row in some])
        for some in (ordered[i : i + BATCH] for i in range(0, len(ordered), BATCH))
    ]


def translucid(model: Transformer, rows: Rows, beam: int, fixed: bool) -> Callable[[], float]:
    def translate(source_BS: Tensor) -> None:
        lengths_B = (source_BS != PAD).sum(dim=1)
        shortest = int(source_BS.size(1)) if fixed else 0
        settings = SearchConfig(
            method="beam" if beam > 1 else "greedy",
            beam=beam,
            length_penalty=1.0,
            length_form="plain",
            min_length=shortest,
            loop_guard=not fixed,
        )
        limits_B = torch.full_like(lengths_B, shortest + 1) if fixed else lengths_B + 50
        nothing = ((),) * len(lengths_B)
        request = SearchRequest(
            limits_B, BOS, EOS, prefixes=nothing, terms=nothing, forbidden=(PAD, BOS)
        )
        search(lambda copies: model.start(source_BS, copies), request, settings, None)

    def work() -> float:
        list(map_in_threads(translate, batches_of(rows)))
        return len(rows)

    return work


def generate(model: Transformer, rows: Rows, beam: int, fixed: bool) -> Callable[[], float]:
    marian = as_marian(model)

    def work() -> float:
        for source_BS in batches_of(rows):
            lengths: dict[str, Any] = {"max_new_tokens": source_BS.size(1) + 50}
            if fixed:
                count = source_BS.size(1) + 1
                lengths = {"min_new_tokens": count, "max_new_tokens": count}
            marian.generate(
                input_ids=source_BS,
                attention_mask=(source_BS != PAD).long(),
                num_beams=beam,
                do_sample=False,
                early_stopping=False,
                **lengths,
            )
        return len(rows)

    return work


def ctranslate2(
    model: Transformer, rows: Rows, beam: int, fixed: bool, name: str
) -> Callable[[], float]:
    import ctranslate2 as ct2

    kind, shared = name.split()[1].strip(","), name.endswith("share a batch")
    with tempfile.TemporaryDirectory() as folder:
        write_ctranslate2(model, Path(folder) / "model", kind)
        engine = ct2.Translator(
            str(Path(folder) / "model"),
            device="cpu",
            compute_type=kind,
            inter_threads=1 if shared else THREADS,
            intra_threads=THREADS if shared else 1,
        )

    def work() -> float:
        waiting = []
        for source_BS in batches_of(rows):
            tokens = [[str(t) for t in row if t != PAD] for row in source_BS.tolist()]
            lengths: dict[str, Any] = {"max_decoding_length": source_BS.size(1) + 50}
            if fixed:
                count = source_BS.size(1)
                lengths = {"min_decoding_length": count, "max_decoding_length": count + 1}
            waiting += engine.translate_batch(
                tokens, max_batch_size=BATCH, beam_size=beam, asynchronous=True, **lengths
            )
        for result in waiting:
            result.result()
        return len(rows)

    return work


def as_marian(model: Transformer) -> Any:
    """Return Hugging Face's MarianMTModel with our weights."""
    marian = marian_model(model.config, forced_eos_token_id=None).eval()
    with torch.no_grad():
        marian.model.shared.weight.copy_(model.target_embedding.weight)
    stacks = ((model.encoder, marian.model.encoder), (model.decoder, marian.model.decoder))
    for ours, theirs in stacks:
        for mine, other in zip(ours.layers, theirs.layers, strict=True):
            for pair in modules_of(mine, other):
                copy_module(*pair)
    return marian


def modules_of(ours: Any, theirs: Any) -> list[tuple[nn.Module, nn.Module]]:
    """Pair the modules of a layer with Marian's."""
    attentions = [(ours.self_attention, theirs.self_attn)]
    pairs = [
        (ours.self_attention_residual.norm, theirs.self_attn_layer_norm),
        (ours.feed_forward.w_1, theirs.fc1),
        (ours.feed_forward.w_2, theirs.fc2),
        (ours.feed_forward_residual.norm, theirs.final_layer_norm),
    ]
    if hasattr(ours, "cross_attention"):
        attentions.append((ours.cross_attention, theirs.encoder_attn))
        pairs.append((ours.cross_attention_residual.norm, theirs.encoder_attn_layer_norm))
    for mine, other in attentions:
        pairs += [
            (mine.w_q, other.q_proj),
            (mine.w_k, other.k_proj),
            (mine.w_v, other.v_proj),
            (mine.w_o, other.out_proj),
        ]
    return pairs


@torch.no_grad()
def copy_module(ours: nn.Module, theirs: nn.Module) -> None:
    for name, parameter in theirs.named_parameters():
        parameter.copy_(dict(ours.named_parameters())[name])


def write_ctranslate2(model: Transformer, folder: Path, kind: str) -> None:
    """Write our weights as a CTranslate2 model; tokens are called by their numbers."""
    import ctranslate2 as ct2

    config = model.config
    spec = ct2.specs.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=False,
        activation=ct2.specs.Activation.RELU,
    )
    names = [str(i) for i in range(config.target_vocab_size)]
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.bos_token = spec.config.decoder_start_token = str(BOS)
    spec.config.eos_token, spec.config.unk_token = str(EOS), "1"
    positions = array(model.encoder.positions.add_to(torch.zeros(1, 512, config.d_model), 0)[0])
    embedding = array(model.target_embedding.weight)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = embedding
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = True
    spec.encoder.position_encodings.encodings = positions
    spec.decoder.position_encodings.encodings = positions
    spec.decoder.projection.weight = embedding
    for target, ours in zip(spec.encoder.layer, model.encoder.layers, strict=True):
        fill_layer(target, ours)
    for target, ours in zip(spec.decoder.layer, model.decoder.layers, strict=True):
        fill_layer(target, ours)
        cross = ours.cross_attention
        fill_linear(target.attention.linear[0], cross.w_q)
        fill_linear(target.attention.linear[1], cross.w_k, cross.w_v)
        fill_linear(target.attention.linear[2], cross.w_o)
        fill_norm(target.attention.layer_norm, ours.cross_attention_residual.norm)
    spec.validate()
    spec.optimize(quantization=kind)
    folder.mkdir()
    spec.save(str(folder))


def fill_layer(target: Any, ours: Any) -> None:
    own = ours.self_attention
    fill_linear(target.self_attention.linear[0], own.w_q, own.w_k, own.w_v)
    fill_linear(target.self_attention.linear[1], own.w_o)
    fill_norm(target.self_attention.layer_norm, ours.self_attention_residual.norm)
    fill_linear(target.ffn.linear_0, ours.feed_forward.w_1)
    fill_linear(target.ffn.linear_1, ours.feed_forward.w_2)
    fill_norm(target.ffn.layer_norm, ours.feed_forward_residual.norm)


def fill_linear(target: Any, *ours: nn.Linear) -> None:
    target.weight = np.concatenate([array(linear.weight) for linear in ours])
    target.bias = np.concatenate([array(linear.bias) for linear in ours])


def fill_norm(target: Any, ours: nn.LayerNorm) -> None:
    target.gamma, target.beta = array(ours.weight), array(ours.bias)


def array(tensor: Tensor) -> np.ndarray[Any, Any]:
    return tensor.detach().numpy()


def make(name: str, preset: str, vocab: int, path: Path | None, rows: Rows, beam: int) -> Any:
    torch.set_num_threads(THREADS)
    model = network(preset, vocab, path)
    fixed = path is None
    with torch.inference_mode():
        match name:
            case "translucid":
                work = translucid(model, rows, beam, fixed)
            case "generate":
                work = generate(model, rows, beam, fixed)
            case _:
                work = ctranslate2(model, rows, beam, fixed, name)
    return work


def show(preset: str, vocab: int, model: Path | None, rows: Rows, beam: int) -> None:
    contenders = {name: (name, preset, vocab, model, rows, beam) for name in CONTENDERS}
    rounds = list(take_turns(make, contenders, ROUNDS))
    speeds = {name: [found[name].speed for found in rounds] for name in CONTENDERS}
    ours = statistics.median(speeds["translucid"])
    for name, values in speeds.items():
        middle = statistics.median(values)
        print(
            f"{preset:7} {'greedy' if beam == 1 else f'beam {beam}':7} {name:42} "
            f"{middle:8,.1f} ({min(values):,.1f}-{max(values):,.1f})  {ours / middle:5.2f}  "
            f"{rounds[-1][name].memory:7,.0f} MB",
            flush=True,
        )


def source_rows(data: Path, source: Path, count: int) -> tuple[Rows, int]:
    tokenizer = load_tokenizer(data / "tokenizer.model")
    lines: Sequence[str] = source.read_text(encoding="utf-8").split("\n")[:count]
    return [[*ids, EOS] for ids in tokenizer.encode_batch(lines)], tokenizer.vocab_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="prepared data")
    parser.add_argument("--source", type=Path, required=True, help="sentences to translate")
    parser.add_argument("--preset", action="append", choices=["tiny", "small", "base"])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--model", type=Path, help="a trained model in place of a preset")
    arguments = parser.parse_args()
    rows, vocab = source_rows(arguments.data, arguments.source, arguments.sentences)
    print(f"torch {torch.__version__}, {THREADS} threads, {len(rows)} sentences, {ROUNDS} rounds")
    print(f"{'network':7} {'search':7} {'engine':42} sentences/s, median   ours/it   peak memory")
    for preset in ["trained"] if arguments.model else arguments.preset or ["tiny", "base"]:
        for beam in BEAMS:
            show(preset, vocab, arguments.model, rows, beam)


if __name__ == "__main__":
    main()
