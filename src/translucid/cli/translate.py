"""``translucid translate``: texts, standard input or a file; one line in, one line out."""

from __future__ import annotations

from translucid.cli import translation_options as options


def translate(
    texts: options.Texts = None,
    models: options.Models = None,
    source: options.Input = None,
    read_as: options.ReadAs = None,
    output: options.OutputFile = None,
    target: options.To = None,
    format_name: options.FormatName = "text",
    n_best: options.NBest = None,
    alignment: options.WithAlignment = False,
    word_scores: options.WordScores = False,
    method: options.Method = None,
    beam: options.Beam = None,
    length_penalty: options.LengthPenalty = None,
    length_form: options.LengthForm = None,
    coverage_penalty: options.CoveragePenalty = None,
    min_length: options.MinLength = None,
    max_length: options.MaxLength = None,
    extra_length: options.ExtraLength = None,
    no_repeat_ngram: options.NoRepeat = None,
    loop_guard: options.LoopGuard = None,
    sample: options.Sample = False,
    samples: options.Samples = None,
    temperature: options.Temperature = None,
    top_k: options.TopK = None,
    top_p: options.TopP = None,
    min_p: options.MinP = None,
    seed: options.Seed = None,
    groups: options.Groups = None,
    diversity: options.Diversity = None,
    read_back: options.ReadBack = None,
    read_back_weight: options.ReadBackWeight = None,
    terms: options.Terms = None,
    forbid: options.Forbid = None,
    keep: options.Keep = None,
    prefix: options.Prefix = None,
    errors: options.ErrorsName = "strict",
    resume: options.Resume = False,
    batch_size: options.BatchSize = 64,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Translate texts, standard input or a file.

    One line in, one line out: order, blank lines and line ends are kept. Standard input is
    translated as it comes. A file (-i FILE -o FILE) that was stopped goes on with --resume.
    Addresses, file names, code in backticks, tags, emoji and placeholders such as %s and {name}
    are not translated, nor is what a file of words says (--keep FILE).

    \b
    Examples:
      translucid translate "Je suis étudiant."
      translucid translate "I am a student." --to fr
      translucid translate -m model -i book.fr -o book.en
      translucid translate -m model -i book.fr -o book.en --resume
      tail -f log.fr | translucid translate -m model --format jsonl
      translucid translate -m model -i test.fr --beam 5 --n-best 5
      translucid translate -i book.fr -o book.en --beam 8 --read-back fr-en
      translucid translate -i strings.txt -o strings.en --keep products.txt
      translucid translate -m model "Bonjour." --sample --temperature 0.8 --seed 7
    """
    from translucid.cli.file_language import target_of_file
    from translucid.cli.line_files import ERRORS, survey
    from translucid.cli.model_choice import chosen, loaded
    from translucid.cli.reader_choice import reader_of
    from translucid.cli.search_options import one_of, search_of
    from translucid.cli.terms_file import read_keep, read_terms
    from translucid.cli.translation_output import FORMATS, Form
    from translucid.cli.translation_places import FILE_TYPES, places_of
    from translucid.cli.translation_run import Run, Wishes

    reader = reader_of(read_back, read_back_weight)
    handling = one_of("--errors", errors, ERRORS)
    as_text = read_as is not None and one_of("--as", read_as, FILE_TYPES) == "text"
    places = places_of(texts, source, output, handling, resume=resume, as_text=as_text)
    form = Form(
        one_of("--format", format_name, FORMATS), n_best is not None, alignment, word_scores
    )
    terminology = None if terms is None else read_terms(terms)
    kept = () if keep is None else read_keep(keep)
    facts = None if places.file is None else survey(places.file, handling)
    translator = loaded(models, threads)
    given = {
        "method": method,
        "beam": beam,
        "n_best": n_best,
        "length_penalty": length_penalty,
        "length_form": length_form,
        "coverage_penalty": coverage_penalty,
        "min_length": min_length,
        "max_length": max_length,
        "extra_length": extra_length,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "samples": samples,
        "seed": seed,
        "groups": groups,
        "diversity": diversity,
        "no_repeat_ngram": no_repeat_ngram,
        "loop_guard": loop_guard,
    }
    search = search_of(translator.default_search, given, sample=sample, terms=bool(terminology))
    if target is None and places.file is not None:
        target = target_of_file(translator, places.file, places.errors, quiet=quiet)
    wishes = Wishes(
        target, search, reader, terminology, tuple(forbid or ()), kept, prefix, batch_size
    )
    Run(places, facts, chosen(models), translator, wishes, form, quiet).to_the_end()
