"""The panels: every picture by its name, what it needs, and how its parts are chosen.

Layers, heads and steps are counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from translucid.built_in import DEFAULT
from translucid.errors import InputError, nearest
from translucid.interpret.figures.alignment import alignment, rollout
from translucid.interpret.figures.arcs import arcs
from translucid.interpret.figures.attention_steps import attention_steps
from translucid.interpret.figures.beam_tree import beam_tree
from translucid.interpret.figures.cache_bars import cache_bars
from translucid.interpret.figures.drawing import Drawing
from translucid.interpret.figures.film_strip import Frame, film_strip
from translucid.interpret.figures.lens_grid import decoder_lens_grid, logit_lens_grid
from translucid.interpret.figures.matrix import head_grid, head_matrix
from translucid.interpret.figures.names import query_tokens
from translucid.interpret.figures.positions import (
    position_curves,
    position_heat,
    position_similarity,
)
from translucid.interpret.figures.residuals import residual_norms
from translucid.interpret.figures.run_curve import Course, run_curve
from translucid.interpret.figures.softmax import softmax_temperatures, steps
from translucid.interpret.figures.vectors import embeddings, feed_forward
from translucid.interpret.lens import decoder_lens, logit_lens
from translucid.interpret.trace import Side, Trace
from translucid.translator import Translator

Option = Literal["side", "layer", "head", "step"]


@dataclass(frozen=True)
class Choice:
    """Which part of a network a panel shows; None: the panel's own choice."""

    side: Side | None = None
    layer: int | None = None
    head: int | None = None
    step: int | None = None

    def given(self) -> list[str]:
        """Return the names of what was chosen."""
        return [name for name, value in vars(self).items() if value is not None]


@dataclass(frozen=True)
class Material:
    """What pictures are made from; the network and what a run left only some of them need."""

    trace: Trace
    translator: Translator | None = None
    frames: Sequence[Frame] = ()
    course: Course | None = None


@dataclass(frozen=True)
class Panel:
    """A picture: what it shows, the options that mean something to it, and how it is drawn."""

    about: str
    options: tuple[Option, ...]
    draw: Callable[[Material, Choice], Drawing]


def draw(name: str, material: Material, choice: Choice) -> Drawing:
    """Return the picture of a panel; what was chosen must mean something to it."""
    check_choice(name, choice)
    return panel_of(name).draw(material, choice)


def check_choice(name: str, choice: Choice) -> None:
    """Raise InputError where something was chosen that means nothing to a panel."""
    panel = panel_of(name)
    if wrong := [option for option in choice.given() if option not in panel.options]:
        takes = ", ".join(f"--{option}" for option in panel.options) or "none of them"
        raise InputError(
            f"--{wrong[0]} means nothing to the panel {name}; of --side, --layer, --head and "
            f"--step it takes: {takes}"
        )


def panel_of(name: str) -> Panel:
    """Return a panel by its name, or raise InputError that lists them."""
    if name not in PANELS:
        raise InputError(f"no panel is called {name!r}; {nearest(name, PANELS)}")
    return PANELS[name]


def default_head(trace: Trace, side: Side, choice: Choice) -> tuple[int, int]:
    """Return the layer and head to show: those chosen, else the first that aligns, else 0.0."""
    layer, head = trace.alignment_heads[0] if side == "cross" else (0, 0)
    if choice.layer is not None and choice.head is None:
        head = 0
    if choice.layer is None and choice.head is not None:
        layer = 0
    return (
        layer if choice.layer is None else choice.layer,
        head if choice.head is None else choice.head,
    )


def _attention(side: Side) -> Callable[[Material, Choice], Drawing]:
    def drawn(material: Material, choice: Choice) -> Drawing:
        if choice.head is None:
            return head_grid(material.trace, side, choice.layer)
        layer, head = default_head(material.trace, side, choice)
        return head_matrix(material.trace, side, layer, head)

    return drawn


def _arcs(material: Material, choice: Choice) -> Drawing:
    side = choice.side or "cross"
    layer, head = default_head(material.trace, side, choice)
    all_heads = choice.layer is not None and choice.head is None
    return arcs(material.trace, side, layer, None if all_heads else head, choice.step)


def _six_steps(material: Material, choice: Choice) -> Drawing:
    side = choice.side or "encoder"
    query = default_query(material.trace, side) if choice.step is None else choice.step
    return attention_steps(material.trace, side, *default_head(material.trace, side, choice), query)


