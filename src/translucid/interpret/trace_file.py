"""A trace as one safetensors file, with everything but the tensors as JSON in its header.

::

    8 bytes     length of the header
    header      JSON: {"__metadata__": {"translucid_trace": "…", "sha256": that of it and of all
                tensors}, name → type, shape, offsets, …}
    tensors     float32, little-endian, in the order of the network

Any reader of safetensors can open it. Nothing in it is ever executed. A file of version 2 has no
`patching`. One of version 1 has neither `pieces` nor `prefix_length`: no prefix was forced, and the
pieces are taken from its tokens and steps and, given the model, from its search tree.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open
from torch import Tensor

from translucid.config import ModelConfig
from translucid.decoding.config import SearchConfig
from translucid.decoding.tree import Node, SearchTree
from translucid.errors import DataError, InputError
from translucid.files import new_file
from translucid.interpret.cache_usage import CacheStep, CacheUsage
from translucid.interpret.network import model_hash
from translucid.interpret.patching import Patching
from translucid.interpret.trace import (
    FLOAT_BYTES,
    VERSION,
    FrozenTensors,
    Level,
    Shape,
    Step,
    TopToken,
    Trace,
    TraceToken,
    tensor_shapes,
)
from translucid.translator.translation import Flags

if TYPE_CHECKING:
    from translucid.translator import Translator

KEY, DIGEST = "translucid_trace", "sha256"
_AGAIN = "Make the trace again with `translucid explain`."


def save_trace(path: Path, trace: Trace) -> None:
    """Write a trace as its file name asks: .json, .html, else safetensors; pictures are refused."""
    if path.suffix.lower() in (".svg", ".png", ".pdf"):
        raise InputError(
            f"{path}: a trace is saved as .html, .json or .safetensors. For one picture of it, use "
            "`translucid explain --panel NAME` or the functions of translucid.interpret.figures"
        )
    if path.suffix.lower() == ".json":
        _write(path, json.dumps(trace.to_json(), ensure_ascii=False, indent=2) + "\n")
    elif path.suffix.lower() == ".html":
        from translucid.interpret.page import write_page

        write_page(path, trace)
    else:
        write_trace(path, trace)


def _write(path: Path, text: str) -> None:
    with new_file(path) as file:
        file.write(text.encode())


def write_trace(path: Path, trace: Trace) -> None:
    """Write a trace as safetensors, tensor by tensor, replacing an older file atomically."""
    with new_file(path) as file:
        for part in file_parts(trace):
            file.write(part)


def file_parts(trace: Trace) -> Iterator[bytes | memoryview]:
    """Yield the content of a trace's file: the header, then each tensor."""
    yield _header(trace, _digest(_describe(trace), trace.tensors))
    yield from map(trace.tensors.data, trace.tensors)


def file_bytes(trace: Trace) -> int:
    """Return the size of a trace's file."""
    return len(_header(trace, "0" * 64)) + trace.bytes


def _describe(trace: Trace) -> str:
    return json.dumps(trace.to_json(), ensure_ascii=False, separators=(",", ":"))


def _digest(description: str, tensors: FrozenTensors) -> str:
    """Return the SHA-256 of a description and of tensors with their names."""
    digest = hashlib.sha256(description.encode())
    for name in tensors:
        digest.update(name.encode())
        digest.update(tensors.data(name))
    return digest.hexdigest()


