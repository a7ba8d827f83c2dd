"""A directory of CTranslate2 is served as it is, by what CTranslate2 itself would write."""

from __future__ import annotations

import json
import shutil
import struct
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import httpx
import numpy as np
import pytest
import sentencepiece
import torch
from ctranslate2.converters import TransformersConverter

import translucid
from marian_directories import write_marian
from small_tokenizers import SENTENCES
from small_translators import write_random_model
from translucid.errors import DataError, InputError, TranslucidError
from translucid.interop.export import export
from translucid.text.tokenizer import BOS, EOS, FIRST_PIECE, UNK

TEXTS = SENTENCES[:8]
TAGS = (">>eng<<", ">>deu<<")
LONGEST = 30
GREEDY: dict[str, Any] = {"method": "greedy", "max_length": LONGEST, "loop_guard": False}


def convert_marian(folder: Path, precision: str, tags: Sequence[str] = ()) -> Path:
    """Convert a random Marian model by CTranslate2's own converter, and return the directory."""
    theirs = write_marian(folder / "theirs", tags=tags)
    files = ["source.spm", "target.spm", "tokenizer_config.json"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        converter = TransformersConverter(str(theirs), copy_files=files)
        converter.convert(str(folder / "ct2"), quantization=precision)
    return folder / "ct2"


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return convert_marian(tmp_path_factory.mktemp("converted"), "float32", TAGS)


@pytest.fixture
def folder(converted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(converted, tmp_path / "ct2"))


def translate_by_hand(folder: Path, tag: Sequence[str], precision: str) -> list[str]:
    """Return greedy translations by CTranslate2 and SentencePiece alone."""
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        for side in ("source", "target")
    )
    translator = ctranslate2.Translator(str(folder), compute_type=precision)
    results = translator.translate_batch(
        [[*tag, *source.encode(text, out_type=str), "</s>"] for text in TEXTS],
        beam_size=1,
        min_decoding_length=0,
        max_decoding_length=LONGEST,
        suppress_sequences=[["<unk>"], *([each] for each in TAGS if tag)],
    )
    found = [target.decode_pieces(result.hypotheses[0]) for result in results]
    return [text.replace("▁", " ").strip() for text in found]


@pytest.mark.parametrize("engine", ["ctranslate2", "pytorch"])
def test_a_converted_marian_model_translates_as_by_hand(converted: Path, engine: Any) -> None:
    translator = translucid.load(converted, engine=engine)
    assert translator.directions == (("fr", "en"), ("fr", "de"))
    found = [one.text for one in translator.translate(TEXTS, target="de", **GREEDY)]
    assert found == translate_by_hand(converted, [">>deu<<"], "float32")
    assert len(set(found)) == len(TEXTS)


@pytest.mark.parametrize(("stored", "computed"), [("float16", "float32"), ("int8", "int8")])
def test_fewer_bits(stored: str, computed: str, tmp_path: Path) -> None:
    folder = convert_marian(tmp_path, stored)
    translator = translucid.load(folder)
    assert translator.engines.description == f"ctranslate2 {computed}"
    found = [one.text for one in translator.translate(TEXTS, **GREEDY)]
    assert found == translate_by_hand(folder, [], computed)


def test_it_is_the_network_that_is_imported(converted: Path, tmp_path: Path) -> None:
    """Two ways from Hugging Face to us: by CTranslate2's converter, and by our import."""
    imported = translucid.import_model(converted.parent / "theirs", tmp_path / "model")
    logits = []
    for folder in (imported, converted):
        translator = translucid.load(folder, engine="pytorch")
        read = [[*translator.tokenizer.encode(text), EOS] for text in TEXTS[:1]]
        written = [[BOS, *translator.target_tokenizer.encode(TEXTS[1])]]
        with torch.inference_mode():
            logits.append(translator.members[0].model(torch.tensor(read), torch.tensor(written)))
    # CTranslate2's converter drops the row of padding, which Marian can write.
    torch.testing.assert_close(logits[0][..., UNK:], logits[1][..., UNK:], atol=1e-4, rtol=0)
    assert logits[0][..., FIRST_PIECE:].std() > 0.5


@pytest.mark.parametrize(
    "settings",
    [
        {"positions": "rotary", "activation": "swiglu", "attention_bias": True},
        {"positions": "relative", "tying": "decoder", "norm": "post", "output_bias": True},
        {"positions": "learned", "max_positions": 160, "tying": "none", "activation": "gelu"},
        {"positions": "none", "kind": "unigram", "placeholders": True, "d_k": 4, "d_v": 4},
        {"generation": {"lowercase": True, "tags": {"en": 4}}},
    ],
    ids=lambda settings: " ".join(settings),
)
def test_our_exports_open_again(settings: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "sample").write_text("\n".join(TEXTS), encoding="utf-8")
    model = write_random_model(tmp_path / "model", seed=1, **settings)
    done = export(model, "ctranslate2", output=tmp_path / "out", sample=tmp_path / "sample")
    ours, again = (translucid.load(one, engine="pytorch") for one in (model, done.folder))
    assert again.generation == ours.generation
    assert again.tokenizer.fingerprint == ours.tokenizer.fingerprint
    changed = {"dropout", "max_positions"}  # which say nothing of what is computed here
    assert again.engines.configs[0].model_dump(exclude=changed) == ours.engines.configs[
        0
    ].model_dump(exclude=changed)
    options: dict[str, Any] = {"max_length": LONGEST, "n_best": 2}
    assert again.translate(TEXTS, **options) == ours.translate(TEXTS, **options)


