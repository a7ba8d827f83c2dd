"""Models of other programs as model directories: Hugging Face's Marian, such as OPUS-MT.

::

    DIR/config.json              settings of the network          ─▶  config.json
        model.safetensors        weights                          ─▶  model.safetensors
        vocab.json               pieces and their ids ┐
        source.spm, target.spm   SentencePiece models ┴           ─▶  tokenizer.model
        tokenizer_config.json    languages ┐
        generation_config.json   beam      ┴                      ─▶  generation_config.json

Ids are ours: padding, unknown, start, end, language tags, then the pieces in their order. Their
start symbol is their padding, so its row of the embedding stands twice; rows that they do not have
are zero, and cannot be written. Everything is read and checked before anything is written.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from translucid import __version__
from translucid.checkpoint.model_directory import (
    CARD,
    ModelFiles,
    check_weights,
    is_model_directory,
    read_weights,
    write_model,
)
from translucid.checksums import compute_checksum
from translucid.config import GenerationConfig, ModelConfig
from translucid.engines.conversion import count_parameters, expected_shapes, sinusoids
from translucid.engines.ctranslate2_directory import is_ctranslate2_directory
from translucid.errors import ConfigError, DataError, InputError
from translucid.interop.marian import (
    ACTIVATIONS,
    MATRICES,
    NORM_EPSILON,
    OURS,
    OUTPUT,
    OUTPUT_BIAS,
    SHARED,
    SOURCE,
    TARGET,
    WEIGHTS,
    biases_of_attention,
    name_layers,
    reorder_dimensions,
)
from translucid.text.marian_vocabulary import (
    AGAIN,
    CONFIG,
    GENERATION,
    SOURCE_MODEL,
    TARGET_MODEL,
    TOKENIZER_CONFIG,
    VOCABULARY,
    Layout,
    arrange,
    build_tokenizer,
    choose_directions,
    choose_tags,
    read_json,
    read_vocabulary,
)

if TYPE_CHECKING:
    from torch import Tensor

ORIGINAL_CARD = "original-card.md"  # the card that the model came with

_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_TO_SAFETENSORS = (
    "Pickled weights can run any program when they are read, so they are never opened here. Many "
    "models have model.safetensors too, often in the revision refs/pr/… of their page. Or convert "
    'them with transformers, if you trust their origin: python -c "from transformers import '
    "MarianMTModel; MarianMTModel.from_pretrained('{folder}').save_pretrained('{folder}')\""
)
# Which property of other encoder-decoders our blocks lack, or our tokenizers.
_RMS = "norms without mean and bias (RMSNorm)"
_LATE_SINUSOIDS = "sinusoids that begin at position 2"
_BYTES = "a vocabulary of bytes (byte-level BPE)"
_MISFITS = {
    "bart": f"a LayerNorm on the embeddings and {_BYTES}",
    "mbart": "a LayerNorm on the embeddings",
    "blenderbot": _BYTES,
    "t5": _RMS,
    "mt5": _RMS,
    "umt5": _RMS,
    "m2m_100": _LATE_SINUSOIDS,
    "fsmt": f"{_LATE_SINUSOIDS} and two vocabularies",
    "pegasus": "a tokenizer of its own, PegasusTokenizer, with shifted ids",
}


def import_model(
    folder: str | Path,
    output: str | Path,
    *,
    source: str | Sequence[str] = (),
    target: str | Sequence[str] = (),
    command: str = "",
) -> Path:
    """Write a model directory from a Hugging Face Marian directory, and return its path.

    ::

        model = translucid.load(import_model("opus-mt-fr-en", "model"))

    `source` and `target` are languages: needed where the directory does not say them, and to choose
    among those of a multilingual model, of which one model directory can have 16. `command` is what
    a person typed, for the provenance.
    """
    folder, output = Path(folder), Path(output)
    if output.exists() and not is_model_directory(output):
        raise InputError(f"-o {output} exists and is not a model directory; give another name")
    _refuse_other_directories(folder)
    settings = read_json(folder / CONFIG)
    _refuse_other_networks(folder, settings)
    _refuse_incomplete(folder)
    config = _read_network(folder, settings)
    vocabulary = read_vocabulary(folder, settings)
    wanted = [[code] if isinstance(code, str) else list(code) for code in (source, target)]
    layout = arrange(vocabulary, choose_tags(folder, vocabulary, wanted[1]))
    config, weights = _read_weights(folder, settings, config, layout)
    generation = _read_generation(folder, settings, layout, wanted)
    files = ModelFiles(
        config=config,
        generation=generation,
        tokenizer=build_tokenizer(folder, layout),
        provenance=_provenance(folder, settings, command),
        texts=_build_texts(folder, config, generation),
    )
    write_model(output, weights, files)
    return output


# ---- what can be imported ------------------------------------------------------------------------


def _refuse_other_directories(folder: Path) -> None:
    """Refuse what is no Hugging Face directory, by what it is."""
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise InputError(
            f"{folder} {what}: give the directory of a Hugging Face Marian model, with {CONFIG}, "
            f"{WEIGHTS}, {VOCABULARY}, {SOURCE_MODEL} and {TARGET_MODEL}"
        )
    if is_model_directory(folder):
        raise InputError(f"{folder} is a model directory already: use it as it is")
    if is_ctranslate2_directory(folder):
        raise InputError(f"{folder} is a model of CTranslate2: use it as it is")
    if (folder / CONFIG).is_file():
        return
    if list(folder.glob("*.npz")):
        raise InputError(
            f"{folder} holds weights of Marian itself (.npz): convert them first with "
            "transformers' convert_marian_to_pytorch.py, and save them as safetensors"
        )
    raise InputError(
        f"{folder} has no {CONFIG}: give the directory of a Hugging Face Marian model, such as "
        "Helsinki-NLP/opus-mt-fr-en, downloaded"
    )


def _refuse_other_networks(folder: Path, settings: Mapping[str, Any]) -> None:
    """Refuse networks of other kinds, by the property that our blocks lack."""
    kind = settings.get("model_type")
    if kind is None:
        raise InputError(f"{folder / CONFIG} has no model_type: this is no Hugging Face directory")
    architectures = settings.get("architectures") or ["MarianMTModel"]
    named = f"{folder} is a model of the kind {kind!r} ({', '.join(map(str, architectures))})"
    only = "only encoder-decoders of the kind 'marian' (MarianMTModel) can be imported"
    if kind in _MISFITS:
        raise InputError(f"{named}, which has {_MISFITS[kind]}: {only}")
    if not settings.get("is_encoder_decoder", kind == "marian"):
        raise InputError(f"{named}, which is no encoder-decoder: it has one stack; {only}")
    if kind != "marian" or "MarianMTModel" not in architectures:
        raise InputError(f"{named}: {only}")


def _refuse_incomplete(folder: Path) -> None:
    """Refuse a directory without weights in safetensors, or with files missing, naming them."""
    if not (folder / WEIGHTS).is_file():
        if list(folder.glob("*.safetensors.index.json")):
            raise DataError(
                folder,
                f"the weights are in several files, and only {WEIGHTS} is read",
                remedy="Save them in one: save_pretrained(…, max_shard_size='100GB').",
            )
        pickled = sorted(path.name for pattern in _PICKLED for path in folder.glob(pattern))
        if pickled:
            remedy = _TO_SAFETENSORS.format(folder=folder)
            raise DataError(folder / pickled[0], "pickled weights are not read", remedy=remedy)
    needed = (WEIGHTS, VOCABULARY, SOURCE_MODEL, TARGET_MODEL)
    if missing := [name for name in needed if not (folder / name).is_file()]:
        there = ", ".join(sorted(path.name for path in folder.iterdir()))
        raise DataError(folder, f"{', '.join(missing)} is missing; there is {there}", remedy=AGAIN)


# ---- the network ---------------------------------------------------------------------------------

_REQUIRED = (
    *("vocab_size", "d_model", "encoder_layers", "decoder_layers", "encoder_ffn_dim"),
    *("decoder_ffn_dim", "encoder_attention_heads", "decoder_attention_heads"),
    *("activation_function", "scale_embedding", "max_position_embeddings"),
    *("pad_token_id", "eos_token_id", "decoder_start_token_id"),
)
_DROPOUTS = {
    "dropout": ("dropout", 0.1),
    "attention_dropout": ("attention_dropout", 0.0),
    "feed_forward_dropout": ("activation_dropout", 0.0),
}
_ROUNDED = 1e-3  # how far sinusoids of 16 bits may be from exact ones
# Properties that our blocks have in one form only; MarianMTModel ignores some of them.
_FIXED: dict[str, Any] = {
    "scale_embedding": True,
    "static_position_embeddings": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
}


def _read_network(folder: Path, settings: Mapping[str, Any]) -> ModelConfig:
    """Return the settings of the network as ours, vocabulary and biases aside."""
    path = folder / CONFIG
    if missing := [name for name in _REQUIRED if settings.get(name) is None]:
        raise DataError(path, f"{', '.join(missing)} is missing", remedy=AGAIN)
    faults = [
        f"{name} is {json.dumps(settings[name])}, and our blocks have {json.dumps(value)} only"
        for name, value in _FIXED.items()
        if settings.get(name, value) != value
    ]
    faults += [
        f"encoder_{name} is {settings[f'encoder_{name}']} and decoder_{name} "
        f"{settings[f'decoder_{name}']}, which are one setting of ours"
        for name in ("ffn_dim", "attention_heads")
        if settings[f"encoder_{name}"] != settings[f"decoder_{name}"]
    ]
    activations: dict[str, Any] = {theirs: ours for ours, theirs in ACTIVATIONS.items()}
    activations["silu"] = "silu"  # another name of swish
    if settings["activation_function"] not in activations:
        faults.append(
            f"activation_function is {settings['activation_function']!r}, and ours are "
            f"{', '.join(activations)}"
        )
    if faults:
        raise InputError("\n".join([f"{path} does not fit:", *(f"  - {f}" for f in faults)]))
    try:
        dropouts: dict[str, Any] = {
            ours: float(settings.get(*theirs)) for ours, theirs in _DROPOUTS.items()
        }
        return ModelConfig(
            **{name: settings[name] for name in ("encoder_layers", "decoder_layers", "d_model")},
            **dropouts,
            source_vocab_size=settings["vocab_size"],
            target_vocab_size=settings["vocab_size"],
            d_ff=settings["encoder_ffn_dim"],
            heads=settings["encoder_attention_heads"],
            norm_epsilon=NORM_EPSILON,
            activation=activations[settings["activation_function"]],
            attention_bias=True,
            positions="sinusoidal-halves",
            max_positions=settings["max_position_embeddings"],
        )
    except (ConfigError, TypeError) as error:
        raise DataError(path, str(error), remedy=AGAIN) from error


def _read_weights(
    folder: Path, settings: Mapping[str, Any], config: ModelConfig, layout: Layout
) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Return the weights under our names, in our vocabulary, and the settings that go with them."""
    with _to_download_again():
        theirs = _read_their_weights(folder / WEIGHTS, settings, config)
    weights = {ours: theirs[name] for ours, name in name_layers(config).items()}
    attention = biases_of_attention(weights)
    if not any(bool(weights[name].any()) for name in attention):
        for name in attention:
            del weights[name]
    embeddings = _arrange_vocabulary(folder, layout, theirs)
    tying = _find_tying(embeddings)
    weights["source_embedding.weight"] = embeddings[SOURCE]
    if tying != "all":
        weights["target_embedding.weight"] = embeddings[TARGET]
    if tying == "none":
        weights["output_projection.weight"] = embeddings[OUTPUT]
    if bool(embeddings[OUTPUT_BIAS].any()):
        weights["output_projection.bias"] = embeddings[OUTPUT_BIAS].flatten()
    positions = _read_ours(settings).get("positions", config.positions)
    if positions == "sinusoidal":
        weights = dict(reorder_dimensions(weights, sines_first=False))
    found = config.replace(
        source_vocab_size=len(embeddings[SOURCE]),
        target_vocab_size=len(embeddings[TARGET]),
        tying=tying,
        attention_bias=any(name in weights for name in attention),
        output_bias="output_projection.bias" in weights,
        positions=positions,
    )
    return found, weights


