"""The tree that a search has grown: what it kept, what it dropped, and the arithmetic of the end.

A column is a step, a box a candidate with its log P; the best of a step stands highest::

    <s> ─┬─ The −0.1 ── cat −0.2 ── </s>         thick: the translation
         ├─ A   −2.3 ── …                        box with a solid edge: kept
         └┄ This −4.1                            dashed: dropped
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from translucid.decoding.hypothesis import length_penalty
from translucid.decoding.tree import Node, SearchTree
from translucid.errors import InputError
from translucid.interpret.figures.drawing import (
    MARGIN,
    Drawing,
    heading,
    line,
    number,
    path,
    piece_label,
    rect,
    shorten,
    spaced,
    text,
    tooltip,
    wrap_text,
)
from translucid.interpret.trace import Trace
from translucid.translator import Translator

BOX = 96  # pixels of a candidate
ACROSS = BOX + 36
HEIGHT = 32
DOWN = HEIGHT + 8
MOST_DROPPED = 4  # dropped candidates of a step that are shown
MOST_ENDS = 8  # hypotheses whose arithmetic is shown
LEAST_WIDTH = 820


@dataclass(frozen=True)
class Place:
    """Where a candidate is drawn: the middle of the left edge of its box."""

    x: float
    y: float


def beam_tree(trace: Trace, translator: Translator | None = None) -> Drawing:
    """Return the tree of the search that found a translation.

    Only for a trace from a file of version 1 may a translator be needed, to spell what was dropped.
    """
    if trace.tree is None:
        raise InputError(
            "this translation was given, not searched for, so there is no tree of a search: "
            "leave --given out"
        )
    tree, pieces = trace.tree, decode_pieces(trace, translator)
    last = max(node.step for node in tree.nodes)
    width = max(LEAST_WIDTH, 2 * MARGIN + last * ACROSS + BOX)
    title = f"Search tree: {trace.search.method}"
    if trace.search.method in ("beam", "diverse"):
        title += f", {trace.search.beam} hypotheses side by side"
    parts, top = heading(title, width, [_about(tree), *_forced(trace)])
    places, more = _places(tree, top + 24)
    best = set(tree.path(tree.results[0])) | {0} if tree.results else {0}
    for step in range(1, last + 1):
        parts.append(text(MARGIN + step * ACROSS, top + 12, f"step {step - 1}", "muted"))
    parts += [*_edges(tree, places, best), *more]
    for index, place in places.items():
        node = tree.nodes[index]
        label = piece_label(pieces.get(node.token, f"#{node.token}"), spaced(trace))
        parts.append(_box(node, place, label, chosen=index in best))
    bottom = max(place.y for place in places.values()) + HEIGHT / 2 + 50
    table, height = _arithmetic(trace, tree, pieces, bottom, width)
    return Drawing(width, height, title, _describe(tree), "".join([*parts, *table]))


def decode_pieces(trace: Trace, translator: Translator | None) -> dict[int, str]:
    """Return the piece of every token of a trace.

    A trace knows them all, but one from a file of version 1 may need a translator for the tree's.
    """
    found = dict(trace.pieces)
    if translator is not None and trace.tree is not None:
        unknown = {node.token for node in trace.tree.nodes} - found.keys()
        found.update((token, translator.tokenizer.piece(token)) for token in unknown)
    return found


def _about(tree: SearchTree) -> str:
    reasons = {
        "end": "all that was under way wrote the end symbol",
        "bound": "nothing under way could still beat what was found",
        "limit": "the limit of length was reached",
        "loop": "what was left went in circles",
    }
    return (
        "A box is a token; below it log P of it alone, and the score of its path as far as this, "
        "by which a step's candidates are in order. Dashed: dropped. Green: ended. Blue: the "
        "translation. The search stopped because "
        f"{reasons[tree.stopped]}."
    )


def _forced(trace: Trace) -> list[str]:
    """Say which steps were no choice of the search."""
    if not trace.prefix_length:
        return []
    last = trace.prefix_length - 1
    steps = "Step 0 was" if last == 0 else f"Steps 0 to {last} were"
    return [f"{steps} forced: the search began after {'it' if last == 0 else 'them'}."]


def _places(tree: SearchTree, top: float) -> tuple[dict[int, Place], list[str]]:
    """Put candidates into columns by step, the best highest; count those dropped ones left out."""
    columns: dict[int, list[int]] = {}
    for index, node in enumerate(tree.nodes):
        columns.setdefault(node.step, []).append(index)
    places, more = {}, []
    for step, column in columns.items():
        ranked = sorted(column, key=lambda index: -tree.nodes[index].score)
        dropped = [index for index in ranked if tree.nodes[index].status == "dropped"]
        left_out = set(dropped[MOST_DROPPED:])
        shown = [index for index in ranked if index not in left_out]
        x = MARGIN + step * ACROSS
        for row, index in enumerate(shown):
            places[index] = Place(x, top + row * DOWN + HEIGHT / 2)
        if left_out:
            words = f"{len(left_out)} more dropped"
            more.append(text(x, top + len(shown) * DOWN + 8, words, "small muted"))
    return places, more


def _edges(tree: SearchTree, places: Mapping[int, Place], best: set[int]) -> list[str]:
    """Draw the lines from parents to children: dropped ones first, the translation's last."""
    drawn = []
    for index, end in places.items():
        node = tree.nodes[index]
        if node.parent is None:
            continue
        start = places[node.parent]
        x1, x2 = start.x + BOX, end.x
        middle = (x1 + x2) / 2
        strokes = (
            f"M{number(x1)} {number(start.y)}C{number(middle)} {number(start.y)} "
            f"{number(middle)} {number(end.y)} {number(x2)} {number(end.y)}"
        )
        kind = "mark" if index in best else "gone" if node.status == "dropped" else "axis"
        drawn.append((("gone", "axis", "mark").index(kind), path(strokes, kind)))
    return [stroke for _, stroke in sorted(drawn, key=lambda pair: pair[0])]


