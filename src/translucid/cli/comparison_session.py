"""One comparison from the sentences to the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

from translucid.built_in import built_in, built_in_names
from translucid.cli.evaluation_material import (
    Languages,
    Place,
    Translating,
    folder_name,
    languages_of,
)
from translucid.cli.evaluation_recipe import file_facts, in_words, model_facts, recipe
from translucid.cli.model_choice import loaded
from translucid.cli.progress import shown, stderr_console
from translucid.cli.score_table import print_comparison, stdout_console
from translucid.errors import InputError
from translucid.evaluation.compare import Comparison, System, check, compare
from translucid.evaluation.evaluate import Scoring
from translucid.evaluation.reference_set import ReferenceSet, read_aligned, stem
from translucid.evaluation.report import Reported, comparison_html
from translucid.evaluation.results import (
    REPORT,
    SCORES,
    SETTINGS,
    TRANSLATIONS,
    check_place,
    comparison_json,
    in_json,
    in_lines,
    save,
)
from translucid.events import Emit
from translucid.translator import Translator


@dataclass(frozen=True)
class Significance:
    """BLEU's tokenizer (None: the language's), and how often the tests draw."""

    tokenizer: str | None
    resamples: int
    trials: int


@dataclass(frozen=True)
class ComparisonSession:
    """What is compared: models (folders) and files of translations."""

    place: Place
    paths: tuple[Path, ...]
    source_lang: str | None
    target_lang: str | None
    translating: Translating
    threads: int | None

    def run(
        self, wanted: Significance, output: Path | None, sentences: int, *, as_json: bool
    ) -> None:
        """Compare, save if asked to, and print what was found."""
        languages = self._languages()
        if not self._translators:
            self.translating.refuse_for_files()
        given = self.place.sentences(languages)
        if output is not None:
            check_place(output)
        scoring = Scoring(
            languages.source, languages.target, wanted.tokenizer, False, wanted.resamples
        )
        check(self._names(), scoring, wanted.trials)
        with shown(stderr_console()) as emit:
            systems = self._systems(given, languages, emit)
            found = compare(systems, given, scoring, wanted.trials, emit)
        facts = recipe(self._facts(languages), self.place.facts(), scoring, trials=wanted.trials)
        if output is not None:
            reported = Reported(scoring, in_words(facts), sentences)
            save(output, _result_files(found, systems, facts, reported))
        if as_json:
            typer.echo(in_json({**comparison_json(found, sentences), "settings": facts}), nl=False)
        else:
            print_comparison(stdout_console(), found)
        if output is not None:
            stderr_console().print(f"results in {output}", soft_wrap=True)

    @cached_property
    def _files(self) -> Mapping[Path, Path]:
        """The files of translations; that of an evaluation's folder is in it."""
        missing = [path for path in self.paths if not (path.exists() or built_in(str(path)))]
        if missing:
            raise InputError(
                f"{missing[0]} does not exist: give model directories, built-in models "
                f"({', '.join(built_in_names())}), folders of evaluations or files of translations"
            )
        inside = {path: path / TRANSLATIONS if path.is_dir() else path for path in self.paths}
        return {path: file for path, file in inside.items() if file.is_file()}

    @cached_property
    def _translators(self) -> Mapping[Path, Translator]:
        models = [path for path in self.paths if path not in self._files]
        return {path: loaded([path], self.threads) for path in models}

    def _languages(self) -> Languages:
        first = next(iter(self._translators.values()), None)
        return languages_of(first, self.place, self.source_lang, self.target_lang)

    def _names(self) -> list[str]:
        """Name systems by their models, folders or files, or as much of the paths as is needed."""
        models = self._translators
        names = [models[path].name if path in models else stem(path) for path in self.paths]
        parts = 2
        while len(set(names)) < len(names) and parts <= max(len(p.parts) for p in self.paths):
            names = [str(Path(*path.parts[-parts:])) for path in self.paths]
            parts += 1
        return names

    def _systems(self, given: ReferenceSet, languages: Languages, emit: Emit) -> list[System]:
        return [
            System(name, self._texts(path, given, languages, emit))
            for name, path in zip(self._names(), self.paths, strict=True)
        ]

    def _texts(
        self, path: Path, given: ReferenceSet, languages: Languages, emit: Emit
    ) -> tuple[str, ...]:
        translator = self._translators.get(path)
        if translator is None:
            source = self.place.source or Path(given.name)
            return read_aligned(self._files[path], source, len(given))
        target = translator.target_language(languages.target)
        return self.translating.outputs(translator, given, target, emit).texts

    def _facts(self, languages: Languages) -> list[dict[str, Any]]:
        facts: list[dict[str, Any]] = []
        for name, path in zip(self._names(), self.paths, strict=True):
            translator = self._translators.get(path)
            if translator is None:
                facts.append({"name": name, "translations": file_facts(self._files[path])})
                continue
            direction = (languages.source, translator.target_language(languages.target))
            made = model_facts([path], direction, self.translating.search(translator))
            facts.append({"name": name, **made, **self.translating.reader.facts()})
        return facts


def _result_files(
    found: Comparison, systems: Sequence[System], facts: Mapping[str, Any], reported: Reported
) -> dict[str, str]:
    """Return the files of the results; each system's translations have a file of their own."""
    translations = {
        f"translations-{number}-{folder_name([system.name])}.txt": in_lines(system.texts)
        for number, system in enumerate(systems, start=1)
    }
    return {
        **translations,
        SCORES: in_json(comparison_json(found, reported.sentences)),
        SETTINGS: in_json(facts),
        REPORT: comparison_html(found, reported),
    }