@contextmanager
def _to_download_again() -> Iterator[None]:
    """Say of a damaged file that it is to be downloaded again."""
    try:
        yield
    except DataError as error:
        raise DataError(error.path, error.problem, remedy=AGAIN) from error


def _read_their_weights(
    path: Path, settings: Mapping[str, Any], config: ModelConfig
) -> dict[str, Tensor]:
    """Return the weights under their names, each matrix of the vocabulary under its own.

    Names, shapes and values are checked, and that the positions, if there are any, are sinusoids.
    """
    found = read_weights(path)
    tables = {name: found.pop(name) for name in list(found) if "embed_positions" in name}
    weights = _untie(found, settings)
    shapes = expected_shapes(config)
    size = config.source_vocab_size
    shared = settings.get("share_encoder_decoder_embeddings", True)
    written = size if shared else settings.get("decoder_vocab_size") or size
    expected = {
        **{name: shapes[ours] for ours, name in name_layers(config).items()},
        SOURCE: (size, config.d_model),
        TARGET: (written, config.d_model),
        OUTPUT: (written, config.d_model),
        OUTPUT_BIAS: (1, written),
    }
    check_weights({name: np.empty(shape) for name, shape in expected.items()}, weights, path)
    once = {id(tensor): (name, tensor) for name, tensor in weights.items()}
    if wrong := [name for name, tensor in once.values() if not tensor.isfinite().all()]:
        raise DataError(path, f"{wrong[0]} has values that are not finite", remedy=AGAIN)
    for name, table in tables.items():
        sines = sinusoids(len(table), config.d_model, "sinusoidal-halves")
        if table.shape != sines.shape or np.abs(table.float().numpy() - sines).max() > _ROUNDED:
            raise InputError(f"{path}: {name} are not Marian's sinusoids, which our blocks have")
    return weights


