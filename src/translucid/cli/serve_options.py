"""The options of ``translucid serve``, in the order in which --help shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="[NAME=]MODEL",
        help="Model directory, RUN of `translucid train`, or fr-en, the built-in model; "
        "repeatable: each is served.  [default: the models of --run, or fr-en]",
    ),
]
Runs = Annotated[
    list[Path] | None,
    typer.Option("--run", metavar="RUN", help="Show this training run on the page; repeatable."),
]
Host = Annotated[
    str,
    typer.Option(metavar="ADDRESS", help="Address to listen on; 0.0.0.0: all of this machine's."),
]
Port = Annotated[
    int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0: any that is free.")
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--api-key-file",
        metavar="FILE",
        help="Answer only requests with one of these keys, one a line. "
        "Also: TRANSLUCID_API_KEYS, with commas.",
    ),
]
AllowHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host", metavar="NAME", help="A further name that the server goes by; repeatable."
    ),
]
AllowOrigins = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="ORIGIN",
        help="Let pages of this site call the server (CORS), such as https://example.org.",
    ),
]
LogText = Annotated[
    bool, typer.Option("--log-text", help="Write texts and translations to the log, too.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No line a request on stderr.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Processor threads.  [default: PyTorch's choice]"),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="TOML file with limits and times."),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="One limit or time, such as max_texts=128; repeatable."
    ),
]
MaxCharacters = Annotated[
    int | None, typer.Option(metavar="N", help="Most characters of a text.  [default: 5000]")
]
MaxTexts = Annotated[
    int | None, typer.Option(metavar="N", help="Most texts of a request.  [default: 64]")
]
MaxBeam = Annotated[int | None, typer.Option(metavar="N", help="Widest beam.  [default: 16]")]
MaxBodyBytes = Annotated[
    int | None, typer.Option(metavar="N", help="Most bytes of a body.  [default: 1000000]")
]
QueueSize = Annotated[
    int | None,
    typer.Option(metavar="N", help="Sentences that may wait; then 429.  [default: 512]"),
]
BatchSentences = Annotated[
    int | None,
    typer.Option(metavar="N", help="Most sentences decoded together.  [default: 32]"),
]
RequestSeconds = Annotated[
    float | None,
    typer.Option(metavar="S", help="From request to answer; then 504.  [default: 60]"),
]
ListLimits = Annotated[
    bool, typer.Option("--limits", help="List all limits and times with their values, and exit.")
]