def _header(trace: Trace, digest: str) -> bytes:
    entries: dict[str, Any] = {"__metadata__": {KEY: _describe(trace), DIGEST: digest}}
    offset = 0
    for name, shape in trace.tensors.shapes.items():
        end = offset + FLOAT_BYTES * math.prod(shape)
        entries[name] = {"dtype": "F32", "shape": [*shape], "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # to align the tensors
    return len(text).to_bytes(8, "little") + text


def read_trace(path: Path, model: Translator | None) -> Trace:
    """Read a trace; given a model, refuse the trace of another one."""
    if not path.is_file():
        raise DataError(path, "there is no such file", remedy="Give a file made by `explain`.")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            facts = _facts(path, metadata)
            _check_version(path, facts)
            if model is not None:
                _check_model(path, facts, model)
            tensors = _tensors(file)
    except SafetensorError as error:
        problem = f"it is truncated, damaged or no trace at all ({error})"
        raise DataError(path, problem, remedy=_AGAIN) from error
    try:
        trace = _trace(_upgrade(facts, model), tensors)
        shapes = _expected(trace)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"its description does not make a trace: {type(error).__name__} {error}"
        raise DataError(path, problem, remedy=_AGAIN) from error
    _check_tensors(path, shapes, tensors)
    ordered = FrozenTensors({name: tensors[name] for name in shapes})
    # Earlier versions wrote none.
    if metadata.get(DIGEST, digest := _digest(metadata[KEY], ordered)) != digest:
        problem = "its content was changed after it was written: its SHA-256 is another one"
        raise DataError(path, problem, remedy=_AGAIN)
    return replace(trace, tensors=ordered)


def _facts(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the description of the trace in the header."""
    if not {KEY} <= metadata.keys() <= {KEY, DIGEST}:
        raise DataError(path, "these are tensors, but not those of a trace", remedy=_AGAIN)
    try:
        facts = json.loads(metadata[KEY])
    except ValueError as error:
        raise DataError(
            path, f"its description is not valid JSON: {error}", remedy=_AGAIN
        ) from error
    if not isinstance(facts, dict) or not isinstance(facts.get("version"), int):
        raise DataError(path, "its description names no version", remedy=_AGAIN)
    return facts


def _check_version(path: Path, facts: Mapping[str, Any]) -> None:
    version = facts["version"]
    if not 1 <= version <= VERSION:
        raise DataError(
            path,
            f"it is a trace of version {version}, and this Translucid reads up to {VERSION}",
            remedy="Update Translucid, or make the trace again with this one.",
        )


def _check_model(path: Path, facts: Mapping[str, Any], model: Translator) -> None:
    made, given = facts.get("model_hash"), model_hash(model)
    if made != given:
        raise DataError(
            path,
            f"another model made it: {facts.get('model_name')!r} with the hash {str(made)[:12]}, "
            f"not {model.name!r} with {given[:12]}",
            remedy="Load it with the model that made it, or without one; or make it again.",
        )


def _tensors(file: Any) -> dict[str, Tensor]:
    """Return copies of the tensors, independent of the file."""
    return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118


def _expected(trace: Trace) -> dict[str, Shape]:
    """Return the shapes that the tensors of this trace must have."""
    sizes = len(trace.source_tokens), len(trace.target_tokens)
    return tensor_shapes(trace.model, *sizes, trace.level)


def _check_tensors(
    path: Path, expected: Mapping[str, Shape], tensors: Mapping[str, Tensor]
) -> None:
    """Refuse tensors with other names or shapes than expected."""
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    wrong = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    if wrong:
        raise DataError(
            path,
            f"tensors are missing, too many or of other shapes: {wrong[0]} is "
            f"{found.get(wrong[0], 'missing')} instead of {expected.get(wrong[0], 'absent')}"
            + (f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""),
            remedy=_AGAIN,
        )


def _upgrade(facts: Mapping[str, Any], model: Translator | None) -> Mapping[str, Any]:
    """Convert the description to the newest version."""
    if facts["version"] == VERSION:
        return facts
    if facts["version"] == 2:
        return {**facts, "version": VERSION, "patching": None}
    tokens = [*facts["source_tokens"], *facts["target_tokens"]]
    for step in facts["steps"]:
        tokens += [step["token"], *step["top"]]
    pieces = {token["id"]: token["piece"] for token in tokens}
    if model is not None and facts["tree"] is not None:
        ids = {node["token"] for node in facts["tree"]["nodes"]}
        pieces |= {token: model.tokenizer.piece(token) for token in ids}
    return {**facts, "version": VERSION, "prefix_length": 0, "pieces": pieces, "patching": None}


def _trace(facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Trace:
    """Build the trace from its description."""
    tree = facts["tree"]
    if facts["level"] not in get_args(Level) or len(facts["steps"]) != len(facts["target_tokens"]):
        raise ValueError("invalid level or number of steps")
    heads = tuple((layer, head) for layer, head in facts["alignment_heads"])
    return Trace(
        **{
            **facts,
            "model": ModelConfig(**ModelConfig.upgrade(facts["model"])),
            "search": SearchConfig(**SearchConfig.upgrade(facts["search"])),
            "source_tokens": tuple(TraceToken(**token) for token in facts["source_tokens"]),
            "target_tokens": tuple(TraceToken(**token) for token in facts["target_tokens"]),
            "steps": tuple(map(_step, facts["steps"])),
            "tree": None if tree is None else _tree(tree),
            "flags": Flags(**facts["flags"]),
            "alignment_heads": heads,
            "cache": _cache(facts["cache"]),
            "pieces": {int(token): piece for token, piece in facts["pieces"].items()},
            "patching": TypeAdapter(Patching | None).validate_python(facts["patching"]),
            "tensors": FrozenTensors(tensors),
        }
    )


def _step(facts: Mapping[str, Any]) -> Step:
    top = tuple(TopToken(**token) for token in facts["top"])
    return Step(**{**facts, "token": TraceToken(**facts["token"]), "top": top})


def _tree(facts: Mapping[str, Any]) -> SearchTree:
    nodes = tuple(Node(**node) for node in facts["nodes"])
    results = tuple(facts["results"])
    if not all(node.parent is None or node.parent < at for at, node in enumerate(nodes)) or not all(
        0 <= result < len(nodes) for result in results
    ):
        raise ValueError("its search tree is invalid")
    return SearchTree(nodes, results, facts["stopped"])


def _cache(facts: Mapping[str, Any]) -> CacheUsage:
    steps = tuple(CacheStep(**step) for step in facts["steps"])
    return CacheUsage(**{**facts, "steps": steps})
