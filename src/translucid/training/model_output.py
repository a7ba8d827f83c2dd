"""The model directories that a run leaves: its best network and its last one."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from translucid import __version__
from translucid.checkpoint.format import CARD, GenerationConfig, ModelFiles, write_model
from translucid.config import ModelConfig
from translucid.data.shards import PreparedData
from translucid.events import Skipped
from translucid.text.tokenizer import tag_id
from translucid.training.curve import curve_svg
from translucid.training.metrics import read_metrics
from translucid.training.report import CURVE, Facts, curves_of, model_card
from translucid.training.run_folder import RunFolder, fingerprint_of
from translucid.training.settings import TrainingConfig


@dataclass(frozen=True)
class ModelOutput:
    """What is the same for all model directories of a run."""

    config: ModelConfig
    settings: TrainingConfig
    data: PreparedData
    run: RunFolder

    def write(self, folder: Path, weights: Mapping[str, Tensor], facts: Facts) -> None:
        """Write a model directory with a card that tells of the run so far."""
        files = ModelFiles(
            config=self.config,
            generation=generation_of(self.data),
            tokenizer=self.data.tokenizer_path.read_bytes(),
            provenance=self._provenance(facts),
            texts=self._texts(facts),
        )
        write_model(folder, weights, files)

    def _texts(self, facts: Facts) -> dict[str, str]:
        events = read_metrics(self.run.metrics.path)
        curves = curves_of(event for event in events if not isinstance(event, Skipped))
        return {
            CARD: model_card(self.config, self.settings, self.data.manifest, facts),
            CURVE: curve_svg(curves, f"{self.run.path.resolve().name}, step {facts.step:,}"),
        }

    def _provenance(self, facts: Facts) -> dict[str, Any]:
        found = facts.validation
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
                "fingerprint": fingerprint_of(self.data),
                "tokenizer": self.data.manifest.tokenizer.fingerprint,
                "corpora": [list(corpus.paths) for corpus in self.data.manifest.corpora],
            },
            "training": self.settings.model_dump(mode="json"),
            "dev": scores,
        }


def generation_of(data: PreparedData) -> GenerationConfig:
    """Return the languages and tags of prepared data, and the paper's search."""
    manifest = data.manifest
    targets = dict.fromkeys(target for _, target in manifest.directions)
    tags = {target: tag_id(manifest.languages[target]) for target in targets}
    return GenerationConfig(
        directions=manifest.directions,
        tags=tags if manifest.tagged else {},
        lowercase=manifest.lowercase,
        plain_typography=manifest.plain_typography,
    )
