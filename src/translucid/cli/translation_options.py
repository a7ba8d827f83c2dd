"""The options of ``translucid translate``, in the order in which --help shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Texts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TEXT", show_default=False, help="What to translate.  [default: standard input]"
    ),
]
Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="Model directory, RUN of `translucid train`, or fr-en, the built-in model; several "
        "(-m A -m B) are an ensemble.  [default: fr-en]",
    ),
]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input", "-i", metavar="FILE", help="Text file, plain, .gz or .xz, to translate."
    ),
]
ReadAs = Annotated[
    str | None,
    typer.Option("--as", metavar="text", help="Take -i FILE for lines of text, whatever its name."),
]
OutputFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="File to write.  [default: stdout]"),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="LANG", help="Target language, where a model has several."),
]
FormatName = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="text|tsv|jsonl",
        help="Lines of text, source and translation in columns, or JSON objects.",
    ),
]
NBest = Annotated[
    int | None,
    typer.Option(metavar="N", help="Write the N best of each line, as Moses lists them."),
]
WithAlignment = Annotated[
    bool, typer.Option("--alignment", help="Add links between words: 0-0 1-2 (Pharaoh format).")
]
WordScores = Annotated[bool, typer.Option("--word-scores", help="Add log P of each word.")]
Method = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="beam, greedy, sampling, diverse or mbr.  [default: beam]"),
]
Beam = Annotated[
    int | None,
    typer.Option(metavar="N", help="Hypotheses side by side.  [default: the model's, often 4]"),
]
LengthPenalty = Annotated[
    float | None,
    typer.Option(metavar="A", help="Exponent α; above 0 favours longer ones.  [default: model's]"),
]
LengthForm = Annotated[
    str | None, typer.Option(metavar="paper|plain", help="((5 + n) / 6)^α, or n^α.")
]
CoveragePenalty = Annotated[
    float | None, typer.Option(metavar="B", help="Price of source words hardly looked at.")
]
MinLength = Annotated[int | None, typer.Option(metavar="N", help="Fewest tokens of a translation.")]
MaxLength = Annotated[
    int | None, typer.Option(metavar="N", help="Most tokens.  [default: the source's + 50]")
]
ExtraLength = Annotated[
    int | None, typer.Option(metavar="N", help="Most tokens beyond the source's.  [default: 50]")
]
NoRepeat = Annotated[
    int | None,
    typer.Option("--no-repeat-ngram", metavar="N", help="Write no N tokens in a row twice."),
]
LoopGuard = Annotated[
    bool | None,
    typer.Option("--loop-guard/--no-loop-guard", help="End what goes in circles.  [default: on]"),
]
Sample = Annotated[bool, typer.Option("--sample", help="Draw at random: --method sampling.")]
Samples = Annotated[
    int | None, typer.Option(metavar="N", help="Samples a line (sampling: N of --n-best; mbr: 32).")
]
Temperature = Annotated[
    float | None, typer.Option(metavar="T", help="Sampling: below 1 is safer, above 1 more varied.")
]
TopK = Annotated[int | None, typer.Option(metavar="K", help="Sampling: only the K likeliest.")]
TopP = Annotated[
    float | None, typer.Option(metavar="P", help="Sampling: the likeliest that reach P together.")
]
MinP = Annotated[
    float | None, typer.Option(metavar="P", help="Sampling: only those of P times the best's.")
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Sampling: seed.  [default: 0]")]
Groups = Annotated[
    int | None, typer.Option(metavar="N", help="Diverse: groups of the beam.  [default: beam]")
]
Diversity = Annotated[
    float | None, typer.Option(metavar="D", help="Diverse: price of another group's token.")
]
ReadBack = Annotated[
    list[Path] | None,
    typer.Option(
        "--read-back",
        metavar="MODEL",
        help="Model of the other direction: of the beam, take the translation from which it can "
        "tell the source.",
    ),
]
ReadBackWeight = Annotated[
    float | None,
    typer.Option(metavar="W", help="How much that counts beside the search.  [default: 0.2]"),
]
Terms = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Terminology: lines of source words, tab, target words."),
]
Forbid = Annotated[
    list[str] | None,
    typer.Option(metavar="WORD", help="Never write the token that is this word; repeatable."),
]
Keep = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Words that are not translated, one per line."),
]
Prefix = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Begin every translation with this.")
]
ErrorsName = Annotated[
    str,
    typer.Option(
        "--errors", metavar="strict|replace", help="Stop at bytes that are no UTF-8, or read �."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with -o FILE where it was stopped.")]
BatchSize = Annotated[int, typer.Option(min=1, metavar="N", help="Lines computed at once.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Processor threads.  [default: PyTorch's choice]"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary on stderr.")]