def default_query(trace: Trace, side: Side) -> int:
    """Return the token whose look is shown unless another is chosen: the middle one."""
    return len(query_tokens(trace, side)) // 2


def _softmax(material: Material, choice: Choice) -> Drawing:
    return softmax_temperatures(material.trace, unsure_step(material.trace, choice.step))


def unsure_step(trace: Trace, chosen: int | None) -> int:
    """Return the chosen step, or the one at which the network was least sure."""
    if chosen is not None:
        return chosen
    return max(range(len(trace.steps)), key=lambda number: trace.steps[number].entropy)


def _feed_forward(material: Material, choice: Choice) -> Drawing:
    stack = "encoder" if choice.side in (None, "encoder") else "decoder"
    return feed_forward(material.trace, stack, choice.layer or 0)


def _beam(material: Material, choice: Choice) -> Drawing:
    del choice
    return beam_tree(material.trace, material.translator)


def _network(material: Material, panel: str) -> Translator:
    if material.translator is None:
        raise InputError(
            f"the panel {panel} needs the network itself: give it with -m MODEL (-m {DEFAULT.name} "
            "is the built-in one)"
        )
    return material.translator


def _logit_lens(material: Material, choice: Choice) -> Drawing:
    del choice
    network = _network(material, "lens")
    return logit_lens_grid(material.trace, logit_lens(network, material.trace))


def _decoder_lens(material: Material, choice: Choice) -> Drawing:
    del choice
    network = _network(material, "decoder-lens")
    return decoder_lens_grid(material.trace, decoder_lens(network, material.trace))


def _film(material: Material, choice: Choice) -> Drawing:
    if not material.frames:
        raise InputError("the panel film needs the checkpoints of a run: give it with --run RUN")
    side = choice.side or "cross"
    return film_strip(material.frames, side, *default_head(material.frames[-1].trace, side, choice))


def _curve(material: Material, choice: Choice) -> Drawing:
    del choice
    if material.course is None:
        raise InputError("the panel curve needs the folder of a run: give it with --run RUN")
    return run_curve(material.course)


def _whole(draw_trace: Callable[[Trace], Drawing]) -> Callable[[Material, Choice], Drawing]:
    return lambda material, _choice: draw_trace(material.trace)


PANELS: dict[str, Panel] = {
    "embeddings": Panel("what enters the encoder: words and places", (), _whole(embeddings)),
    "positions": Panel("positional encoding as a heat map", (), _whole(position_heat)),
    "position-curves": Panel("single dimensions of it as curves", (), _whole(position_curves)),
    "position-similarity": Panel("how alike positions are", (), _whole(position_similarity)),
    "attention-steps": Panel(
        "the six steps of attention for one token, with all numbers",
        ("side", "layer", "head", "step"),
        _six_steps,
    ),
    "encoder": Panel(
        "self-attention of the encoder: all heads, or one", ("layer", "head"), _attention("encoder")
    ),
    "decoder": Panel(
        "masked self-attention of the decoder: all heads, or one",
        ("layer", "head"),
        _attention("decoder"),
    ),
    "cross": Panel(
        "attention of the translation to the source: all heads, or one",
        ("layer", "head"),
        _attention("cross"),
    ),
    "arcs": Panel(
        "attention as lines between tokens: a head, or all heads of a layer",
        ("side", "layer", "head", "step"),
        _arcs,
    ),
    "alignment": Panel("which words belong together", (), _whole(alignment)),
    "rollout": Panel(
        "attention of all layers multiplied",
        ("side",),
        lambda material, choice: rollout(material.trace, choice.side or "cross"),
    ),
    "residuals": Panel("length of the residual stream", (), _whole(residual_norms)),
    "feed-forward": Panel(
        "inner activations of a feed-forward layer", ("side", "layer"), _feed_forward
    ),
    "lens": Panel("what each decoder layer would say (logit lens)", (), _logit_lens),
    "decoder-lens": Panel(
        "what the decoder would say reading each encoder layer", (), _decoder_lens
    ),
    "steps": Panel("every step: what was written, what else might be", (), _whole(steps)),
    "softmax": Panel("softmax of a step at several temperatures", ("step",), _softmax),
    "beam": Panel("tree of the search, and the length-penalty arithmetic", (), _beam),
    "cache": Panel("what the cache computed, reused and saved", (), _whole(cache_bars)),
    "film": Panel(
        "a head and the translation over the checkpoints of a run",
        ("side", "layer", "head"),
        _film,
    ),
    "curve": Panel("loss and learning rate of a run", (), _curve),
}
