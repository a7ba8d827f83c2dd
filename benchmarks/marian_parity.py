"""An imported Marian model beside transformers' own: tokens, logits, greedy translations.

    python benchmarks/marian_parity.py DIR TEXT.tsv.xz --lines 100000 --translate 1000

DIR has config.json, source.spm, target.spm, vocab.json and tokenizer_config.json of a Marian model.
Where it has no weights, random ones are made, of a network with a narrow d_model; TEXT has a source
and a target in each line, with a tab between.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

import translucid
from translucid.decoding.config import SearchConfig
from translucid.engines.base import DecoderInput
from translucid.text.tokenizer import BOS, EOS, PAD, UNK

NARROW = {
    "d_model": 128,
    "encoder_layers": 3,
    "decoder_layers": 3,
    "encoder_ffn_dim": 256,
    "decoder_ffn_dim": 256,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
}
LONGEST = 40  # tokens of a translation


def write_random_weights(folder: Path, copy: Path) -> Path:
    """Copy a directory and give it a network with random weights and biases."""
    shutil.copytree(folder, copy)
    config = MarianConfig(**{**json.loads((folder / "config.json").read_text()), **NARROW})
    torch.manual_seed(0)
    model = MarianMTModel(config).eval()
    padding = config.pad_token_id
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                large = ("shared", "q_proj", "k_proj", "encoder_attn.v_proj", "encoder_attn.out")
                scale = 0.15 if any(part in name for part in large) else 0.05
                parameter.add_(torch.randn_like(parameter) * scale)
        # Else each token is followed by itself, because one matrix reads and writes it.
        model.model.decoder.layers[-1].final_layer_norm.weight.normal_()
        model.model.shared.weight[padding] = 0
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias) * 0.3)
        model.final_logits_bias[0, config.eos_token_id] += 6  # so that translations end
    model.save_pretrained(copy)
    return copy


def read_pairs(path: Path, lines: int) -> list[tuple[str, str]]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        rows = (line.rstrip("\n").split("\t") for line in itertools.islice(file, lines))
        return [(row[0], row[1]) for row in rows]


def compare_tokens(ours: Any, theirs: Any, ids: list[int], pairs: list[tuple[str, str]]) -> None:
    """Print how many sources, targets and decoded targets differ."""
    target = ours.target_tokenizer
    differ = {"sources": 0, "targets": 0, "decoded": 0}
    tokens = unknown = 0
    for source, translation in pairs:
        read, written = ours.tokenizer.encode(source), target.encode(translation)
        expected = theirs(source, text_target=translation)
        tokens += len(read) + len(written)
        unknown += read.count(UNK) + written.count(UNK)
        differ["sources"] += [ids[t] for t in (*read, EOS)] != expected["input_ids"]
        differ["targets"] += [ids[t] for t in (*written, EOS)] != expected["labels"]
        text = theirs.decode(expected["labels"], skip_special_tokens=True)
        differ["decoded"] += UNK not in written and target.decode(written) != text
    print(f"{len(pairs):,} pairs, {tokens:,} tokens, {unknown:,} unknown; different: {differ}")


def compare_logits(ours: Any, theirs: Any, ids: list[int], pairs: list[tuple[str, str]]) -> None:
    """Print the largest difference of logits, all tokens that both have counted."""
    (member,), largest = ours.members, 0.0
    places = {row: token for token, row in reversed(list(enumerate(ids)))}
    order = torch.tensor([places[row] for row in range(len(places))])
    for source, translation in pairs:
        read = (*ours.tokenizer.encode(source), EOS)
        written = (BOS, *ours.target_tokenizer.encode(translation))
        with torch.inference_mode():
            mine = member.model(torch.tensor([read]), torch.tensor([written]))[0, :, order]
            other = theirs(
                input_ids=torch.tensor([[ids[token] for token in read]]),
                decoder_input_ids=torch.tensor([[ids[token] for token in written]]),
            ).logits[0]
        largest = max(largest, (mine - other).abs().max().item())
    print(f"{len(pairs):,} pairs, logits of σ {other.std():.2f}: at most {largest:.1e} apart")


def compare_greedy(ours: Any, theirs: Any, ids: list[int], sources: list[str]) -> None:
    """Print how many greedy translations have the same tokens."""
    read = [(*ours.tokenizer.encode(text), EOS) for text in sources]
    never = [[ids[PAD]], [ids[UNK]]]
    expected = []
    for start in range(0, len(read), 32):
        rows = read[start : start + 32]
        longest = max(map(len, rows))
        source = torch.tensor(
            [[*(ids[t] for t in r), *[ids[PAD]] * (longest - len(r))] for r in rows]
        )
        found = theirs.generate(
            input_ids=source, attention_mask=(source != ids[PAD]).long(), num_beams=1,
            do_sample=False, max_length=LONGEST + 2, bad_words_ids=never, forced_eos_token_id=None,
        )  # fmt: skip
        for row in found[:, 1:].tolist():
            ends = itertools.takewhile(lambda t: t not in (ids[EOS], ids[PAD]), row)
            expected.append(list(ends)[:LONGEST])
    settings = SearchConfig(method="greedy", max_length=LONGEST, loop_guard=False)
    searcher = ours.searcher(settings)
    same = 0
    for start in range(0, len(read), 32):
        inputs = [DecoderInput(row, (), ()) for row in read[start : start + 32]]
        for number, found in enumerate(searcher.search(inputs), start):
            same += [ids[token] for token in found[0].tokens] == expected[number]
    lengths = sum(map(len, expected)) / len(expected)
    kinds = len({tuple(row) for row in expected})
    tokens = len({token for row in expected for token in row})
    print(
        f"{ours.engines.description}: {same:,} of {len(read):,} greedy translations are the same "
        f"({kinds:,} different ones, {tokens:,} tokens, {lengths:.1f} per line)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--translate", type=int, default=1000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    pairs = read_pairs(arguments.text, arguments.lines)
    some = pairs[:: max(1, len(pairs) // arguments.translate)][: arguments.translate]
    with tempfile.TemporaryDirectory() as place:
        folder = arguments.folder
        if not (folder / "model.safetensors").is_file():
            folder = write_random_weights(folder, Path(place) / "theirs")
        theirs = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
        tokenizer = MarianTokenizer.from_pretrained(folder)
        imported = translucid.import_model(folder, Path(place) / "ours")
        ours = translucid.load(imported, engine="pytorch")
        fast = translucid.load(imported)
        config, known = theirs.config, tokenizer.get_vocab()
        names = [ours.tokenizer.piece(token) for token in range(ours.tokenizer.vocab_size)]
        special = (config.pad_token_id, known["<unk>"], config.pad_token_id, config.eos_token_id)
        ids = [*special, *(known.get(name, config.pad_token_id) for name in names[len(special) :])]
        compare_tokens(ours, tokenizer, ids, pairs)
        compare_logits(ours, theirs, ids, some)
        for each in (ours, fast):
            compare_greedy(each, theirs, ids, [source for source, _ in some])


if __name__ == "__main__":
    main()
