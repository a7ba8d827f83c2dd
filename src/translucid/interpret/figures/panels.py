"""The panels: every picture by its name, what it needs, and how its parts are chosen.

Python draws what goes into a paper, as SVG, PNG or PDF. All other pictures are the page's, which a
panel names too: `explain -o x.html --panel NAME` opens there. Layers, heads and steps are counted
from 0 here, as everywhere in Python, and from 1 in pictures, in addresses and on the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlencode

from translucid.errors import InputError, nearest
from translucid.interpret.figures.arcs import arcs
from translucid.interpret.figures.attention_steps import attention_steps
from translucid.interpret.figures.beam_tree import beam_tree
from translucid.interpret.figures.charts import LearningCurves, draw_learning_curves
from translucid.interpret.figures.drawing import Drawing
from translucid.interpret.figures.matrix import (
    alignment,
    check_head,
    check_layer,
    checked,
    head_grid,
    head_matrix,
    query_tokens,
    rollout,
)
from translucid.interpret.figures.patching_map import patching_map
from translucid.interpret.figures.positions import (
    position_curves,
    position_heat,
    position_similarity,
)
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
    """What pictures are made from; the network and the course of a run only some of them need."""

    trace: Trace
    translator: Translator | None = None
    curves: LearningCurves | None = None


@dataclass(frozen=True)
class Panel:
    """A picture: what it shows, the options that mean something to it, and who draws it.

    `page` is the page's panel that shows it, `address` what is chosen there beside the options.
    Where `draw` is None, only the page draws it.
    """

    about: str
    options: tuple[Option, ...]
    page: str
    draw: Callable[[Material, Choice], Drawing] | None = None
    address: dict[str, str] = field(default_factory=dict)


def draw(name: str, material: Material, choice: Choice) -> Drawing:
    """Return the picture of a panel; what was chosen must mean something to it."""
    check_choice(name, choice)
    check_drawn(name)
    panel = find_panel(name)
    assert panel.draw is not None
    return panel.draw(material, choice)


def check_drawn(name: str) -> None:
    """Raise InputError where only the page draws a panel."""
    if find_panel(name).draw is None:
        drawn = ", ".join(other for other, panel in PANELS.items() if panel.draw is not None)
        raise InputError(
            f"the panel {name} is drawn by the page: write .html, open it, and save the picture "
            f"from there. These can be written as files: {drawn}"
        )


def page_address(name: str | None, trace: Trace, choice: Choice) -> str:
    """Return where the page opens that shows a panel (None: its first), such as #/explore/cache."""
    panel = None if name is None else find_panel(name)
    asked = dict(panel.address) if panel else {}
    side = choice.side or _side(asked.get("side", "cross"))
    if choice.layer is not None or choice.head is not None:
        layer, head = default_head(trace, side, choice)
        layer, head = check_layer(trace, side, layer), check_head(trace, head)
        asked |= {"layer": str(layer + 1), "head": str(head + 1)}
    if choice.side is not None:
        asked["side"] = side
    if choice.step is not None:
        looks = panel is not None and panel.page == "steps"
        count = len(query_tokens(trace, side) if looks else trace.steps)
        place = checked("step", choice.step, count, "sentence")
        asked["query" if looks else "step"] = str(place + 1)
    where = f"#/explore/{'map' if panel is None else panel.page}"
    return f"{where}?{urlencode(asked)}" if asked else where


def _side(name: str) -> Side:
    sides: dict[str, Side] = {"encoder": "encoder", "decoder": "decoder", "cross": "cross"}
    return sides[name]


def check_choice(name: str, choice: Choice) -> None:
    """Raise InputError where something was chosen that means nothing to a panel."""
    panel = find_panel(name)
    if wrong := [option for option in choice.given() if option not in panel.options]:
        takes = ", ".join(f"--{option}" for option in panel.options) or "none of them"
        raise InputError(
            f"--{wrong[0]} does not apply to the panel {name}; of --side, --layer, --head and "
            f"--step, it takes: {takes}"
        )


def find_panel(name: str) -> Panel:
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


def _beam(material: Material, choice: Choice) -> Drawing:
    del choice
    return beam_tree(material.trace, material.translator)


def _curve(material: Material, choice: Choice) -> Drawing:
    del choice
    if material.curves is None:
        raise InputError("the panel curve needs the folder of a run: give it with --run RUN")
    return draw_learning_curves(material.curves)


def _whole(draw_trace: Callable[[Trace], Drawing]) -> Callable[[Material, Choice], Drawing]:
    return lambda material, _choice: draw_trace(material.trace)


_ANY: tuple[Option, ...] = ("side", "layer", "head", "step")

PANELS: dict[str, Panel] = {
    "embeddings": Panel("what enters the encoder: words and places", (), "tokens"),
    "positions": Panel("positional encoding as a heat map", (), "tokens", _whole(position_heat)),
    "position-curves": Panel(
        "single dimensions of it as curves", (), "tokens", _whole(position_curves)
    ),
    "position-similarity": Panel(
        "how alike positions are", (), "tokens", _whole(position_similarity)
    ),
    "attention-steps": Panel(
        "the six steps of attention for one token, with all numbers",
        _ANY,
        "steps",
        _six_steps,
        {"side": "encoder"},
    ),
    "encoder": Panel(
        "self-attention of the encoder: all heads, or one",
        ("layer", "head"),
        "attention",
        _attention("encoder"),
        {"side": "encoder"},
    ),
    "decoder": Panel(
        "masked self-attention of the decoder: all heads, or one",
        ("layer", "head"),
        "attention",
        _attention("decoder"),
        {"side": "decoder"},
    ),
    "cross": Panel(
        "attention of the translation to the source: all heads, or one",
        ("layer", "head"),
        "attention",
        _attention("cross"),
        {"side": "cross"},
    ),
    "arcs": Panel(
        "attention as lines between tokens: a head, or all heads of a layer",
        _ANY,
        "attention",
        _arcs,
        {"shape": "arcs"},
    ),
    "alignment": Panel("which words belong together", (), "attention", _whole(alignment)),
    "rollout": Panel(
        "attention of all layers multiplied",
        ("side",),
        "attention",
        lambda material, choice: rollout(material.trace, choice.side or "cross"),
        {"x-draw": "rollout"},
    ),
    "patching": Panel(
        "who decides between two sentences: the share of every state and head (--against)",
        (),
        "pair",
        _whole(patching_map),
    ),
    "residuals": Panel("the residual sum and the norm around a sublayer", (), "norm"),
    "feed-forward": Panel("inner activations of a feed-forward layer", ("side", "layer"), "feed"),
    "lens": Panel("what each decoder layer would say (logit lens)", (), "lens"),
    "decoder-lens": Panel("what the decoder would say reading each encoder layer", (), "lens"),
    "steps": Panel("every step: what was written, what else might be", (), "output"),
    "softmax": Panel("softmax of a step at any temperature", ("step",), "output"),
    "beam": Panel("tree of the search, and the length-penalty arithmetic", (), "search", _beam),
    "cache": Panel("what the cache computed, reused and saved", (), "cache"),
    "film": Panel(
        "a head and the translation over the checkpoints of a run",
        ("side", "layer", "head"),
        "training",
    ),
    "curve": Panel("loss and learning rate of a run", (), "training", _curve),
}
