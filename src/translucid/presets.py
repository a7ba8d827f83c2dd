"""Presets: the paper's base and big models, every row of its table 3, and two for small machines.

A preset names what differs from the base model, which is what :class:`ModelConfig` defaults to,
and carries the figures that the paper published for it.

Parameter counts. The paper's en-de vocabulary is "about 37000 tokens", but no single vocabulary
gives all of table 3's last column: rows base and A to E all round to the printed figures with
41,010 to 41,200 tokens (base: 44.1 M in the layers + 512 × 41,100 = 65.1 M), and the big row only
with 35,370 to 36,340. So with 37,000 tokens base comes to 63.1 M instead of 65, every other row is
short by the same 4,100 vectors of d_model numbers, and big comes to 214.2 M instead of 213. Row B
changes d_k alone: it fits only if d_v stays 64.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from translucid.config import ModelConfig
from translucid.errors import InputError, nearest

PAPER_VOCABULARY = 37_000


@dataclass(frozen=True)
class Published:
    """What table 3 says of a row: newstest2013, perplexity per word piece, BLEU, parameters."""

    perplexity: float
    bleu: float
    millions: int


@dataclass(frozen=True)
class Preset:
    """A named network, and the training settings that its row of table 3 changes."""

    name: str
    summary: str
    published: Published | None
    changes: dict[str, Any] = field(default_factory=dict)
    label_smoothing: float = 0.1
    steps: int = 100_000

    def config(self, vocab_size: int) -> ModelConfig:
        """Return the network's settings for one vocabulary shared by source and target."""
        return ModelConfig(
            source_vocab_size=vocab_size, target_vocab_size=vocab_size, **self.changes
        )


def _row(
    name: str, summary: str, figures: tuple[float, float, int], /, **changes: Any
) -> tuple[str, Preset]:
    training = {key: changes.pop(key) for key in ("label_smoothing", "steps") if key in changes}
    return name, Preset(name, summary, Published(*figures), changes, **training)


PRESETS: dict[str, Preset] = dict(
    [
        _row("base", "the paper's base model", (4.92, 25.8, 65)),
        _row(
            "big",
            "the paper's big model",
            (4.33, 26.4, 213),
            d_model=1024,
            d_ff=4096,
            heads=16,
            dropout=0.3,
            steps=300_000,
        ),
        _row("A-h1", "table 3 A, one head of 512", (5.29, 24.9, 65), heads=1),
        _row("A-h4", "table 3 A, 4 heads of 128", (5.00, 25.5, 65), heads=4),
        _row("A-h16", "table 3 A, 16 heads of 32", (4.91, 25.8, 65), heads=16),
        _row("A-h32", "table 3 A, 32 heads of 16", (5.01, 25.4, 65), heads=32),
        _row("B-dk16", "table 3 B, keys of 16", (5.16, 25.1, 58), d_k=16, d_v=64),
        _row("B-dk32", "table 3 B, keys of 32", (5.01, 25.4, 60), d_k=32, d_v=64),
        _row("C-N2", "table 3 C, 2 layers", (6.11, 23.7, 36), encoder_layers=2, decoder_layers=2),
        _row("C-N4", "table 3 C, 4 layers", (5.19, 25.3, 50), encoder_layers=4, decoder_layers=4),
        _row("C-N8", "table 3 C, 8 layers", (4.88, 25.5, 80), encoder_layers=8, decoder_layers=8),
        _row("C-d256", "table 3 C, d_model 256, d_k 32", (5.75, 24.5, 28), d_model=256),
        _row("C-d1024", "table 3 C, d_model 1024, d_k 128", (4.66, 26.0, 168), d_model=1024),
        _row("C-ff1024", "table 3 C, d_ff 1024", (5.12, 25.4, 53), d_ff=1024),
        _row("C-ff4096", "table 3 C, d_ff 4096", (4.75, 26.2, 90), d_ff=4096),
        _row("D-dropout0", "table 3 D, no dropout", (5.77, 24.6, 65), dropout=0.0),
        _row("D-dropout0.2", "table 3 D, dropout 0.2", (4.95, 25.5, 65), dropout=0.2),
        _row(
            "D-smoothing0", "table 3 D, no label smoothing", (4.67, 25.3, 65), label_smoothing=0.0
        ),
        _row("D-smoothing0.2", "table 3 D, smoothing 0.2", (5.47, 25.7, 65), label_smoothing=0.2),
        _row("E-learned", "table 3 E, learned positions", (4.92, 25.7, 65), positions="learned"),
    ]
)
_SMALL = {"norm": "pre", "heads": 4}
PRESETS["small"] = Preset(
    "small",
    "3+3 layers, d_model 256",
    None,
    {**_SMALL, "encoder_layers": 3, "decoder_layers": 3, "d_model": 256, "d_ff": 1024},
)
PRESETS["tiny"] = Preset(
    "tiny",
    "4+4 layers, d_model 128",
    None,
    {**_SMALL, "encoder_layers": 4, "decoder_layers": 4, "d_model": 128, "d_ff": 256},
)


def find_preset(name: str) -> Preset:
    """Return a preset by name, or raise InputError with the nearest known name."""
    if name not in PRESETS:
        raise InputError(f"no preset is called {name!r}; {nearest(name, PRESETS)}")
    return PRESETS[name]
