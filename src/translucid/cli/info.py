"""``translucid info``: the anatomy of a preset or of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from translucid.config import Config
from translucid.presets import PAPER_VOCABULARY, Preset

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from translucid.config import ModelConfig

LENGTH = 32


def info(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="PRESET|MODEL",
            help="A preset's name, a model's directory, or fr-en, the built-in model.",
        ),
    ] = None,
    vocab_size: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of a preset's shared vocabulary.", show_default="37000"),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Tokens of the source and of the target that FLOPs are for.",
            show_default=str(LENGTH),
        ),
    ] = None,
    settings: Annotated[
        bool,
        typer.Option("--settings", help="List all settings of a run, as the preset has them."),
    ] = False,
) -> None:
    """Print what a network is made of: blocks, shapes, parameters, FLOPs per token.

    \b
    Examples:
      translucid info                           every preset, with the paper's figures
      translucid info base --vocab-size 41100   the paper's base model, block by block
      translucid info fr-en                     a trained model: the built-in one
      translucid info tiny --settings           all that -c FILE and --set may change
    """
    from rich.console import Console

    from translucid.cli.display import print_whole_table
    from translucid.errors import InputError

    console = Console(markup=False)
    sized = "--vocab-size" if vocab_size else "--length" if length else None
    if sized and (settings or model is None):
        raise InputError(f"{sized} is for the blocks of one network: name a preset or a model")
    if settings:
        _show_settings(console, model)
        return
    if model is None:
        print_whole_table(console, _presets_table())
        return
    name, config = _find(model, vocab_size)
    length = length or LENGTH
    print_whole_table(console, _anatomy_table(name, config, length))
    typer.echo(
        f"Millions of FLOPs per target token, matrix products only, for {length} source and "
        f"{length} target tokens."
    )


def _show_settings(console: Console, preset: str | None) -> None:
    """Print a table for the network and one for training; what they mean wraps where it must."""
    from translucid.presets import find_preset
    from translucid.training.recipe import DEFAULT_PRESET

    found = find_preset(preset or DEFAULT_PRESET)
    for area in ("model", "training"):
        table = _plain_table(f"[{area}] of the preset {found.name}", footer=False)
        for heading in ("key", "value"):
            table.add_column(heading, no_wrap=True)
        table.add_column("what it is", overflow="fold")
        for setting in list_settings(found):
            if setting.table == area:
                table.add_row(setting.key, setting.value, setting.description)
        console.print(table)
        console.print()


def _find(model: str, vocab_size: int | None) -> tuple[str, ModelConfig]:
    """Return a title and the settings of a model directory or, where there is none, a preset."""
    from translucid.built_in import built_in
    from translucid.config import read_model_config
    from translucid.errors import InputError
    from translucid.presets import PAPER_VOCABULARY, find_preset

    folder = built_in(model) if not Path(model).is_dir() else Path(model)
    if folder is not None:
        if vocab_size is not None:
            raise InputError(f"{model} has its own vocabulary: --vocab-size is for presets")
        return model, read_model_config(folder)
    if "/" in model:
        raise InputError(f"{model}: no such model directory")
    preset = find_preset(model)
    return f"{model}: {preset.summary}", preset.config(vocab_size or PAPER_VOCABULARY)


def _millions(value: float) -> str:
    value /= 1e6
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}" if value else ""


def _plain_table(title: str, *, footer: bool) -> Table:
    """Return a table without frames, readable in a file or a pipe too."""
    from rich import box
    from rich.table import Table

    return Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        show_footer=footer,
    )


def _anatomy_table(title: str, config: ModelConfig, length: int) -> Table:
    from translucid.anatomy import anatomy

    blocks = anatomy(config, length)
    table = _plain_table(title, footer=True)
    table.add_column("block", "total", no_wrap=True)
    table.add_column("shape", no_wrap=True)
    total = sum(block.parameters for block in blocks)
    table.add_column("parameters", f"{total:,}", justify="right", no_wrap=True)
    for heading, field in (
        ("training", "training"),
        ("decode", "cached"),
        ("no cache", "uncached"),
    ):
        flops = sum(getattr(block.cost, field) for block in blocks)
        table.add_column(heading, _millions(flops), justify="right", no_wrap=True)
    for block in blocks:
        times = f" ×{block.count}" if block.count > 1 else ""
        table.add_row(
            *(block.name + times, block.shapes),
            f"{block.parameters:,}" if block.parameters else "",
            *map(_millions, (block.cost.training, block.cost.cached, block.cost.uncached)),
        )
    return table


def _presets_table() -> Table:
    from translucid.anatomy import anatomy
    from translucid.presets import PAPER_VOCABULARY, PRESETS

    table = _plain_table(f"Presets, with {PAPER_VOCABULARY:,} shared tokens", footer=False)
    for heading in ("preset", "what it is"):
        table.add_column(heading, no_wrap=True)
    for heading in ("size", "paper: size", "PPL", "BLEU"):
        table.add_column(heading, justify="right", no_wrap=True)
    for preset in PRESETS.values():
        count = sum(block.parameters for block in anatomy(preset.config(PAPER_VOCABULARY), 1))
        paper = preset.published
        figures = (
            (f"{paper.millions} M", f"{paper.perplexity:.2f}", f"{paper.bleu}") if paper else ()
        )
        table.add_row(preset.name, preset.summary, f"{count / 1e6:.1f} M", *figures)
    return table


class Setting(NamedTuple):
    """A key of a settings file, its value in a preset, and what it is."""

    table: str
    key: str
    value: str
    description: str


def list_settings(preset: Preset) -> list[Setting]:
    """Return the settings of network and training, in the order of their tables."""
    from translucid.training.recipe import build_recipe, preset_settings

    model, training = build_recipe([preset_settings(preset)], (PAPER_VOCABULARY, PAPER_VOCABULARY))
    return [*describe_settings("model", model), *describe_settings("training", training)]


def describe_settings(table: str, config: Config) -> list[Setting]:
    """Return all settings of a config, in the order of its fields."""
    from translucid.training.recipe import FROM_DATA

    return [
        Setting(table, key, _format_toml(getattr(config, key)), _describe(field))
        for key, field in type(config).model_fields.items()
        if key not in FROM_DATA
    ]


def _describe(field: FieldInfo) -> str:
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return f"{field.description}{': ' if choices else ''}{', '.join(choices)}"


def _format_toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value}"
