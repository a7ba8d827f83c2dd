"""What is evaluated: a model and how it searches, or translations that were made elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from translucid.built_in import built_in, built_in_name, built_in_names
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError
from translucid.evaluation.reference_set import ReferenceSet, describe_file, read_aligned, stem
from translucid.events import Emit, Notice, Progress
from translucid.text.normalization import join_lines
from translucid.translator import Reranker, Translation, Translator, load
from translucid.translator.loading import fingerprint
from translucid.translator.translation import Flags

TRANSLATIONS = "translations.txt"  # in the folder of an evaluation
_PAIRS_AT_A_TIME = 2048  # between two events while references are scored


@dataclass(frozen=True)
class Likelihood:
    """How probable a model finds the references.

    `perplexity` is per token of the model's vocabulary, including the end symbol; models with
    different vocabularies can only be compared by `bits_per_character`. Pairs with a blank side are
    left out, and those too long to be scored at once.
    """

    log_prob: float
    tokens: int
    characters: int
    pairs: int

    @property
    def perplexity(self) -> float:
        """The exponential of the mean loss per token."""
        return math.exp(min(-self.log_prob / self.tokens, 700.0))  # beyond it a float overflows

    @property
    def bits_per_character(self) -> float:
        """The loss in bits per character of the references, the end of a line counted as one."""
        return -self.log_prob / math.log(2) / self.characters


@dataclass(frozen=True)
class Outputs:
    """Translations in the order of the sources, and what is known of each.

    `confidences` are `calibrated` where the model can tell how probable it is that a translation is
    acceptable; otherwise they are the geometric mean of the probabilities of its tokens. `seconds`
    is the time of translating.
    """

    texts: tuple[str, ...]
    confidences: tuple[float | None, ...]
    flags: tuple[Flags, ...]
    likelihood: Likelihood | None
    calibrated: bool = False
    seconds: float | None = None


def given_outputs(texts: Sequence[str]) -> Outputs:
    """Take translations of which only the text is known."""
    return Outputs(tuple(texts), (None,) * len(texts), (Flags(),) * len(texts), likelihood=None)


def model_outputs(
    translations: Sequence[Translation],
    likelihood: Likelihood | None,
    seconds: float | None = None,
) -> Outputs:
    """Take the translations of a model."""
    calibrated = any(translation.confidence is not None for translation in translations)
    return Outputs(
        texts=tuple(join_lines(translation.text) for translation in translations),
        confidences=tuple(
            translation.confidence if calibrated else _mean_probability(translation)
            for translation in translations
        ),
        flags=tuple(translation.flags for translation in translations),
        likelihood=likelihood,
        calibrated=calibrated,
        seconds=seconds,
    )


def _mean_probability(translation: Translation) -> float | None:
    best = translation.n_best[0]
    return math.exp(best.log_prob / best.length) if best.tokens else None


@dataclass(frozen=True)
class System:
    """A system by its name: given translations, a file of them, or a model that translates.

    Without `search`, a model searches as its directory says. With `rerank`, a model of the
    other direction reranks its hypotheses.
    """

    name: str
    texts: tuple[str, ...] | None = None
    file: Path | None = None
    model: Translator | None = None
    search: SearchConfig | None = None
    rerank: Reranker | None = None

    @classmethod
    def from_file(cls, path: Path) -> System:
        """Return the system of a file of translations, one per line."""
        return cls(stem(path), file=path)

    @classmethod
    def from_model(
        cls,
        model: Translator,
        search: SearchConfig | None = None,
        rerank: Reranker | None = None,
    ) -> System:
        """Return the system of a model, under its own name."""
        return cls(model.name, model=model, search=search, rerank=rerank)

    def translate(
        self, test: ReferenceSet, target: str | None, batch_size: int, on_event: Emit
    ) -> Outputs:
        """Return the translations of a test set, which a model has yet to make."""
        if self.model is None:
            return given_outputs(self._read(test))
        begin = time.perf_counter()
        translations = self.model.translate(
            test.sources,
            target=self.model.target_language(target),
            search=self.search,
            rerank=self.rerank,
            batch_size=batch_size,
            on_event=on_event,
        )
        return model_outputs(translations, None, round(time.perf_counter() - begin, 3))

    def _read(self, test: ReferenceSet) -> tuple[str, ...]:
        if self.file is not None:
            source = test.origin.get("source", {}).get("path", test.name)
            return read_aligned(self.file, source, len(test))
        if self.texts is None:
            raise InputError(f"{self.name} has neither translations nor a model: give one of them")
        if len(self.texts) != len(test):
            raise InputError(
                f"{self.name} has {len(self.texts):,} translations of {len(test):,} sentences: "
                "there must be one for each"
            )
        return self.texts

    def describe(self, source: str | None, target: str | None) -> dict[str, Any]:
        """Return what is needed to get the same translations again."""
        if self.model is None:
            made = {} if self.file is None else {"translations": describe_file(self.file)}
            return {"name": self.name, **made}
        direction = (source, self.model.target_language(target))
        search = self.search or self.model.default_search
        facts: dict[str, Any] = {
            "name": self.name,
            **_describe_model(self.model),
            "direction": "→".join(filter(None, direction)),
            "search": search.model_dump(mode="json"),
        }
        if self.rerank is not None:
            weight = {"weight": self.rerank.weight}
            facts["rerank"] = {**_describe_model(self.rerank.model), **weight}
        return facts


def _describe_model(model: Translator) -> dict[str, Any]:
    """Return the directories of a model and the hash of their files; else only its name."""
    if not model.folders:
        return {"models": [model.name]}
    return {
        "models": [built_in_name(folder) or str(folder) for folder in model.folders],
        "fingerprint": fingerprint(model.folders),
    }


def load_systems(
    paths: Sequence[Path],
    make_search: Callable[[Translator], SearchConfig] | None = None,
    rerank: Reranker | None = None,
) -> list[System]:
    """Load systems: model directories, built-in models, files of translations, evaluations.

    They are named after their models or files, and where these are the same, by as much of the
    paths as is needed. `make_search` returns the search of a model.
    """
    if missing := [path for path in paths if not (path.exists() or built_in(str(path)))]:
        raise InputError(
            f"{missing[0]} does not exist: give model directories, built-in models "
            f"({', '.join(built_in_names())}), folders of evaluations or files of translations"
        )
    loaded: list[tuple[str, Path | None, Translator | None]] = []
    for path in paths:
        file = path / TRANSLATIONS if path.is_dir() else path
        if file.is_file():
            loaded.append((stem(path), file, None))
        else:
            model = load(path)
            loaded.append((model.name, None, model))
    names = _distinguish([name for name, _, _ in loaded], paths)
    return [
        System(
            name,
            file=file,
            model=model,
            search=None if model is None or make_search is None else make_search(model),
            rerank=None if model is None else rerank,
        )
        for name, (_, file, model) in zip(names, loaded, strict=True)
    ]


def _distinguish(names: list[str], paths: Sequence[Path]) -> list[str]:
    """Replace names that are not distinct by the last parts of the paths."""
    parts = 2
    while len(set(names)) < len(names) and parts <= max(len(path.parts) for path in paths):
        names = [str(Path(*path.parts[-parts:])) for path in paths]
        parts += 1
    return names


# ---- the probability of the references ----------------------------------------------------------


def reference_likelihood(
    model: Translator, test: ReferenceSet, target: str | None, batch_size: int, emit: Emit
) -> Likelihood | None:
    """Measure the probability of the first references, or None where no pair can be scored."""
    pairs = _scorable_pairs(model, test, target, emit)
    log_probs: list[float] = []
    tokens = 0
    for begin in range(0, len(pairs), _PAIRS_AT_A_TIME):
        emit(Progress("scoring references", begin, len(pairs), "pairs"))
        sources, targets = zip(*pairs[begin : begin + _PAIRS_AT_A_TIME], strict=True)
        scored = model.score(sources, targets, target=target, batch_size=batch_size)
        log_probs += [one.log_prob for one in scored]
        tokens += sum(len(one.log_probs) for one in scored)
    emit(Progress("scoring references", len(pairs), len(pairs), "pairs"))
    if not pairs:
        return None
    characters = sum(len(reference) + 1 for _, reference in pairs)
    return Likelihood(math.fsum(log_probs), tokens, characters, len(pairs))


def _scorable_pairs(
    model: Translator, test: ReferenceSet, target: str | None, emit: Emit
) -> list[tuple[str, str]]:
    """Return the pairs without a blank side; leave out those that are too long, with a notice.

    Their translations were made in parts, and references are not divided.
    """
    pairs = [
        (source, reference)
        for source, reference in zip(test.sources, test.references[0], strict=True)
        if source.strip() and reference.strip()
    ]
    short = [pair for pair in pairs if model.can_score(*pair, target=target)]
    if too_long := len(pairs) - len(short):
        plural = "" if too_long == 1 else "s"
        emit(
            Notice(f"perplexity leaves out {too_long:,} pair{plural} too long to be scored at once")
        )
    return short
