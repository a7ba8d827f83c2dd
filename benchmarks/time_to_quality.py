"""Time to quality: dev BLEU against minutes of training, ours and two peers, in turns.

    .venv/bin/translucid fetch multi30k -o corpora
    .venv/bin/python benchmarks/time_to_quality.py --corpus corpora/multi30k -o out/time-to-quality

    translucid             `translucid train` with the recipe, time_to_quality.toml unless --recipe
                           names another, on people's pairs alone: a teacher is left out
    torch.nn.Transformer   a plain PyTorch loop over it, pre-norm, with the same recipe. Its weights
                           are validated as they are, and, as "averaged", as the moving average
                           that the recipe asks for, which a plain loop has not
    MarianMTModel          a plain PyTorch loop over it with the recipe of the published score
                           (4+4 layers, post-norm, Adam, dropout .3, learning rate .005 after 2,000
                           steps of warm-up, 8,192 tokens per step), validated as it is and as a
                           moving average. It is made for 8,000 steps on GPUs: in an hour of two
                           cores its learning rate is still rising

All have the same corpus, tokenizer and number of cores, and float32. The optimisers are our own:
PyTorch's fused Adam, or our Muon if the recipe asks for it (torch.nn.Transformer packs W^Q, W^K and
W^V into one matrix, which Muon then takes as one). Ours cuts a step into a part for each thread,
unless the recipe says how; a plain loop computes it at once, with all threads, and would take
longer for the parts one after another. Where the recipe asks for `--target-pieces-only`, ours has
logits for these pieces alone; a plain loop has not got that, and computes them all. All search
greedily; the peers, which keep no keys and values, may write 15 tokens more than the source has,
ours 50.

Each trains for five minutes, then the next one does, until all had an hour or took all their steps:
so a slow hour of the machine meets them alike, minute by minute; not so where one comes to a score
rounds after another, so look at steps and minutes both. With `--cores 1` each has a core to itself,
and two train side by side, in all pairs by turns; one that validates longer, or whose neighbour has
taken all its steps, has the machine to itself then. The learning rate falls by steps, so a slower
loop has not come as far down when the hour ends. The clock runs while they load and train and
stands while they start, save and are validated: all dev sentences, sacreBLEU.

Leave the machine to it. Stopped at any moment, the same command goes on with the turn that was
under way, from its last validation. The table and the figure in FOLDER are made anew after every
turn.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from courses import Course, Point, figure, table
from lanes import ended_by_signal, lanes, side_by_side
from peer_run import PeerRun
from peers import Marian, Peer, PlainTransformer

from translucid.checkpoint.run_directory import RunDirectory
from translucid.cli.main import SPINS
from translucid.cli.recipe_file import DataTable
from translucid.config import ModelConfig
from translucid.data.fetch import find_known_corpus, prepare_arguments
from translucid.data.shards import open_data
from translucid.events import Trained, Validated
from translucid.files import locked, new_file
from translucid.machine import Machine
from translucid.presets import find_preset
from translucid.training.recipe import (
    Recipe,
    Settings,
    build_recipe,
    preset_settings,
    read_settings,
    read_toml,
)

RECIPE = Path(__file__).with_suffix(".toml")
PUBLISHED_SIZES = "tiny"
PUBLISHED = Settings(
    {"norm": "post", "dropout": 0.3},
    {
        "schedule": "inverse-sqrt",
        "learning_rate": 0.005,
        "warmup_steps": 2000,
        "batch_tokens": 8192,
        "micro_batch_tokens": 4096,
        "label_smoothing": 0.1,
        "clip_norm": 0.0,
        "ema_decay": 0.998,  # for the mean of checkpoints that the published score is of
    },
)
TRANSLUCID = (sys.executable, "-m", "translucid")
OURS, PLAIN, MARIAN = "translucid", "torch.nn.Transformer", "MarianMTModel"
SYSTEMS = (OURS, PLAIN, MARIAN)
SHOWN = (OURS, f"{PLAIN}, averaged", PLAIN, f"{MARIAN}, averaged", MARIAN)
PLAIN_ONLY = {
    "norm": "pre",
    "activation": "relu",
    "positions": "sinusoidal",
    "tying": "all",
    "attention_bias": False,
    "rdrop_alpha": 0.0,
    "compile": False,
}
ENOUGH = 0.25  # minutes that a turn may lack
PEERS: dict[str, Callable[[ModelConfig], Peer]] = {PLAIN: PlainTransformer, MARIAN: Marian}


class Turn(NamedTuple):
    """Who trains, in which folder, and until which minute."""

    name: str
    folder: Path
    until: float

    @property
    def recipe(self) -> Path:
        return self.folder / "recipe.toml"  # as it was when the first turn began

    @property
    def own(self) -> Path:
        return self.folder / self.name

    @property
    def is_due(self) -> bool:
        return Course.kept(self.name, self.folder).minutes < self.until - ENOUGH


# Ours: the command itself, and what it has written of its course.


def our_turn(turn: Turn, steps: int) -> None:
    """Train until the minute is reached, or all steps are taken."""
    settings = {
        "validate_every": steps,
        "validation_sample": 1_000_000,
        "report_every": 1,
        "checkpoint_every": steps,
        "device": "cpu",
        "precision": "fp32",
    }
    given = [w for key, value in settings.items() for w in ("--set", f"training.{key}={value}")]
    run = turn.own / "run"
    command = [*TRANSLUCID, "train", turn.folder / "data", "-o", run, "-c", turn.recipe, *given]
    while (course := our_course(run)).minutes < turn.until - ENOUGH:
        newest, _ = RunDirectory(run).checkpoints.newest()
        passed = newest.state["seconds"] / 60 if newest else 0.0  # here validations count
        limit = passed + turn.until - course.minutes
        subprocess.run([*command, "--set", f"training.max_minutes={limit}", "--resume"], check=True)
        if our_course(run).minutes == course.minutes:  # no steps are left
            break
    our_course(run).keep(turn.folder)


def our_course(run: Path) -> Course:
    """Return the course of our run up to its newest checkpoint, where it goes on."""
    last = max(RunDirectory(run).checkpoints.steps(), default=0)
    course, seconds, tokens = Course(OURS), 0.0, 0
    for event in RunDirectory(run).metrics.read():
        if isinstance(event, Trained) and event.step <= last:
            seconds, tokens = seconds + event.seconds, tokens + event.tokens
            course.minutes = seconds / 60
        elif isinstance(event, Validated) and event.step <= last:
            course.signature = event.signatures[0]
            course.points.append(Point(seconds / 60, event.step, tokens, event.bleu))
    return course


def peer_turn(turn: Turn) -> None:
    data = open_data(turn.folder / "data")
    recipe = recipe_of(turn.name, turn.recipe, data.manifest.tokenizer.sizes)
    run = PeerRun(turn.name, PEERS[turn.name], data, recipe, turn.own / "state.pt")
    run.train(turn.until)
    for course in run.courses:
        course.keep(turn.folder)


def keep(file: Path, content: bytes) -> None:
    """Keep what a comparison has from its beginning to its end; refuse another."""
    if file.exists() and file.read_bytes() != content:
        raise SystemExit(f"{file.parent} was begun with another {file.name}: give another folder")
    with new_file(file) as kept:
        kept.write(content)


def prepared(corpus: Path, folder: Path, recipe: Path) -> None:
    """Prepare the data as the recipe asks."""
    asked = DataTable(**read_toml(recipe).get("data", {}))
    words = [*prepare_arguments(find_known_corpus(asked.corpus), corpus), *asked.prepare]
    subprocess.run([*TRANSLUCID, "prepare", *words, "-o", folder / "data"], check=True)
    if open_data(folder / "data").manifest.tagged:
        raise SystemExit(f"{recipe} has several directions; this compares one")


def recipe_of(name: str, recipe: Path, sizes: tuple[int, int]) -> Recipe:
    """Return the settings of a system; what a plain loop cannot do is refused."""
    told = read_settings(recipe)
    of_ours = build_recipe([preset_settings(find_preset(told.preset or "tiny")), told], sizes)
    given = of_ours.model.model_dump() | of_ours.training.model_dump()
    head = of_ours.model.d_model // of_ours.model.heads
    plain = PLAIN_ONLY | {"d_k": head, "d_v": head}
    if other := [f"{key} = {given[key]}" for key, value in plain.items() if given[key] != value]:
        raise SystemExit(f"{recipe}: a plain loop here has not {', '.join(other)}")
    if name == MARIAN:
        return build_recipe([preset_settings(find_preset(PUBLISHED_SIZES)), PUBLISHED], sizes)
    return of_ours


def show(folder: Path, cores: int) -> None:
    """Write the table and the figure of what there is."""
    courses = [course for name in SHOWN if (course := Course.kept(name, folder)).points]
    for kind, content in (("md", table(courses)), ("svg", figure(courses, cores).svg)):
        with new_file(folder / f"time-to-quality.{kind}") as file:
            file.write(content.encode())


def positive(text: str) -> float:
    if not float(text) > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return float(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True, help="fetched by `translucid fetch`")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--recipe", type=Path, default=RECIPE)
    parser.add_argument(
        "--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS, help="who takes part"
    )
    parser.add_argument("--minutes", type=positive, default=60.0, help="of training, for each")
    parser.add_argument("--turn", type=positive, default=5.0, help="minutes of a turn")
    parser.add_argument("--steps", type=int, default=400, help="between our validations")
    parser.add_argument("--cores", type=int, default=Machine().cores(), help="of each; now: all")
    parser.add_argument("--turn-of", nargs=2, metavar=("SYSTEM", "UNTIL"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    folder: Path = asked.output
    if asked.turn_of:
        turn = Turn(asked.turn_of[0], folder, float(asked.turn_of[1]))
        turn.own.mkdir(exist_ok=True)
        with locked(turn.own), ended_by_signal():
            our_turn(turn, asked.steps) if turn.name == OURS else peer_turn(turn)
        return
    others = max(1, len(asked.systems) - 1)
    known = lanes(asked.cores, at_most=others)  # so that all have each other beside them
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)  # as our command sets it: the same for all
    folder.mkdir(parents=True, exist_ok=True)
    keep(folder / "recipe.toml", asked.recipe.read_bytes())
    keep(folder / "cores.txt", f"{asked.cores}\n".encode())
    prepared(asked.corpus, folder, asked.recipe)
    rounds = math.ceil(asked.minutes / asked.turn)
    ends = [min(asked.minutes, number * asked.turn) for number in range(1, rounds + 1)]
    turns = [Turn(name, folder, end) for end in ends for name in asked.systems]
    own = [sys.executable, __file__, *sys.argv[1:], "--turn-of"]
    for at in range(0, len(turns), len(known)):
        due = [turn for turn in turns[at : at + len(known)] if turn.is_due]
        side_by_side([[*own, turn.name, str(turn.until)] for turn in due], known)
        show(folder, asked.cores)
    print((folder / "time-to-quality.md").read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
