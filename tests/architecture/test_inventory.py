"""Nothing that the first version offered is lost without a word in the changelog."""

from __future__ import annotations

import json
from pathlib import Path

from architecture.inventory import inventory

# What is gone, and what stands for it; each is in CHANGELOG.md.
REPLACED: dict[str, str] = {
    f"{command} --read-back{end}": f"{command} --rerank{end}"
    for command in ("translate", "evaluate", "compare")
    for end in ("", "-weight")
} | {
    "ReadingBack": "Reranker",
    "TrainingConfig.agreement": "TrainingConfig.rdrop_alpha",
    "TrainingConfig.agreement_from": "TrainingConfig.rdrop_start",
    "TrainingConfig.side_by_side": "TrainingConfig.parallel_micro_batches",
    "TrainingConfig.typed_source": "TrainingConfig.source_noise",
}


def test_everything_of_version_1_is_still_there() -> None:
    before = json.loads((Path(__file__).parent / "version_1.json").read_text(encoding="utf-8"))
    now = inventory()
    for kind, names in before.items():
        lost = sorted({REPLACED.get(name, name) for name in names}.difference(now[kind]))
        assert not lost, f"{kind} of the first version that are gone: {', '.join(lost)}"
    changes = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not [name for name in REPLACED if name.split()[-1] not in changes]
