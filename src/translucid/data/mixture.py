"""Several data folders to train on together, with weights: ``own-data general-data@0.2``.

They must have the same tokenizer, the same language tags and text that was normalised alike, as
folders that were prepared with ``--tokenizer-from`` have. Languages may differ from folder to
folder. The first folder is the one that matters: its dev set is validated on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from translucid.data.manifest import Manifest
from translucid.data.readers.arguments import split_weight
from translucid.data.shards import PreparedData, open_data
from translucid.errors import InputError

DataFolder = PreparedData | str | Path  # a str may end in a weight: "data@0.2"


@dataclass(frozen=True)
class Mixture(PreparedData):
    """Data folders that are trained on together, each with its weight.

    `folder` and `manifest` are those of the first. A pair comes as often per epoch as the weight of
    its folder times that of its corpus says.
    """

    weighted: tuple[tuple[PreparedData, float], ...]

    @property
    def parts(self) -> tuple[tuple[PreparedData, float], ...]:
        """The folders and their weights."""
        return self.weighted


def open_mixture(data: DataFolder | Sequence[DataFolder]) -> PreparedData:
    """Open one data folder or several; InputError says why these cannot be trained on together."""
    given = [data] if isinstance(data, PreparedData | str | Path) else list(data)
    if not given:
        raise InputError("no data to train on: give at least one folder")
    return mix(part for one in given for part in _open(one))


def mix(folders: Iterable[tuple[PreparedData, float]]) -> PreparedData:
    """Return data folders and their weights as data to train on; refuse those that do not fit."""
    parts = tuple(folders)
    first = parts[0][0]
    if len(parts) == 1 and parts[0][1] == 1:
        return first
    places = [part.folder.resolve() for part, _ in parts]
    if twice := [place for place in places if places.count(place) > 1]:
        raise InputError(f"{twice[0]} is given twice: give it once, and a weight ({twice[0]}@2)")
    for other, _ in parts[1:]:
        if faults := list(_find_differences(first.manifest, other.manifest)):
            raise InputError(
                f"{first.folder} and {other.folder} cannot be trained on together:\n"
                + "\n".join(f"  - {fault}" for fault in faults)
                + f"\n  Prepare the second again with --tokenizer-from {first.folder}, and the "
                "same settings of normalisation and tags."
            )
    return Mixture(first.folder, first.manifest, parts)


def fingerprint_data(data: PreparedData) -> str:
    """Return what tells prepared data from any other: the SHA-256 of its manifest.

    The manifest has the tokenizer's fingerprint, and pairs, tokens and bytes of every split. Of
    several folders, it is that of their fingerprints and weights.
    """
    each = [
        (hashlib.sha256(part.manifest.to_json().encode()).hexdigest(), weight)
        for part, weight in data.parts
    ]
    if len(each) == 1 and each[0][1] == 1:
        return each[0][0]
    return hashlib.sha256(json.dumps(each).encode()).hexdigest()


def _open(one: DataFolder) -> Sequence[tuple[PreparedData, float]]:
    if isinstance(one, PreparedData):
        return one.parts
    name, weight = split_weight(str(one))
    return [(open_data(name), 1.0 if weight is None else weight)]


def _find_differences(first: Manifest, other: Manifest) -> Iterator[str]:
    """Yield why folders with these manifests cannot share a network."""
    one, two = first.tokenizer, other.tokenizer
    if one.fingerprint != two.fingerprint:
        yield (
            f"the tokenizers differ: {one.kind} of {one.vocab_size:,} pieces, fingerprint "
            f"{one.fingerprint[:12]}, and {two.kind} of {two.vocab_size:,}, {two.fingerprint[:12]}"
        )
    elif one.sizes != two.sizes:
        yield f"targets have {one.sizes[1]:,} pieces in the first, {two.sizes[1]:,} in the second"
    if first.tagged != other.tagged:
        yield "one of them has language tags and the other has none"
    for name in ("lowercase", "plain_typography"):
        if getattr(first, name) != getattr(other, name):
            yield (
                f"{name} is {getattr(first, name)} for the first and {getattr(other, name)} for "
                "the second"
            )
    if not first.tagged:
        targets = {target for _, target in (*first.directions, *other.directions)}
        if len(targets) > 1:
            listed = ", ".join(sorted(targets))
            yield f"without tags a network writes one language, and these have {listed}"
        return
    for language in sorted(first.languages.keys() & other.languages.keys()):
        if first.languages[language] != other.languages[language]:
            yield (
                f"{language!r} has tag {first.languages[language]} in the first and "
                f"{other.languages[language]} in the second"
            )
    for language, slot in other.languages.items():
        same = [known for known, s in first.languages.items() if s == slot and known != language]
        if same and language not in first.languages:
            yield f"tag {slot} means {same[0]!r} in the first and {language!r} in the second"
