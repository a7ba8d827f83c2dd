"""Exports are loaded by the other tool, translate as the model does, or are not there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import unicodedata
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import sentencepiece
import torch

import translucid
from doc_pages import code_blocks
from small_tokenizers import SENTENCES, small_tokenizer
from small_translators import write_random_model
from translucid.checkpoint.model_directory import WEIGHTS
from translucid.config import ExportTarget
from translucid.data.readers.built_in import lesson_pairs
from translucid.engines import conversion
from translucid.errors import DataError, InputError
from translucid.interop import ctranslate2 as interop_ctranslate2
from translucid.interop import export as exporting
from translucid.interop.export import RECORD, Export, ExportError, export

BOTH_WAYS = {"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 4, "fr": 5}}
FRENCH = [pair[0] for pair in lesson_pairs("test")[:3000:75]]


def greedy(model: Path, texts: Sequence[str], target: str) -> list[str]:
    """Return what PyTorch writes."""
    translator = translucid.load(model, engine="pytorch")
    options: dict[str, Any] = {"method": "greedy", "loop_guard": False}
    return [one.text for one in translator.translate(list(texts), target=target, **options)]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve sentences that are as long as they are in the training text, but for two."""
    path = tmp_path_factory.mktemp("sample") / "sample.txt"
    lines = [*SENTENCES, "", "  ", "a" * 3000, "▁", *SENTENCES[:1]]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def built_in(tmp_path_factory: pytest.TempPathFactory) -> Export:
    """The built-in model for CTranslate2."""
    return export("fr-en", "ctranslate2", output=tmp_path_factory.mktemp("ct2") / "fr-en")


def test_the_built_in_model_gives_the_same_tokens_for_500_sentences(built_in: Export) -> None:
    assert built_in.sentences == 500
    assert (built_in.ties, built_in.different) == (0, 0)
    assert built_in.tool == f"CTranslate2 {ctranslate2.__version__}"
    assert built_in.reference == f"PyTorch {torch.__version__}"
    record = json.loads((built_in.folder / RECORD).read_text(encoding="utf-8"))
    assert record["hash"] == translucid.load("fr-en").hash
    assert record["sentences"] == 500
    card = (built_in.folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert card == (translucid.load("fr-en").folders[0] / "README.md").read_text(encoding="utf-8")


def test_the_lines_of_the_readme_translate_without_translucid(built_in: Export) -> None:
    """In greedy search, they are the translations of PyTorch."""
    page = (built_in.folder / "README.md").read_text(encoding="utf-8")
    (program,) = code_blocks(page, "python")
    assert "beam_size=4" in program
    blocked = "import sys; sys.modules['translucid'] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", blocked + program.replace("beam_size=4", "beam_size=1")],
        input="\n".join(FRENCH),
        capture_output=True,
        text=True,
        cwd=built_in.folder,
        check=True,
    )
    assert done.stdout.splitlines() == greedy(Path("fr-en"), FRENCH, "en")


def test_argos_packages_translate_each_direction(tmp_path: Path) -> None:
    """What argostranslate 1.11 does: unpack, read, translate (package.py and translate.py)."""
    done = export("fr-en", "argos", output=tmp_path / "packages")
    assert (done.ties, done.different) == (0, 0)
    names = {path.name for path in done.folder.iterdir()} - {RECORD}
    assert names == {"translate-fr_en.argosmodel", "translate-en_fr.argosmodel"}
    english = [pair[1] for pair in lesson_pairs("test")[:3000:75]]
    for source, target, texts in (("fr", "en", FRENCH), ("en", "fr", english)):
        path = done.folder / f"translate-{source}_{target}.argosmodel"
        assert zipfile.is_zipfile(path)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path / "installed")
        package = tmp_path / "installed" / f"translate-{source}_{target}"
        metadata = json.loads((package / "metadata.json").read_text(encoding="utf-8"))
        assert (metadata["from_code"], metadata["to_code"]) == (source, target)
        assert {metadata["from_name"], metadata["to_name"]} == {"French", "English"}
        assert metadata.get("target_prefix", "") == ""
        assert "Tatoeba" in (package / "README.md").read_text(encoding="utf-8")
        assert argos_translates(package, texts) == greedy(Path("fr-en"), texts, target)


