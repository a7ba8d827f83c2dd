"""The model directories that a run leaves, with a card that says how the network was trained."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from translucid import __version__
from translucid.anatomy import anatomy
from translucid.checkpoint.model_directory import CARD, ModelFiles, write_model
from translucid.checkpoint.run_directory import Parent, RunDirectory
from translucid.config import GenerationConfig, ModelConfig
from translucid.data.known_corpora import KNOWN
from translucid.data.manifest import Manifest
from translucid.data.mixture import fingerprint_data
from translucid.data.shards import PreparedData
from translucid.events import Validated
from translucid.interpret.figures.charts import LearningCurves, draw_learning_curves
from translucid.text.tokenizer import tag_id
from translucid.training.config import TrainingConfig
from translucid.training.parent import inherit_generation
from translucid.training.state import TrainingState

CURVE = "curve.svg"  # beside the card


@dataclass(frozen=True)
class RunFacts:
    """What happened in a run until a network of it was kept.

    `validation` is that of this very network, or None where there is no dev set. `command` is what
    a person typed, empty for a run from Python. `averaged` are the steps whose checkpoints were
    averaged, if any. `half` says that the weights were rounded to 16 bits.
    """

    step: int
    epoch: int
    tokens: int
    seconds: float
    validation: Validated | None
    command: str
    averaged: tuple[int, ...] = ()
    half: bool = False

    @classmethod
    def from_state(
        cls, state: TrainingState, validation: Validated | None, command: str
    ) -> RunFacts:
        """Return the facts of a run that has come to a state."""
        return cls(
            step=state.step,
            epoch=state.cursor.epoch,
            tokens=state.tokens,
            seconds=state.seconds,
            validation=validation,
            command=command,
        )

    def describe_averaging(self) -> str:
        """Return which checkpoints were averaged."""
        steps = ", ".join(f"{step:,}" for step in self.averaged)
        return f"mean of the checkpoints after steps {steps}"


@dataclass(frozen=True)
class DataPart:
    """One of the data folders of a run: its name, what is in it, and its weight."""

    name: str
    manifest: Manifest
    weight: float = 1.0


def model_card(
    config: ModelConfig,
    settings: TrainingConfig,
    parts: Sequence[DataPart],
    facts: RunFacts,
    parent: Parent | None = None,
) -> str:
    """Return the README.md of a model directory, in Markdown; the first part has the dev set."""
    sections = [
        _head(config, parts, facts, parent),
        _scores(parts[0].manifest, settings, facts),
        f"![Loss and learning rate by step]({CURVE})",
        _network(config),
        _data(parts),
        _training(settings, facts),
        _licence([part.manifest for part in parts], parent),
    ]
    return "\n\n".join(sections) + "\n"


def _head(
    config: ModelConfig, parts: Sequence[DataPart], facts: RunFacts, parent: Parent | None
) -> str:
    inherited = parent.generation.directions if parent else ()
    own = [direction for part in parts for direction in part.manifest.directions]
    ways = [f"{source} → {target}" for source, target in dict.fromkeys((*inherited, *own))]
    pairs = sum(part.manifest.splits["train"].pairs for part in parts)
    start = (
        f" It started from `{parent.name}` (SHA-256 of its weights: `{parent.sha256}`)."
        if parent
        else ""
    )
    return (
        f"# Translation {', '.join(ways)}\n\n"
        f"A Transformer of {_parameters(config):,} parameters, trained for {facts.step:,} steps "
        f"on {pairs:,} sentence pairs with translucid {__version__}.{start}"
    )


def _scores(manifest: Manifest, settings: TrainingConfig, facts: RunFacts) -> str:
    if facts.validation is None:
        return "## Scores\n\nThere was no dev set, so nothing was measured."
    found = facts.validation
    dev = manifest.splits["dev"].pairs
    sample = min(dev, settings.validation_sample)
    table = _table(
        ("score", "value", "of"),
        [
            ("loss", f"{found.loss:.4f} nats per token", f"{dev:,} dev pairs"),
            ("perplexity", f"{found.perplexity:.3f}", f"{dev:,} dev pairs"),
            ("BLEU", f"{found.bleu:.2f}", f"{sample:,} of them, greedy search"),
            ("chrF", f"{found.chrf:.2f}", f"{sample:,} of them, greedy search"),
        ],
    )
    mean = " BLEU and chrF are means over the directions." if len(manifest.directions) > 1 else ""
    signatures = "\n".join(f"- `{signature}`" for signature in dict.fromkeys(found.signatures))
    return (
        f"## Scores\n\n{table}\n\nLoss and perplexity are without label smoothing.{mean} "
        f"Signatures of sacrebleu:\n\n{signatures}"
    )


def _network(config: ModelConfig) -> str:
    biases = "with biases" if config.attention_bias else "no biases"
    rows = [
        (
            "layers",
            f"{config.encoder_layers} in the encoder, {config.decoder_layers} in the decoder",
        ),
        ("width", f"d_model {config.d_model}, d_ff {config.d_ff}, {config.activation}"),
        ("attention", f"{config.heads} heads, d_k {config.d_k}, d_v {config.d_v}, {biases}"),
        ("norm", "before each sublayer" if config.norm == "pre" else "after each residual sum"),
        ("positions", config.positions),
        ("tied weights", config.tying),
        ("vocabulary", _vocabulary(config)),
        ("parameters", f"{_parameters(config):,}"),
    ]
    return f"## Network\n\n{_table(('', ''), rows)}"


def _vocabulary(config: ModelConfig) -> str:
    if config.source_vocab_size == config.target_vocab_size:
        return f"{config.source_vocab_size:,} tokens"
    return f"{config.source_vocab_size:,} and {config.target_vocab_size:,} tokens"


def _data(parts: Sequence[DataPart]) -> str:
    tokenizer = parts[0].manifest.tokenizer
    sections = [
        (f"### `{part.name}`, weight {part.weight:g}\n\n" if len(parts) > 1 else "")
        + _data_tables(part.manifest)
        for part in parts
    ]
    return (
        "## Data\n\n"
        + "\n\n".join(sections)
        + f"\n\nTokenizer: {tokenizer.kind}, {tokenizer.vocab_size:,} tokens, SHA-256 "
        f"`{tokenizer.fingerprint}`."
        + ("\n\nAll text is in lower case." if parts[0].manifest.lowercase else "")
    )


def _data_tables(manifest: Manifest) -> str:
    corpora = [
        (", ".join(f"`{path}`" for path in corpus.paths), f"{corpus.pairs:,}", f"{corpus.weight:g}")
        for corpus in manifest.corpora
    ]
    splits = [
        (name, f"{entry.pairs:,}", *(f"{count:,}" for count in entry.tokens.values()))
        for name, entry in manifest.splits.items()
    ]
    languages = [f"{lang} tokens" for lang in manifest.layout.languages]
    return (
        f"{_table(('corpus', 'pairs', 'weight'), corpora)}\n\n"
        f"{_table(('split', 'pairs', *languages), splits)}"
    )


def _training(settings: TrainingConfig, facts: RunFacts) -> str:
    what_happened = [
        ("steps", f"{facts.step:,}"),
        *([("weights", facts.describe_averaging())] if facts.averaged else []),
        *([("on disk", "weights of 16 bits, computed in 32")] if facts.half else []),
        ("epochs", f"{facts.epoch:,} complete"),
        ("target tokens", f"{facts.tokens:,}"),
        ("time", f"{facts.seconds / 60:.1f} minutes"),
    ]
    values = settings.model_dump(mode="json")
    chosen = [(name, f"`{json.dumps(value)}`") for name, value in values.items()]
    command = f"\n\n```\n{facts.command}\n```" if facts.command else ""
    return (
        f"## Training{command}\n\n{_table(('', ''), what_happened)}\n\n"
        f"<details><summary>All settings</summary>\n\n{_table(('setting', 'value'), chosen)}\n\n"
        "</details>"
    )


def _licence(manifests: Sequence[Manifest], parent: Parent | None) -> str:
    """Leave the licence of the weights to their maker; name those of known corpora."""
    prepared = json.dumps([manifest.settings for manifest in manifests])  # every file's checksum
    and_parent = f", and that of `{parent.name}`," if parent else ""
    known = [
        f"- {corpus.name}: {corpus.licence}. {corpus.terms}"
        for corpus in KNOWN.values()
        if any(file.sha256 in prepared for file in corpus.files)
    ]
    return "\n\n".join(
        [
            "## Licence",
            "Not stated yet: write here under which licence the weights may be used. The licences "
            f"of the corpora above{and_parent} may impose conditions.",
            *(["\n".join(known)] if known else []),
        ]
    )


def _parameters(config: ModelConfig) -> int:
    return sum(block.parameters for block in anatomy(config, 1))


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; a bar in a cell, which would end it, is escaped."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


@dataclass(frozen=True)
class ModelWriter:
    """Writes the model directories of a run."""

    config: ModelConfig
    settings: TrainingConfig
    data: PreparedData
    run: RunDirectory
    parent: Parent | None = None

    def write(self, folder: Path, weights: Mapping[str, Tensor], facts: RunFacts) -> None:
        """Write a model directory with a card that describes the run so far."""
        files = ModelFiles(
            config=self.config,
            generation=build_generation_config(self.data, self.parent),
            tokenizer=self.data.tokenizer_path.read_bytes(),
            provenance=self._provenance(facts),
            texts=self._texts(facts),
        )
        write_model(folder, weights, files)

    def _texts(self, facts: RunFacts) -> dict[str, str]:
        name = f"{self.run.name}, step {facts.step:,}"
        curves = LearningCurves.from_events(name, self.run.metrics.read())
        return {
            CARD: model_card(self.config, self.settings, self._parts(), facts, self.parent),
            CURVE: draw_learning_curves(curves).svg,
        }

    def _parts(self) -> list[DataPart]:
        return [
            DataPart(part.folder.resolve().name, part.manifest, weight)
            for part, weight in self.data.parts
        ]

    def _provenance(self, facts: RunFacts) -> dict[str, Any]:
        found, parent = facts.validation, self.parent
        scores = None
        if found is not None:
            scores = {name: getattr(found, name) for name in ("loss", "perplexity", "bleu", "chrf")}
            scores["signatures"] = list(found.signatures)
        return {
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": facts.command,
            "versions": {
                "translucid": __version__,
                "torch": torch.__version__,
                "python": platform.python_version(),
                "system": platform.platform(),
            },
            "step": facts.step,
            "averaged": list(facts.averaged),
            "epoch": facts.epoch,
            "tokens": facts.tokens,
            "seconds": round(facts.seconds, 1),
            "threads": torch.get_num_threads(),
            "data": {
                "fingerprint": fingerprint_data(self.data),
                "tokenizer": self.data.manifest.tokenizer.fingerprint,
                "corpora": [
                    list(corpus.paths)
                    for part, _ in self.data.parts
                    for corpus in part.manifest.corpora
                ],
            },
            **({"parent": {"name": parent.name, "sha256": parent.sha256}} if parent else {}),
            "training": self.settings.model_dump(mode="json"),
            "dev": scores,
        }


def build_generation_config(data: PreparedData, parent: Parent | None = None) -> GenerationConfig:
    """Return the languages and tags of prepared data, and the paper's search.

    With a parent, its languages and tags come first, and its search is kept.
    """
    manifest = data.manifest
    tags: dict[str, int] = {}
    directions: list[tuple[str, str]] = []
    for part, _ in data.parts:
        for source, target in part.manifest.directions:
            directions.append((source, target))
            if manifest.tagged:
                tags[target] = tag_id(part.manifest.languages[target])
    own = GenerationConfig(
        directions=tuple(dict.fromkeys(directions)),
        tags=tags,
        lowercase=manifest.lowercase,
        plain_typography=manifest.plain_typography,
    )
    return inherit_generation(parent.generation, own) if parent else own