def test_it_is_served_and_looked_into(converted: Path) -> None:
    expected = translucid.load(converted).translate(TEXTS[0], target="en").text
    with translucid.serve(str(converted), port=0, background=True) as server:
        url = server.url
        answer = httpx.post(f"{url}/v1/translate", json={"texts": [TEXTS[0]], "target": "en"})
        assert answer.json()["translations"][0]["text"] == expected
        trace = httpx.post(f"{url}/v1/trace", json={"text": TEXTS[0], "target": "en"})
        assert trace.status_code == 201
    assert not list(converted.glob("checksums.json"))  # nothing is written there


# ---- what does not fit ---------------------------------------------------------------------------


def refuse(folder: Path, kind: type[TranslucidError], match: str) -> None:
    with pytest.raises(kind, match=match):
        translucid.load(folder)


@pytest.mark.parametrize("name", ["source.spm", "tokenizer_config.json"])
def test_without_a_tokenizer_or_languages(folder: Path, name: str) -> None:
    (folder / name).unlink()
    refuse(folder, DataError, rf"ct2: {name} is missing(?s:.*)--copy_files source.spm target.spm")


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.999])
def test_a_file_that_is_cut_off(folder: Path, keep: float) -> None:
    data = (folder / "model.bin").read_bytes()
    (folder / "model.bin").write_bytes(data[: int(len(data) * keep)])
    refuse(folder, DataError, "model.bin: it is cut off, or no model of CTranslate2")


def test_other_files(folder: Path) -> None:
    data = (folder / "model.bin").read_bytes()
    (folder / "model.bin").write_bytes(struct.pack("<I", 5) + data[4:])
    refuse(folder, DataError, "is of version 5, and this Translucid reads 6")
    # A decoder-only model, as CTranslate2 converts GPT-2.
    spec = b"TransformerDecoderModelSpec\0"
    head = struct.pack("<I", 6) + struct.pack("<H", len(spec)) + spec
    (folder / "model.bin").write_bytes(head + data[4 + 2 + len("TransformerSpec") + 1 :])
    refuse(folder, InputError, "the kind 'TransformerDecoderModelSpec': only encoder-decoders")


def test_values_that_are_not_finite(folder: Path) -> None:
    data = bytearray((folder / "model.bin").read_bytes())
    start = data.index(b"decoder/projection/bias\0") + len(b"decoder/projection/bias\0") + 1 + 4 + 5
    data[start : start + 4] = np.float32("nan").tobytes()
    (folder / "model.bin").write_bytes(data)
    refuse(folder, DataError, "decoder/projection/bias has values that are not finite")


def test_a_network_with_more_or_less_than_ours(folder: Path) -> None:
    data = (folder / "model.bin").read_bytes()
    name = b"decoder/alibi\0\x00\x01\x01\x00\x00\x00"
    assert name in data
    (folder / "model.bin").write_bytes(data.replace(name + b"\0", name + b"\1"))
    refuse(folder, InputError, "does not fit:\n  - decoder/alibi is 1, and ours 0")
    (folder / "model.bin").write_bytes(data.replace(b"decoder/alibi\0", b"decoder/cores\0"))
    refuse(folder, InputError, "it has decoder/cores, which ours has not")
    (folder / "model.bin").write_bytes(data.replace(b"encoder/num_heads\0", b"encoder/num_hands\0"))
    refuse(folder, InputError, "does not fit our network: 'encoder/num_heads' is missing")


def test_vocabularies(folder: Path) -> None:
    path = folder / "shared_vocabulary.json"
    pieces = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps([piece for piece in pieces if piece != "</s>"]))
    refuse(folder, DataError, "shared_vocabulary.json: '</s>' is missing")
    path.write_text("{}")
    refuse(folder, DataError, "is no list of tokens")
    path.write_text("[")
    refuse(folder, DataError, "not valid JSON")
    path.unlink()
    refuse(folder, DataError, "source_vocabulary.json: the file is missing")
    (folder / "source_vocabulary.json").write_text(json.dumps(pieces))
    (folder / "target_vocabulary.json").write_text(json.dumps(pieces[::-1]))
    refuse(folder, InputError, "a vocabulary for each language")


def test_an_export_of_an_earlier_version(tmp_path: Path) -> None:
    (tmp_path / "sample").write_text("\n".join(TEXTS), encoding="utf-8")
    model = write_random_model(tmp_path / "model")
    done = export(model, "ctranslate2", output=tmp_path / "out", sample=tmp_path / "sample")
    (done.folder / "translucid-export.json").unlink()
    refuse(done.folder, DataError, "says which languages these are(?s:.*)Export the model again")
