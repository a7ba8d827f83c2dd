"""``translucid evaluate``: scores that can be cited, of a model or of given translations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from translucid.cli import evaluation, options
from translucid.decoding.config import SearchConfig
from translucid.errors import InputError


@options.add_settings(SearchConfig, into="search", only=evaluation.SEARCH_SETTINGS)
def evaluate(
    models: options.Models = None,
    source: evaluation.Source = None,
    reference: evaluation.Reference = None,
    translations: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Score these translations instead of a model's."),
    ] = None,
    data: evaluation.Data = None,
    split: evaluation.Split = None,
    train_text: evaluation.TrainText = None,
    from_lang: evaluation.From = None,
    to_lang: evaluation.To = None,
    search: options.Given = {},  # noqa: B006 - replaced by one option per setting
    rerank: options.Rerank = None,
    rerank_weight: options.RerankWeight = None,
    tokenized_bleu: Annotated[
        bool,
        typer.Option(
            "--tokenized-bleu",
            help="Add the lower-cased, Moses-tokenised BLEU of older papers.",
        ),
    ] = False,
    bleu_tokenizer: evaluation.BleuTokenizer = None,
    resamples: evaluation.Resamples = 1000,
    sentences: evaluation.Sentences = 25,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for the results.  [default: evaluations/... beside the model; for "
            "the built-in one, in the current folder]",
        ),
    ] = None,
    json_wanted: evaluation.Json = False,
    batch_size: options.BatchSize = 64,
    threads: options.Threads = None,
) -> None:
    """Translate a test set and score it: BLEU, chrF, TER, perplexity.

    Every score has sacrebleu's signature and a bootstrap interval. Translations, scores, settings
    and an HTML report with the worst and the best sentences are saved beside the model.

    \b
    Examples:
      translucid evaluate --src test.fr --ref test.en
      translucid evaluate -m run --data data --beam 5
      translucid evaluate -m run --src test.en --ref test.de --tokenized-bleu --json
      translucid evaluate --translations theirs.en --src test.fr --ref test.en --to en
    """
    from translucid.cli.display import show_progress, stderr_console, stdout_console
    from translucid.evaluation.evaluate import count_training_words
    from translucid.evaluation.evaluate import evaluate as evaluate_system
    from translucid.evaluation.metrics import Scoring
    from translucid.evaluation.reference_set import ReferenceSource
    from translucid.evaluation.results import check_folder, default_folder, dump_json
    from translucid.evaluation.system import System

    if models and translations:
        raise InputError("-m and --translations: give a model or translations, not both")
    place = ReferenceSource(source, tuple(reference or ()), evaluation.open_folder(data), split)
    translator = None if translations else options.load_models(models, threads)
    languages = place.languages(translator, from_lang, to_lang)
    reranker = options.load_reranker(rerank, rerank_weight)
    if translator is None:
        assert translations is not None
        evaluation.refuse_search(search, reranker)
        system, search_name = System.from_file(translations), ""
    else:
        chosen = translator.default_search.override(search)
        system = System.from_model(translator, chosen, reranker)
        search_name = evaluation.name_search(chosen, translator.default_search)
    test = place.read(languages)
    folder = output or default_folder(system, test, languages.target, search_name)
    check_folder(folder)
    scoring = Scoring(languages.source, languages.target, bleu_tokenizer, tokenized_bleu, resamples)
    with show_progress(stderr_console()) as emit:
        # First, so that a mistake in its files is found before hours of work.
        frequencies = count_training_words(place.data, train_text, scoring, emit)
        found = evaluate_system(
            system,
            test,
            source_lang=languages.source,
            target=languages.target,
            bleu_tokenizer=bleu_tokenizer,
            tokenized_bleu=tokenized_bleu,
            resamples=resamples,
            frequencies=frequencies,
            batch_size=batch_size,
            on_event=emit,
        )
    found = replace(found, settings=evaluation.add_command(found.settings))
    found.save(folder, sentences)
    if json_wanted:
        content = {**found.to_json(sentences), "settings": found.settings}
        typer.echo(dump_json(content), nl=False)
    else:
        evaluation.print_evaluation(stdout_console(), found)
    stderr_console().print(f"results in {folder}", soft_wrap=True)
