"""Who decides between two sentences: `translucid explain A --against B`, measured and printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from translucid.cli.display import (
    build_table,
    print_whole_table,
    show_progress,
    stderr_console,
    stdout_console,
)
from translucid.cli.options import load_models
from translucid.errors import InputError

if TYPE_CHECKING:
    from translucid.interpret.minimal_pairs import Repetition
    from translucid.interpret.patched_runs import Cell, Part
    from translucid.interpret.patching import CellShare, PatchedRun, Patching
    from translucid.interpret.trace import Trace
    from translucid.translator import Translator

SHOWN = 3  # cells of each part
LEAST = 0.05  # of the flip; cells below it are left out, except the first
_HEADS: tuple[Part, ...] = ("encoder", "decoder", "cross")
_PARTS: tuple[tuple[Part, ...], ...] = (_HEADS, ("source",), ("target",))


@dataclass(frozen=True)
class Comparison:
    """The options that compare two sentences, or two models."""

    against: str | None
    model: Path | None
    between: str | None
    control: str | None
    patch: Sequence[str]
    repeat: int | None
    threads: int | None

    def given(self) -> list[str]:
        """Return the options that were given."""
        named = {
            "--against": self.against is not None,
            "--against-model": self.model is not None,
            "--between": self.between is not None,
            "--control": self.control is not None,
            "--patch": bool(self.patch),
            "--repeat": self.repeat is not None,
        }
        return [name for name, there in named.items() if there]

    @property
    def words(self) -> tuple[str, str] | None:
        """The two words that compete, if they were given."""
        if self.between is None:
            return None
        one, slash, other = self.between.partition("/")
        if not (slash and one.strip() and other.strip()):
            raise InputError(f"--between {self.between}: give two words, such as il/elle")
        return one.strip(), other.strip()

    def check(self) -> None:
        """Refuse options that compare where nothing is to be compared."""
        _ = self.words
        given = self.given()
        if given and self.against is None and self.model is None:
            raise InputError(
                f"{', '.join(given)}: what is compared is missing: give another sentence with "
                "--against TEXT, or another model with --against-model MODEL"
            )
        if self.repeat is not None and (self.against is None or self.model is not None):
            raise InputError(
                "--repeat exchanges the words in which two sentences differ, under one model: give "
                "--against TEXT without --against-model"
            )


def compare(comparison: Comparison, translator: Translator, trace: Trace, target: str) -> Patching:
    """Measure who decides, and print it; patch some cells together, and repeat it elsewhere."""
    from translucid.interpret.decision import find_contrast
    from translucid.interpret.minimal_pairs import (
        explain_against,
        measure_against,
        repeat_patching,
    )
    from translucid.interpret.patched_runs import Cell
    from translucid.interpret.patching import PatchablePair, apply_patch

    cells = [Cell.parse(name) for name in comparison.patch]
    words = comparison.words
    other = None
    if comparison.model is not None:
        other = load_models([comparison.model], comparison.threads, "pytorch")
    with show_progress(stderr_console()) as emit:
        second = explain_against(
            translator, trace, comparison.against, target=target, other=other, on_event=emit
        )
        patching = measure_against(
            translator,
            trace,
            second,
            target=target,
            other=other,
            contrast=None if words is None else find_contrast(translator, trace, second, words),
            control=comparison.control,
            on_event=emit,
        )
    show_patching(patching)
    if cells:
        contrast = patching.decision.contrast
        pair = PatchablePair.of(translator, trace, second, other=other, contrast=contrast)
        show_patched(cells, apply_patch(pair, cells))
    if comparison.repeat is not None:
        with show_progress(stderr_console()) as emit:
            found = repeat_patching(
                translator,
                trace.source,
                second.source,
                patching.decision,
                target=target,
                count=comparison.repeat,
                on_event=emit,
            )
        show_repetition(found, comparison.repeat)
    return patching


def show_patching(patching: Patching) -> None:
    """Print the two sentences, the decision, and the cells that carry most of it."""
    from translucid.interpret.figures.patching_map import decision_labels, signed

    console = stdout_console()
    for number, (text, translation, model) in enumerate(_sentences(patching), start=1):
        console.print(f"{number}. {text}{model}\n   → {translation}", soft_wrap=True)
    one, other = decision_labels(patching)
    first, second = patching.decision.margins
    console.print(
        f"\nToken {patching.decision.step + 1} decides between “{one}” and “{other}”. Logit of "
        f"{one} minus logit of {other}: {signed(first)} in 1, {signed(second)} in 2.\n"
        "Share of this difference that moves when one activation is patched from the other run "
        "(layers, heads and tokens from 1):",
        soft_wrap=True,
    )
    columns = ["", "what it is", "2 into 1", "1 into 2"]
    if patching.control is not None:
        columns += ["control in 1", "in 2"]
    table = build_table(*columns)
    table.columns[1].justify = "left"
    for parts in _PARTS:
        for place, row in enumerate(patching.part(*parts)[:SHOWN]):
            if place and row.share < LEAST:
                break
            table.add_row(str(row.cell), describe_cell(row.cell, patching), *_numbers(row))
        table.add_section()
    print_whole_table(console, table)
    if patching.control is not None:
        console.print(f"Control: activations of “{patching.control}”", soft_wrap=True)
    best = patching.part(*_HEADS)[0]
    if all(best.translations):
        written = "".join(f"\n   {text}" for text in best.translations)
        console.print(f"With {best.cell} patched, the two runs write:{written}", soft_wrap=True)


def _sentences(patching: Patching) -> list[tuple[str, str, str]]:
    names = ["", ""]
    if patching.models[0] != patching.models[1]:
        names = [f"  ({name})" for name in patching.models]
    return [
        (patching.first, patching.first_translation, names[0]),
        (patching.second, patching.second_translation, names[1]),
    ]


def describe_cell(cell: Cell, patching: Patching) -> str:
    """Return what a cell is, with the token that it belongs to."""
    from translucid.interpret.figures.drawing import token_labels
    from translucid.interpret.figures.patching_map import column_names

    if cell.part in _HEADS:
        where = {
            "encoder": "encoder", "decoder": "decoder to itself", "cross": "decoder to source"
        }[cell.part]  # fmt: skip
        return f"{where}, layer {cell.layer + 1}, head {cell.index + 1}"
    after = f"after layer {cell.layer}" if cell.layer else "as it enters"
    if cell.part == "source":
        return f"“{column_names(patching)[cell.index]}” {after}"
    return f"position of “{token_labels(patching.target_tokens)[cell.index]}” {after}"


def _numbers(row: CellShare) -> list[str]:
    shares = [row.forward, row.backward, *(row.controls or ())]
    return [f"{share:.2f}" for share in shares]


def show_patched(cells: Sequence[Cell], runs: tuple[PatchedRun, PatchedRun]) -> None:
    """Print what the two runs write with some cells patched together."""
    from translucid.interpret.figures.patching_map import signed

    console = stdout_console()
    console.print(f"\nPatched together: {', '.join(map(str, cells))}", soft_wrap=True)
    for number, run in enumerate(runs, start=1):
        console.print(
            f"{number}. share {run.share:.2f}, margin {signed(run.margin)}\n   → {run.translation}",
            soft_wrap=True,
        )


def show_repetition(found: Repetition, count: int) -> None:
    """Print whether the decision is made by the same heads in other sentences."""
    console = stdout_console()
    one, other = found.exchanged
    console.print(
        f"\n{len(found.pairs)} of {count} other pairs with “{one}” and “{other}” and the same "
        f"decision ({found.tried} tried):",
        soft_wrap=True,
    )
    for number, pair in enumerate(found.pairs, start=1):
        console.print(f"{number:2}. {pair.first}\n    → {pair.first_translation}", soft_wrap=True)
        console.print(f"    → {pair.second_translation}", soft_wrap=True)
    if not found.pairs:
        return
    table = build_table("head", "leads in", "mean share", "least", "most")
    for row in found.heads[:SHOWN]:
        numbers = [f"{value:.2f}" for value in (row.mean, row.least, row.most)]
        table.add_row(str(row.cell), f"{row.leads} of {len(found.pairs)}", *numbers)
    changed = [pair.changed for pair in found.pairs]
    table.add_section()
    numbers = [f"{v:.2f}" for v in (sum(changed) / len(changed), min(changed), max(changed))]
    table.add_row("state of the exchanged words", "", *numbers)
    print_whole_table(console, table)
