"""The explorer page with a trace inside: one HTML file that opens from disk, without a server.

It is the page that `translucid serve` shows, as `web/` builds it into `serving/static`, with its
script and its style sheet inlined and two elements that hold what the server would have answered::

    <script type="application/json" id="saved">             the trace, lenses, vocabulary, …
    <script type="application/octet-stream" id="numbers">   base64 of gzip of float32 numbers

Its policy forbids every request and every script but its own. What needs the network (another
sentence, heads switched off) says on the page that it needs a server.

The file is kept small: beyond `MAX_NUMBERS` bytes, groups of tensors are left out, the least
important first, and the page says which.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic_core import to_json
from torch import Tensor

from translucid.checkpoint.run_directory import RunDirectory
from translucid.config import ModelConfig
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.events import Emit, silent
from translucid.files import new_file
from translucid.interpret.explain import explain
from translucid.interpret.film import Frame, choose_evenly
from translucid.interpret.lens import decoder_lens, logit_lens
from translucid.interpret.network import SIDES, AttentionHead, single_network
from translucid.interpret.trace import FLOAT_BYTES, Trace
from translucid.interpret.trace_json import (
    network_names,
    network_tensor,
    summary_names,
    summary_tensor,
    trace_json,
)
from translucid.translator import Translator

STATIC = Path(__file__).parents[1] / "serving" / "static"
MAX_EVENTS = 2000  # training steps of a run that a page has
MAX_NUMBERS = 4_000_000  # bytes of tensors, before they are compressed and written as text

# Groups of tensors by how their names end, the most important first. Attention is always there.
_GROUPS: tuple[tuple[str, str], ...] = (
    ("embeddings", r"(source|target)\.(embedding|positions|sum)|decoder\.states"),
    ("queries, keys, values and scores", r".*\.(q|k|v|raw_scores|scaled_scores|mask|heads)"),
    ("logits", "logits"),
    ("what each part adds to a logit", "contributions"),
    ("states as points", r"space\..*"),
    ("weights of the norms", r"weights\..*\bnorm\.(weight|bias)"),
    ("the residual stream", r".*\.(residual_before|residual_after|output)|memory"),
    ("feed-forward activations", r".*\.feed_forward\.inner"),
    ("log-probabilities of the whole vocabulary", "log_probs"),
    ("feed-forward weights", r"weights\..*\.feed_forward\..*"),
)


@dataclass(frozen=True)
class SavedPage:
    """The text of an HTML file, and the groups of numbers that were too large for it."""

    html: str
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class SavedRun:
    """A training run as the page shows it: its description, its events and frames of a film."""

    description: Mapping[str, Any]
    events: Sequence[Mapping[str, Any]]
    frames: Sequence[Frame]

    @classmethod
    def read(
        cls, run: RunDirectory, frames: Sequence[Frame], directions: Sequence[tuple[str, str]]
    ) -> SavedRun:
        """Read a run; very many training steps are sampled evenly."""
        record = run.read_record()
        lines = run.metrics.path.read_text(encoding="utf-8").splitlines()
        events = [json.loads(line, parse_constant=lambda _: None) for line in lines]
        steps = [at for at, event in enumerate(events) if event.get("event") == "trained"]
        left_out = {*steps}.difference(choose_evenly(steps, MAX_EVENTS))
        description = {
            "name": run.name,
            "state": "finished",
            "step": max((event.get("step", 0) for event in events), default=0),
            "max_steps": record.training["max_steps"],
            "directions": [list(pair) for pair in directions],
            "started": None,
            "settings": {"model": record.model.model_dump(), "training": dict(record.training)},
        }
        shown = [event for at, event in enumerate(events) if at not in left_out]
        return cls(description, shown, frames)


def saved_page(
    trace: Trace,
    *,
    translator: Translator | None = None,
    target: str = "",
    without: Sequence[AttentionHead] = (),
    run: SavedRun | None = None,
    address: str = "",
    on_event: Emit = silent,
) -> SavedPage:
    """Return the explorer with a trace inside.

    With the `translator` that made the trace (its `without` heads already switched off) the page
    has both lenses, the whole vocabulary, and the other search beside: greedy beside a beam.
    `target` is the language of the translation. `address` is the part of the page's address after
    `#`, where it opens. `on_event` gets every step of the lenses and the other search.
    """
    tensors, left_out = _choose_tensors(trace, () if run is None else run.frames, translator)
    body = trace_json(trace, key=None, target=target, without=without)
    known = {name: list(tensor.shape) for name, tensor in tensors.items()}
    content: dict[str, Any] = {
        "version": metadata.version("translucid"),
        "address": address or "#/explore/map",
        "trace": {
            **body,
            "tensors": {name: known[name] for name in known if name in trace.tensors},
        },
        "model": _model_json(trace, translator, target),
        "other": None,
        "lens": None,
        "vocabulary": None,
        "run": None if run is None else _run_json(run),
        "tensors": known,
        "left_out": left_out,
    }
    if translator is not None:
        content["other"] = _other_search(trace, translator, target, without, on_event)
        content["vocabulary"] = _pieces(translator)
        if trace.level == "full":
            content["lens"] = lens_json(translator, trace, on_event=on_event)
    return SavedPage(_assemble(to_json(content).decode(), _pack(tensors.values())), left_out)


def write_page(path: Path, trace: Trace) -> None:
    """Write the page of a trace under a name, replacing an older file at once."""
    with new_file(path) as file:
        file.write(saved_page(trace).html.encode())


def notebook(trace: Trace) -> str:
    """Return the page in its own frame, so that a notebook keeps its style."""
    inside = html.escape(saved_page(trace).html, quote=True)
    return (
        f'<iframe srcdoc="{inside}" sandbox="allow-scripts" title="Inside one translation" '
        'style="width:100%;height:720px;border:1px solid #8888;border-radius:6px"></iframe>'
    )


def lens_json(translator: Translator, trace: Trace, *, on_event: Emit = silent) -> dict[str, Any]:
    """Return what both lenses read in a full trace, as the page reads it."""
    return {
        "logit": logit_lens(translator, trace).layers,
        "decoder": decoder_lens(translator, trace, on_event=on_event),
    }


def _other_search(
    trace: Trace,
    translator: Translator,
    target: str,
    without: Sequence[AttentionHead],
    emit: Emit,
) -> dict[str, Any] | None:
    """Return a light trace of the search that this one is not; None where nothing was searched."""
    if trace.origin == "given":
        return None
    beam = translator.default_search.beam if translator.default_search.method == "beam" else 4
    search = SearchConfig(
        method="beam" if trace.search.method == "greedy" else "greedy",
        beam=beam,
        length_penalty=trace.search.length_penalty,
        length_form=trace.search.length_form,
    )
    other = explain(
        translator,
        trace.source,
        target=target or None,
        search=search,
        level="light",
        prefix=trace.prefix,
        force=True,
        on_event=emit,
    )
    return trace_json(other, key=None, target=target, without=without)


def _model_json(trace: Trace, translator: Translator | None, target: str) -> dict[str, Any]:
    """Return the model as a list of models describes it, with the directions of this page."""
    directions = [] if translator is None else [list(pair) for pair in translator.directions]
    directions = [pair for pair in directions if target in ("", pair[1])]
    search = trace.search if translator is None else translator.default_search
    return {
        "name": trace.model_name,
        "default": True,
        "directions": directions,
        "targets": list(dict.fromkeys(target for _, target in directions)),
        "detects": False,
        "vocabulary": trace.model.target_vocab_size,
        "hash": trace.model_hash,
        "config": trace.model.model_dump(),
        "search": search.model_dump(),
        "alignment_heads": trace.alignment_heads,
    }


def _pieces(translator: Translator) -> list[str]:
    tokenizer = translator.tokenizer
    return [tokenizer.piece(token) for token in range(tokenizer.vocab_size)]


def _run_json(run: SavedRun) -> dict[str, Any]:
    last = run.frames[-1].trace if run.frames else None
    return {
        "run": run.description,
        "events": run.events,
        "source_tokens": [] if last is None else [token.piece for token in last.source_tokens],
        "target_tokens": [] if last is None else [token.piece for token in last.target_tokens],
        "frames": [
            {"step": frame.step, "translation": frame.translation, "log_prob": frame.log_prob}
            for frame in run.frames
        ],
    }


def _choose_tensors(
    trace: Trace, frames: Sequence[Frame], translator: Translator | None
) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """Return the tensors of the page in the order of its file, and the groups left out."""
    chosen = {name: trace.tensors[name] for name in trace.tensors if name.endswith(".weights")}
    for name in summary_names(trace):
        tensor = summary_tensor(trace, name)
        assert tensor is not None
        chosen[name] = tensor
    chosen.update(_film_tensors(frames, trace.model))
    size = sum(map(_bytes, chosen.values()))
    computed = {} if translator is None else dict(_network_tensors(trace, translator))
    shapes = {**trace.tensors.shapes, **{name: one.shape for name, one in computed.items()}}
    left_out = []
    for title, pattern in _GROUPS:
        names = [name for name in shapes if name not in chosen and re.fullmatch(pattern, name)]
        more = FLOAT_BYTES * sum(math.prod(shapes[name]) for name in names)
        if size + more > MAX_NUMBERS:
            left_out.append(title)
            continue
        size += more
        chosen.update(
            (name, computed[name] if name in computed else trace.tensors[name]) for name in names
        )
    return chosen, tuple(left_out)


def _network_tensors(trace: Trace, translator: Translator) -> Iterator[tuple[str, Tensor]]:
    """Yield what a full trace and its network give together, by name."""
    if trace.level == "light":
        return
    model = single_network(translator)
    for name in network_names(model):
        tensor = network_tensor(model, trace, name)
        assert tensor is not None
        yield name, tensor


def _film_tensors(frames: Sequence[Frame], config: ModelConfig) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights of all heads at every frame: film.{frame}.{side}.{layer}."""
    for number, frame in enumerate(frames):
        for side in SIDES:
            layers = config.encoder_layers if side == "encoder" else config.decoder_layers
            for layer in range(layers):
                yield f"film.{number}.{side}.{layer}", frame.trace.attention(side, layer)