def _untie(weights: dict[str, Tensor], settings: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the weights with all three matrices of the vocabulary, each under its own name."""
    found = dict(weights)
    shared = found.pop(SHARED, None)
    if settings.get("share_encoder_decoder_embeddings", True):
        copies = [shared, *map(found.get, (SOURCE, TARGET, OUTPUT))]
        matrix = next((tensor for tensor in copies if tensor is not None), None)
        if matrix is not None:
            found |= {SOURCE: matrix, TARGET: matrix}
    if settings.get("tie_word_embeddings", True) and TARGET in found:
        found[OUTPUT] = found[TARGET]
    return found


def _arrange_vocabulary(
    folder: Path, layout: Layout, theirs: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return the matrices of the vocabulary, and the bias of the output, in our order."""
    written, pieces = len(theirs[TARGET]), len(layout.vocabulary.pieces)
    if layout.vocabulary.is_ours:
        return {name: theirs[name] for name in (*MATRICES, OUTPUT_BIAS)}
    if written != pieces:
        raise InputError(
            f"{folder} writes {written} of its {pieces} pieces (decoder_vocab_size): only a shared "
            "vocabulary fits"
        )
    bias = layout.arrange_bias(theirs[OUTPUT_BIAS].flatten())
    return {**{name: layout.arrange(theirs[name]) for name in MATRICES}, OUTPUT_BIAS: bias}


def _find_tying(embeddings: Mapping[str, Tensor]) -> str:
    """Return which of the three matrices of the vocabulary are one."""
    source, target = embeddings[SOURCE], embeddings[TARGET]
    if not target.equal(embeddings[OUTPUT]):
        return "none"
    return "all" if source[: len(target)].equal(target) else "decoder"


# ---- languages and search ------------------------------------------------------------------------


def _read_ours(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an exported directory says of our own settings."""
    found = settings.get(OURS)
    return found if isinstance(found, dict) else {}


def _read_generation(
    folder: Path, settings: Mapping[str, Any], layout: Layout, wanted: Sequence[Sequence[str]]
) -> GenerationConfig:
    """Return languages, tags and search: greedy or beam as theirs, and their length penalty."""
    own = _read_ours(settings).get("generation")
    if own is not None and not any(wanted):
        try:
            return GenerationConfig(**own)
        except (ConfigError, TypeError) as error:
            raise DataError(folder / CONFIG, str(error), remedy=AGAIN) from error
    search = {**settings, **read_json(folder / GENERATION)}
    return GenerationConfig(
        directions=choose_directions(folder, layout, *wanted),
        tags=dict(layout.tags),
        beam=int(search.get("num_beams") or 1),
        length_penalty=float(search.get("length_penalty", 1.0)),
        length_form="plain",
    )


# ---- where it came from --------------------------------------------------------------------------


def _provenance(folder: Path, settings: Mapping[str, Any], command: str) -> dict[str, Any]:
    import torch

    files = (CONFIG, GENERATION, WEIGHTS, VOCABULARY, SOURCE_MODEL, TARGET_MODEL, TOKENIZER_CONFIG)
    paths = [folder / name for name in files if (folder / name).is_file()]
    return {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "versions": {
            "translucid": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        "imported": {
            "folder": folder.resolve().name,
            "settings": dict(settings),
            "sha256": {path.name: compute_checksum(path).sha256 for path in paths},
        },
    }


def _build_texts(folder: Path, config: ModelConfig, generation: GenerationConfig) -> dict[str, str]:
    """Return the card, and the one that the model came with."""
    ways = ", ".join(f"{source} → {target}" for source, target in generation.directions)
    original = folder / CARD
    origin = f" Its own card is [{ORIGINAL_CARD}]({ORIGINAL_CARD})." if original.is_file() else ""
    card = (
        f"# Translation {ways}\n\n"
        f"A Transformer of {count_parameters(config):,} parameters, imported from the Hugging Face "
        f"directory `{folder.resolve().name}` by translucid {__version__}. It computes what "
        f"MarianMTModel computes.{origin}\n\n"
        "## Scores\n\nNothing was measured here: `translucid evaluate` does.\n\n"
        "## Licence\n\nThat of the imported model: see where it came from, and write it here.\n"
    )
    if not original.is_file():
        return {CARD: card}
    return {CARD: card, ORIGINAL_CARD: original.read_text(encoding="utf-8", errors="replace")}