def argos_translates(package: Path, sentences: Sequence[str]) -> list[str]:
    """Do what argostranslate's apply_packaged_translation does, with ARGOS_BEAM_SIZE=1."""
    tokenizer = sentencepiece.SentencePieceProcessor(
        model_file=str(package / "sentencepiece.model")
    )
    translator = ctranslate2.Translator(
        str(package / "model"),
        device="cpu",
        inter_threads=1,
        intra_threads=1,
        compute_type="float32",  # ARGOS_COMPUTE_TYPE
    )
    translated = translator.translate_batch(
        [tokenizer.encode(sentence, out_type=str) for sentence in sentences],
        target_prefix=None,
        replace_unknowns=True,
        max_batch_size=32,
        batch_type="tokens",
        beam_size=1,
        num_hypotheses=1,
        length_penalty=0.2,
        return_scores=True,
    )
    texts = [tokenizer.decode_pieces(one.hypotheses[0]) for one in translated]
    return [text.replace("▁", " ").replace("_", " ").removeprefix(" ") for text in texts]


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "unigram", "tying": "none", "norm": "post", "activation": "gelu"},
        {"placeholders": True, "positions": "rotary", "activation": "swiglu"},
        {"positions": "learned", "max_positions": 160, "generation": BOTH_WAYS},
        {"positions": "relative", "tying": "decoder", "attention_bias": True},
        {"generation": {"lowercase": True, "plain_typography": True}},
    ],
    ids=lambda settings: " ".join(settings),
)
@pytest.mark.parametrize("target", ["ctranslate2", "argos"])
def test_all_kinds_of_networks_and_tokenizers(
    target: ExportTarget, settings: dict[str, Any], sample: Path, tmp_path: Path
) -> None:
    model = write_random_model(tmp_path / "model", **settings)
    directions = len(settings.get("generation", {}).get("directions", [1]))
    done = export(model, target, output=tmp_path / "out", sample=sample)
    assert done.sentences == 13 * directions  # the blank, the long and the reserved are left out
    assert not done.different


def test_transformers_checks_what_is_for_hugging_face(sample: Path, tmp_path: Path) -> None:
    model = write_random_model(tmp_path / "model", norm="post", generation=BOTH_WAYS)
    done = export(model, "huggingface", output=tmp_path / "out", sample=sample)
    assert done.tool.startswith("Transformers ")
    assert (done.sentences, done.different) == (26, 0)
    again = translucid.import_model(tmp_path / "out", tmp_path / "again")
    assert translucid.load(again).hash == done.hash


def test_text_is_normalised_as_the_model_needs_it(sample: Path, tmp_path: Path) -> None:
    """Capitals, typography and decomposed letters give the pieces of plain lower case."""
    generation = {"lowercase": True, "plain_typography": True}
    model = write_random_model(tmp_path / "model", generation=generation)
    done = export(model, "ctranslate2", output=tmp_path / "out", sample=sample)
    processor = sentencepiece.SentencePieceProcessor(
        model_file=str(done.folder / "sentencepiece.model")
    )
    written = unicodedata.normalize("NFD", "« Où EST l’Été… » 한국어")
    assert processor.encode(written, out_type=int) == small_tokenizer("bpe").encode(
        '"où est l\'été..." 한국어'
    )