def _bytes(tensor: Tensor) -> int:
    return FLOAT_BYTES * tensor.numel()


def _pack(tensors: Iterable[Tensor]) -> str:
    """Return numbers as base64 of gzip of little-endian float32."""
    parts = (tensor.contiguous().numpy().astype("<f4", copy=False).tobytes() for tensor in tensors)
    return base64.b64encode(gzip.compress(b"".join(parts), 6, mtime=0)).decode()


@dataclass(frozen=True)
class _Template:
    """The built page around its data."""

    before: str
    after: str


@cache
def _template() -> _Template:
    """Return the built page with script, style and icon inside, and a policy that allows only them.

    Text of a page cannot end its own script: the build has no `</script` in it.
    """
    index = STATIC / "index.html"
    if not index.is_file():
        raise InputError(
            "the explorer page is not built, so no page can be saved: run `make page` in the "
            "source tree, or write .svg, .png, .pdf, .json or .safetensors"
        )
    page = index.read_text(encoding="utf-8")
    script_tag = re.search(r'<script type="module"[^>]* src="\./([^"]+)"></script>', page)
    style_tag = re.search(r'<link rel="stylesheet"[^>]* href="\./([^"]+)">', page)
    icon_tag = re.search(r'<link rel="icon" href="\./([^"]+)"[^>]*>', page)
    assert script_tag is not None
    assert style_tag is not None
    assert icon_tag is not None
    script, style, icon = (
        (STATIC / found[1]).read_text(encoding="utf-8")
        for found in (script_tag, style_tag, icon_tag)
    )
    assert "</script" not in script
    assert "<!--" not in script
    assert "</style" not in style
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    packed = base64.b64encode(icon.encode()).decode()
    page = page.replace(icon_tag[0], f'<link rel="icon" href="data:image/svg+xml;base64,{packed}">')
    page = page.replace(
        '<meta charset="utf-8" />',
        '<meta charset="utf-8" />\n'
        f'    <meta http-equiv="Content-Security-Policy" content="{policy}" />',
    )
    page = page.replace(style_tag[0], f"<style>{style}</style>")
    page = page.replace(script_tag[0], f'<script type="module">{script}</script>')
    page = re.sub(r"<noscript>.*?</noscript>", "<noscript>It needs JavaScript.</noscript>", page)
    before, found, after = page.rpartition("</body>")
    assert found
    return _Template(before, found + after)


def _hash(content: str) -> str:
    """Return what a policy calls an inline script or style by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _assemble(content: str, numbers: str) -> str:
    """Return the whole file; no text of the user's can end its element, as it has no `<`."""
    safe = content.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    template = _template()
    return (
        f"{template.before}"
        f'<script type="application/json" id="saved">{safe}</script>\n'
        f'<script type="application/octet-stream" id="numbers">{numbers}</script>\n'
        f"{template.after}"
    )
