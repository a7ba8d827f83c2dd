"""One self-contained page of a trace: all panels, in the order in which the network works.

It needs no network and no script to be read; a few lines of script show any head large when its
small matrix is clicked. It follows the reader's light or dark mode.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass

from translucid.interpret.figures.drawing import Drawing
from translucid.interpret.figures.lettering import legal, piece_label, token_labels
from translucid.interpret.figures.names import checked
from translucid.interpret.figures.page_style import SCRIPT, STYLE
from translucid.interpret.figures.page_words import SECTIONS, Words, told
from translucid.interpret.figures.panels import (
    Choice,
    Material,
    default_head,
    default_query,
    draw,
)
from translucid.interpret.figures.softmax import spaced
from translucid.interpret.hallucination import detect_hallucination
from translucid.interpret.trace import Side, Trace

MOST_TOKENS = 100  # beyond, large matrices and trees are left to the command line


def page(trace: Trace, material: Material | None = None, choice: Choice | None = None) -> str:
    """Return the page of a trace as the text of an HTML file.

    With the network or frames of a run in `material`, it has the lenses and the film strip too.
    `choice` says which layer, head and step the single pictures show.
    """
    shown = _Shown(material or Material(trace), choice or Choice())
    if shown.choice.layer is not None:
        deepest = max(trace.model.encoder_layers, trace.model.decoder_layers)
        checked("layer", shown.choice.layer, deepest, "network's deeper stack")
    sections = [words for words in SECTIONS if words.anchor != "learning" or shown.material.frames]
    body = _summary(trace) + "".join(
        _section(words, list(shown.drawings(words.panels)), trace) for words in sections
    )
    return document(f"Inside one translation: {trace.source}", body, _contents(sections))


def panel_page(drawing: Drawing) -> str:
    """Return a page with one picture."""
    return document(drawing.title, figure(drawing), "")


def notebook(trace: Trace) -> str:
    """Return the page in a frame of its own, so that a notebook keeps its style."""
    inside = html.escape(page(trace), quote=True)
    return (
        f'<iframe srcdoc="{inside}" sandbox="allow-scripts" title="Inside one translation" '
        'style="width:100%;height:640px;border:1px solid #8888;border-radius:6px"></iframe>'
    )


def document(title: str, body: str, contents: str) -> str:
    """Return a whole HTML page that loads nothing."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{_escaped(title)}</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1>{_escaped(title)}</h1>
{contents}</header>
<main>
{body}</main>
<script>
{SCRIPT}</script>
</body>
</html>
"""


def _escaped(words: str) -> str:
    return html.escape(legal(words), quote=True)


def figure(drawing: Drawing) -> str:
    """Return a picture with room to scroll where it is wide."""
    label = _escaped(drawing.title)
    return (
        f'<figure><div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f"{drawing.inline()}</div></figure>\n"
    )


def _contents(sections: list[Words]) -> str:
    links = "".join(
        f'<li><a href="#{words.anchor}">{_escaped(words.title)}</a></li>' for words in sections
    )
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>\n'


@dataclass(frozen=True)
class _Shown:
    """Which pictures of a trace the page has."""

    material: Material
    choice: Choice

    def drawings(self, names: tuple[str, ...]) -> Iterator[Drawing]:
        """Yield the pictures of some panels that can be drawn from this material."""
        for name in names:
            if self._possible(name):
                yield from self._drawn(name)

    def _possible(self, name: str) -> bool:
        trace, many = self.material.trace, self._tokens() > MOST_TOKENS
        if name in _FULL and trace.level == "light":
            return False
        if name.startswith("position") and not _has_encoding(trace):
            biased = trace.model.positions == "relative" and trace.level == "full"
            return name == "position-curves" and biased
        return {
            "beam": trace.tree is not None and not many,
            "lens": self.material.translator is not None,
            "decoder-lens": self.material.translator is not None,
            "film": bool(self.material.frames),
            "curve": self.material.course is not None,
            "alignment": not many,
            "arcs": not many,
            "rollout encoder": not many,
        }.get(name, True)

    def _tokens(self) -> int:
        trace = self.material.trace
        return max(len(trace.source_tokens), len(trace.target_tokens))

    def _drawn(self, name: str) -> Iterator[Drawing]:
        panel, _, rest = name.partition(" ")
        trace = self.material.trace
        if panel in ("encoder", "decoder", "cross"):
            side: Side = (
                "encoder" if panel == "encoder" else "decoder" if panel == "decoder" else "cross"
            )
            if self._tokens() <= MOST_TOKENS:
                layer, head = self._head(side)
                yield draw(panel, self.material, Choice(layer=layer, head=head))
            yield draw(panel, self.material, Choice())
        elif panel == "attention-steps":
            step = self.choice.step
            rows = len(trace.source_tokens)
            query = step if step is not None and step < rows else default_query(trace, "encoder")
            layer, head = self._head("encoder")
            yield draw(panel, self.material, Choice("encoder", layer, head, query))
        elif panel == "softmax":
            yield draw(panel, self.material, Choice(step=self.choice.step))
        elif panel == "rollout":
            yield draw(panel, self.material, Choice(side="encoder" if rest else "cross"))
        elif panel in ("arcs", "film"):
            layer, head = self._head("cross")
            yield draw(panel, self.material, Choice(layer=layer, head=head))
        else:
            yield draw(panel, self.material, Choice())

    def _head(self, side: Side) -> tuple[int, int]:
        """Return the head that is shown large: the chosen one where this side has it."""
        trace = self.material.trace
        chosen = Choice(layer=self.choice.layer, head=self.choice.head)
        layer, head = default_head(trace, side, chosen)
        return min(layer, trace.layers(side) - 1), head


_FULL = ("embeddings", "attention-steps", "residuals", "feed-forward", "lens", "softmax")


def _has_encoding(trace: Trace) -> bool:
    kind = trace.model.positions
    return kind not in ("none", "relative") and (kind != "learned" or trace.level == "full")


def _section(words: Words, drawings: list[Drawing], trace: Trace) -> str:
    """Return a section: what happens here, and its pictures."""
    said = told(words, trace.model)
    if words.left_out and not drawings:
        said += f" {words.left_out}"
    more = _tokens_of(trace) if words.anchor == "words" else ""
    pictures = "".join(map(figure, drawings))
    return (
        f'<section id="{words.anchor}" aria-labelledby="{words.anchor}-title">'
        f'<h2 id="{words.anchor}-title">{_escaped(words.title)}</h2>\n'
        f'<p>{_escaped(said)}</p>\n{more}<div class="figures">{pictures}</div></section>\n'
    )


def _tokens_of(trace: Trace) -> str:
    """Return the tokens of both sides as chips, each with its id."""
    rows = []
    for name, tokens in (("source", trace.source_tokens), ("target", trace.target_tokens)):
        chips = "".join(
            f'<li title="token {token.id}">{_escaped(label)}</li>'
            for label, token in zip(token_labels(tokens), tokens, strict=True)
        )
        rows.append(
            f'<p class="muted">{name}, {len(tokens)} tokens</p><ol class="chips">{chips}</ol>'
        )
    return "\n".join(rows) + "\n"


def _summary(trace: Trace) -> str:
    """Return the sentence, its translation, and what one should know of them."""
    found = detect_hallucination(trace)
    facts: list[tuple[str, str]] = [
        ("source", trace.source),
        ("translation" if trace.origin == "search" else "given translation", trace.translation),
        ("log P, score", f"{trace.log_prob:.4f}, {trace.score:.4f}".replace("-", "−")),
        ("mean probability of a token", f"{found.probability:.3f}"),
        ("least sure at", _least(trace, found.least_step)),
        ("model", f"{trace.model_name}, {_network(trace)}"),
        ("search", _search(trace)),
        ("model hash", trace.model_hash),
    ]
    rows = "".join(f"<dt>{_escaped(name)}</dt><dd>{_escaped(value)}</dd>" for name, value in facts)
    warnings = "".join(f"<li>{_escaped(words)}</li>" for words in found.warnings)
    doubt = f'<ul class="doubt">{warnings}</ul>' if warnings else ""
    return f'<section class="facts"><dl>{rows}</dl>{doubt}</section>\n'


def _least(trace: Trace, step: int) -> str:
    chosen = trace.steps[step]
    label = piece_label(chosen.token.piece, spaced(trace))
    return f"step {step}, “{label}” with {math.exp(chosen.log_prob):.3f}"


def _network(trace: Trace) -> str:
    config = trace.model
    return (
        f"{config.encoder_layers} + {config.decoder_layers} layers, {config.heads} heads, d_model "
        f"{config.d_model}, {config.norm}-norm, {config.positions} positions"
    )


def _search(trace: Trace) -> str:
    if trace.origin == "given":
        return "none: the translation was given"
    search = trace.search
    if search.method in ("beam", "diverse"):
        return f"{search.method}, {search.beam} wide, length penalty α = {search.length_penalty:g}"
    return search.method
