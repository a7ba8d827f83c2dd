"""One evaluation from the sentences to the saved report."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from translucid.built_in import built_in_name
from translucid.cli.evaluation_material import (
    Clock,
    Languages,
    Place,
    Translating,
    folder_name,
    frequencies_of,
)
from translucid.cli.evaluation_recipe import file_facts, in_words, model_facts, recipe
from translucid.cli.progress import shown, stderr_console
from translucid.cli.score_table import print_evaluation, stdout_console
from translucid.cli.search_options import search_of
from translucid.evaluation.evaluate import Evaluation, Scoring, evaluate
from translucid.evaluation.reference_set import ReferenceSet, read_aligned, stem
from translucid.evaluation.report import Reported, report_html
from translucid.evaluation.results import (
    REPORT,
    SCORES,
    SETTINGS,
    TRANSLATIONS,
    check_place,
    evaluation_json,
    in_json,
    in_lines,
    save,
)
from translucid.evaluation.system import Outputs, given_outputs, reference_likelihood
from translucid.events import Emit
from translucid.translator import Translator
from translucid.translator.loading import model_directory

EVALUATIONS = "evaluations"  # folder of results, beside a model or a file of translations


@dataclass(frozen=True)
class EvaluationSession:
    """What is evaluated and how: a model's translations, or those of a file."""

    place: Place
    models: tuple[Path, ...]
    translator: Translator | None
    translations: Path | None
    translating: Translating
    scoring: Scoring
    train_text: Path | None

    def run(self, output: Path | None, sentences: int, *, as_json: bool) -> None:
        """Evaluate, save, and print what was found."""
        given = self.place.sentences(Languages(self.scoring.source_lang, self.scoring.target_lang))
        folder = output or self._beside(given)
        check_place(folder)
        with shown(stderr_console()) as emit:
            clock = Clock()
            # First, because what is wrong with its files is to be known before hours of work.
            frequencies = frequencies_of(self.place.data, self.train_text, self.scoring, emit)
            outputs = self._outputs(given, clock, emit)
            found = evaluate(self.name, given, outputs, self.scoring, frequencies, emit)
        facts = self._facts(clock.seconds, outputs)
        save(folder, self._files(found, outputs, facts, sentences))
        if as_json:
            typer.echo(in_json({**evaluation_json(found, sentences), "settings": facts}), nl=False)
        else:
            print_evaluation(stdout_console(), found)
        stderr_console().print(f"results in {folder}", soft_wrap=True)

    @property
    def name(self) -> str:
        """What to call the system."""
        if self.translations is not None:
            return stem(self.translations)
        assert self.translator is not None
        return self.translator.name

    def _outputs(self, given: ReferenceSet, clock: Clock, emit: Emit) -> Outputs:
        if self.translator is None:
            assert self.translations is not None
            source = self.place.source or Path(given.name)
            return given_outputs(read_aligned(self.translations, source, len(given)))
        target = self.scoring.target_lang
        assert target is not None
        with clock:
            outputs = self.translating.outputs(self.translator, given, target, emit)
        batch_size = self.translating.batch_size
        known = reference_likelihood(self.translator, given, target, batch_size, emit)
        return replace(outputs, likelihood=known)

    def _beside(self, given: ReferenceSet) -> Path:
        """Return the folder for results: it names the model, the sentences and the search."""
        if self.translations is not None:
            parts = [stem(self.translations), given.name]
            return self.translations.parent / EVALUATIONS / folder_name(parts)
        assert self.translator is not None
        folders = [model_directory(model).resolve() for model in self.models]
        model = "+".join(folder.name for folder in folders)
        target = self.scoring.target_lang or ""
        packaged = built_in_name(folders[0]) is not None  # nothing is written into the package
        place = (Path() if packaged else folders[0].parent) / EVALUATIONS
        words = [model, given.name, *([target] if target else []), self._search_in_a_word()]
        reader = self.translating.reader
        folders += [model_directory(model).resolve() for model in reader.models]
        if reader.reading_back is not None:
            words.append(f"read-back{reader.reading_back.weight:g}")
        if len(folders) > 1:  # best+best may be of any two runs
            words.append(hashlib.sha256("\n".join(map(str, folders)).encode()).hexdigest()[:6])
        return place / folder_name(words)

    def _search_in_a_word(self) -> str:
        """Return a name of the search: others have others."""
        assert self.translator is not None
        search, default = self.translating.search(self.translator), self.translator.default_search
        word = f"{search.method}{search.beam}" if search.method == "beam" else search.method
        named = {"method": search.method, "beam": search.beam if search.method == "beam" else None}
        usual = search_of(default, named, sample=False, terms=False)
        changed = [
            f"{name.replace('_', '-')}{value}"
            for name, value in search.model_dump().items()
            if value != getattr(usual, name)
        ]
        return "-".join([word, *changed])

    def _facts(self, seconds: float, outputs: Outputs) -> dict[str, Any]:
        system: dict[str, Any] = {"name": self.name}
        if self.translator is None:
            assert self.translations is not None
            system["translations"] = file_facts(self.translations)
        else:
            assert self.scoring.target_lang is not None
            direction = (self.scoring.source_lang, self.scoring.target_lang)
            search = self.translating.search(self.translator)
            system |= model_facts(self.models, direction, search)
            system |= self.translating.reader.facts()
            system["batch_size"] = self.translating.batch_size
            system["seconds"] = seconds
            system["sentences_per_second"] = round(len(outputs.texts) / max(seconds, 1e-9), 2)
        return recipe([system], self.place.facts(), self.scoring)

    def _files(
        self, found: Evaluation, outputs: Outputs, facts: dict[str, Any], sentences: int
    ) -> dict[str, str]:
        return {
            TRANSLATIONS: in_lines(outputs.texts),
            SCORES: in_json(evaluation_json(found, sentences)),
            SETTINGS: in_json(facts),
            REPORT: report_html(found, Reported(self.scoring, in_words(facts), sentences)),
        }
