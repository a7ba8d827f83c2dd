"""``translucid evaluate``: scores that can be cited, of a model or of given translations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translucid.cli import evaluation_options as options
from translucid.cli import options as shared
from translucid.decoding.settings import SearchConfig
from translucid.errors import InputError


@shared.add_settings(SearchConfig, into="search", only=options.SEARCH_SETTINGS)
def evaluate(
    models: shared.Models = None,
    source: options.Source = None,
    reference: options.Reference = None,
    translations: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Score these translations instead of a model's."),
    ] = None,
    data: options.Data = None,
    split: options.Split = None,
    train_text: options.TrainText = None,
    from_lang: options.From = None,
    to_lang: options.To = None,
    search: shared.Given = {},  # noqa: B006 - replaced by one option per setting
    rerank: shared.Rerank = None,
    rerank_weight: shared.RerankWeight = None,
    tokenized_bleu: Annotated[
        bool,
        typer.Option(
            "--tokenized-bleu",
            help="Add the lower-cased, Moses-tokenised BLEU of older papers.",
        ),
    ] = False,
    bleu_tokenizer: options.BleuTokenizer = None,
    resamples: options.Resamples = 1000,
    sentences: options.Sentences = 25,
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
    json_wanted: options.Json = False,
    batch_size: shared.BatchSize = 64,
    threads: shared.Threads = None,
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
    from translucid.cli.evaluation_material import Place, Translating, languages_of, open_folder
    from translucid.cli.evaluation_session import EvaluationSession
    from translucid.cli.model_choice import chosen, loaded
    from translucid.cli.rerank_option import load_reranker
    from translucid.evaluation.evaluate import Scoring

    if models and translations:
        raise InputError("-m and --translations: give a model or translations, not both")
    place = Place(source, tuple(reference or ()), open_folder(data), split)
    translator = None if translations else loaded(models, threads)
    languages = languages_of(translator, place, from_lang, to_lang)
    scoring = Scoring(languages.source, languages.target, bleu_tokenizer, tokenized_bleu, resamples)
    translating = Translating(search, load_reranker(rerank, rerank_weight), batch_size)
    if translations:
        translating.refuse_for_files()
    session = EvaluationSession(
        place=place,
        models=() if translations else chosen(models),
        translator=translator,
        translations=translations,
        translating=translating,
        scoring=scoring,
        train_text=train_text,
    )
    session.run(output, sentences, as_json=json_wanted)