def _box(node: Node, place: Place, label: str, *, chosen: bool) -> str:
    """Draw one candidate: its token, and log P of it below."""
    dropped = node.status == "dropped"
    kind = "gone" if dropped else "ended" if node.status in ("finished", "cut") else "kept"
    top = place.y - HEIGHT / 2
    frame = rect(
        place.x, top, BOX, HEIGHT, "chosen" if chosen and kind == "kept" else kind, round_by=5
    )
    said = shorten(label, BOX - 12)
    words = "accent strong" if chosen else "muted" if dropped else ""
    parts = [frame, text(place.x + 8, top + 14, said, f"token {words}")]
    if node.parent is not None:
        value = f"{node.log_prob:.2f}".replace("-", "−")
        parts.append(text(place.x + 8, top + 27, value, "small muted"))
        score = f"{node.score:.2f}".replace("-", "−")
        parts.append(text(place.x + BOX - 6, top + 27, score, "small muted", anchor="end"))
    spoken = f"{label}: log P {node.log_prob:.4f}, score so far {node.score:.4f}, {node.status}"
    return tooltip("".join(parts), spoken)


def ended(tree: SearchTree) -> list[int]:
    """Return the hypotheses that have ended, those returned first, then the others by score."""
    others = [
        index
        for index, node in enumerate(tree.nodes)
        if node.status in ("finished", "cut") and index not in tree.results
    ]
    return [*tree.results, *sorted(others, key=lambda index: -tree.nodes[index].score)]


@dataclass(frozen=True)
class Ending:
    """The arithmetic of one hypothesis: log P over the length penalty, and what coverage costs."""

    tokens: tuple[int, ...]
    log_prob: float
    length: int
    penalty: float
    coverage: float
    score: float


def describe_ending(trace: Trace, tree: SearchTree, index: int) -> Ending:
    """Return the arithmetic of the hypothesis that ends in a node."""
    route = [tree.nodes[number] for number in tree.path(index)]
    log_prob = math.fsum(node.log_prob for node in route)
    penalty = length_penalty(len(route), trace.search)
    score = tree.nodes[index].score
    return Ending(
        tokens=tuple(node.token for node in route),
        log_prob=log_prob,
        length=len(route),
        penalty=penalty,
        coverage=score - log_prob / penalty,
        score=score,
    )


def _arithmetic(
    trace: Trace, tree: SearchTree, pieces: Mapping[int, str], y: float, width: float
) -> tuple[list[str], float]:
    """Write how the hypotheses that ended were compared; return the height of the picture."""
    alpha = trace.search.length_penalty
    formula = "((5 + n) / 6)" if trace.search.length_form == "paper" else "n"
    chosen = "; chosen was what is most like the other samples" if _by_likeness(trace) else ""
    parts = [
        line(MARGIN, y - 20, width - MARGIN, y - 20, "frame"),
        text(MARGIN, y, "How the ends compare", "strong"),
        text(
            MARGIN,
            y + 20,
            f"score = log P / {formula}^α, with α = {alpha:g}; n counts the end symbol{chosen}",
            "muted",
        ),
    ]
    y += 46
    room = min(width, LEAST_WIDTH) - 2 * MARGIN - 20
    for rank, index in enumerate(ended(tree)[:MOST_ENDS]):
        found = describe_ending(trace, tree, index)
        kind = "accent strong" if rank == 0 else ""
        words = _sentence(found.tokens, pieces)
        parts.append(text(MARGIN, y, f"{rank + 1}", f"{kind or 'muted'}"))
        for words_line in wrap_text(words, room):
            parts.append(text(MARGIN + 20, y, words_line, kind))
            y += 17
        parts.append(text(MARGIN + 20, y, describe_sum(found, trace), "muted"))
        y += 26
    return parts, y


def _by_likeness(trace: Trace) -> bool:
    """Tell whether the search chose by something else than the scores of its tree."""
    return trace.search.method == "mbr"


def describe_sum(found: Ending, trace: Trace) -> str:
    """Return the arithmetic of one hypothesis with its numbers filled in."""
    alpha = trace.search.length_penalty
    base = (
        f"((5 + {found.length}) / 6)" if trace.search.length_form == "paper" else f"{found.length}"
    )
    sums = (
        f"log P = {found.log_prob:.4f},  n = {found.length},  {base}^{alpha:g} = "
        f"{found.penalty:.4f},  {found.log_prob:.4f} / {found.penalty:.4f}"
    )
    if abs(found.coverage) > 5e-5:
        sums += f" + coverage {found.coverage:.4f}"
    return f"{sums} = {found.score:.4f}".replace("-", "−")


def _sentence(tokens: Sequence[int], pieces: Mapping[int, str]) -> str:
    """Return tokens as the text they spell."""
    said = [pieces.get(token, f" #{token}") for token in tokens]
    special = [piece.startswith("<") and len(piece) > 1 for piece in said]
    return "".join(
        f" {piece}" if apart else piece.replace("▁", " ")
        for piece, apart in zip(said, special, strict=True)
    ).strip()


def _describe(tree: SearchTree) -> str:
    counts = {
        status: sum(node.status == status for node in tree.nodes[1:])
        for status in ("kept", "dropped", "finished", "cut")
    }
    said = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return f"{len(tree.nodes) - 1} candidates: {said}."