def test_int8_says_how_many_translations_differ(sample: Path, tmp_path: Path) -> None:
    model = write_random_model(tmp_path / "model", d_model=64, d_ff=256, max_positions=200)
    wide = export(model, "ctranslate2", output=tmp_path / "wide", sample=sample)
    narrow = export(
        model, "ctranslate2", output=tmp_path / "narrow", sample=sample, precision="int8"
    )
    sizes = [(one.folder / "model.bin").stat().st_size for one in (wide, narrow)]
    assert sizes[0] > 2.5 * sizes[1]
    pieces = sentencepiece.SentencePieceProcessor(
        model_file=str(narrow.folder / "sentencepiece.model")
    )
    texts = [*SENTENCES, SENTENCES[0]]
    lengths = list(map(len, pieces.encode(texts)))
    written = []
    for folder in (wide.folder, narrow.folder):
        translator = ctranslate2.Translator(str(folder), compute_type="default")
        each = pieces.encode(texts, out_type=str)
        found = translator.translate_batch(
            each, beam_size=1, max_decoding_length=max(lengths) + 50, suppress_sequences=[["<s>"]]
        )
        written.append([one.hypotheses[0][: n + 50] for n, one in zip(lengths, found, strict=True)])
    different = sum(one != other for one, other in zip(*written, strict=True))
    assert narrow.different == different > 0


def nothing_is_left(folder: Path) -> bool:
    return not [path for path in folder.parent.iterdir() if path.name.startswith(folder.name)]


def test_a_network_that_computes_something_else_is_not_kept(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write_random_model(tmp_path / "model")
    usual = conversion.sinusoids
    monkeypatch.setattr(conversion, "sinusoids", lambda *sizes: usual(*sizes)[::-1].copy())
    with pytest.raises(ExportError) as caught:
        export(model, "ctranslate2", output=tmp_path / "out", sample=sample)
    message = str(caught.value)
    assert re.match(r"CTranslate2 translates \d+ of 13 sentences in another way", message)
    assert re.search("  sentence     .+\n  the model    .+\n  CTranslate2  ", message)
    assert nothing_is_left(tmp_path / "out")


def test_a_tokenizer_that_reads_something_else_is_not_kept(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write_random_model(tmp_path / "model")
    monkeypatch.setattr(interop_ctranslate2, "normalization_table", lambda **_: {"W": "w"})
    with pytest.raises(ExportError, match="CTranslate2 reads 1 of 13 sentences in another way"):
        export(model, "ctranslate2", output=tmp_path / "out", sample=sample)
    assert nothing_is_left(tmp_path / "out")


def test_only_tokens_of_one_probability_are_a_tie(tmp_path: Path) -> None:
    """Two tokens that share their row of the output matrix cannot be told apart."""
    tokenizer = small_tokenizer("bpe")
    model = write_random_model(tmp_path / "model", tying="none")
    translator = translucid.load(model, engine="pytorch")
    (one,) = translator.members
    twin, other = 300, 301
    translated = exporting._build_sample(translator, model, ("fr", "en"), SENTENCES[:1])
    first = translated.written[0][0]
    with torch.no_grad():
        weight = one.model.output_projection.weight
        weight[twin] = weight[first]
    written = list(translated.translations[0])
    assert exporting._is_tie(translator, translated, 0, [tokenizer.piece(twin), *written[1:]])
    assert not exporting._is_tie(translator, translated, 0, [tokenizer.piece(other), *written[1:]])
    assert not exporting._is_tie(translator, translated, 0, written[:1])  # an end


@pytest.mark.parametrize(
    ("settings", "property_"),
    [
        ({"d_k": 8, "d_v": 6}, "d_k = 8 and d_v = 6"),
        ({"kind": "char"}, "its tokenizer is of kind 'char', not bpe or unigram"),
    ],
)
@pytest.mark.parametrize("target", ["ctranslate2", "argos"])
def test_what_does_not_fit_is_refused_by_name(
    target: ExportTarget, settings: dict[str, Any], property_: str, tmp_path: Path
) -> None:
    model = write_random_model(tmp_path / "model", **settings)
    with pytest.raises(InputError, match=property_):
        export(model, target, output=tmp_path / "out")
    assert nothing_is_left(tmp_path / "out")


def test_arguments_that_cannot_be_used(sample: Path, tmp_path: Path) -> None:
    model = write_random_model(tmp_path / "model")
    german = {"directions": [("de", "en")]}
    other = write_random_model(tmp_path / "german", generation=german)
    blank = tmp_path / "blank.txt"
    blank.write_text("\n \n", encoding="utf-8")
    two = translucid.load(model, model)
    output = tmp_path / "out"
    for arguments, options, message in (
        ((model, "onnx"), {}, "target = 'onnx'; known: ctranslate2, huggingface, argos"),
        ((model, "ctranslate"), {}, "did you mean 'ctranslate2'"),
        ((model, "argos"), {"precision": "int4"}, "precision = 'int4'"),
        ((model, "huggingface"), {"precision": "int8"}, "none of huggingface's: float32"),
        ((tmp_path / "none", "argos"), {}, "does not exist"),
        ((two, "argos"), {}, "loaded from 2 model directories"),
        ((other, "argos"), {}, "the built-in lesson has no de, .* --sample FILE"),
        ((model, "argos"), {"sample": blank}, "blank.txt has no sentence of 1 to 256 tokens"),
    ):
        with pytest.raises(InputError, match=message):
            export(*arguments, output=output, **options)
    with pytest.raises(DataError, match=r"missing\.txt"):
        export(model, "argos", output=output, sample=tmp_path / "missing.txt")
    assert nothing_is_left(output)


def test_only_exports_are_replaced_and_only_if_told_so(sample: Path, tmp_path: Path) -> None:
    model = write_random_model(tmp_path / "model")
    output = tmp_path / "out"
    output.mkdir()
    export(model, "ctranslate2", output=output, sample=sample)  # an empty folder is no obstacle
    with pytest.raises(InputError, match="exists: give another name, or --overwrite"):
        export(model, "argos", output=output, sample=sample)
    export(model, "argos", output=output, sample=sample, overwrite=True)
    assert {path.suffix for path in output.iterdir()} == {".argosmodel", ".json"}
    for own in (model, sample):
        with pytest.raises(InputError, match="is not an exported model"):
            export(model, "argos", output=own, sample=sample, overwrite=True)
    assert (model / WEIGHTS).is_file()


def test_a_damaged_model_is_named(sample: Path, tmp_path: Path) -> None:
    model = write_random_model(tmp_path / "model")
    weights = bytearray((model / WEIGHTS).read_bytes())
    weights[-3] ^= 64
    (model / WEIGHTS).write_bytes(weights)
    with pytest.raises(DataError, match=WEIGHTS):
        export(model, "ctranslate2", output=tmp_path / "out", sample=sample)
    assert nothing_is_left(tmp_path / "out")


def test_a_translator_can_be_exported(sample: Path, tmp_path: Path) -> None:
    model = write_random_model(tmp_path / "model")
    translator = translucid.load(model)
    done = translucid.export(translator, "ctranslate2", output=tmp_path / "out", sample=sample)
    assert done.hash == translator.hash


SCRIPT = """
import os, resource, signal, sys
from translucid.cli.main import main
from translucid.interop import ctranslate2, export
{fault}
main()
"""
FULL = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
"""
KILLED = """
def kill(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
export.translate_greedily = kill
"""


def run(fault: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SCRIPT.format(fault=fault), "export", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )


def test_a_full_disk_and_a_kill_leave_nothing_but_what_was_there(
    sample: Path, tmp_path: Path
) -> None:
    model, output = write_random_model(tmp_path / "model"), tmp_path / "out"
    words = [model, "--to", "ctranslate2", "-o", output, "--sample", sample]
    full = run(FULL, *words)
    assert full.returncode == 1, full.stderr
    assert "the exported model cannot be written (File too large)" in full.stderr
    assert nothing_is_left(output)
    killed = run(KILLED, *words)
    assert killed.returncode == -signal.SIGKILL
    left = sorted(path.name for path in tmp_path.glob("out*"))
    assert left == ["out.translucid-lock", "out.translucid-partial"]
    done = run("", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{output}\n"
    assert "13 sentences: CTranslate2" in done.stderr
    assert [path.name for path in tmp_path.glob("out*")] == ["out"]
