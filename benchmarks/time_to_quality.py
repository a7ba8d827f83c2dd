"""Time to quality: dev BLEU against minutes of training, ours and two peers, one after another.

    .venv/bin/translucid fetch multi30k -o corpora
    .venv/bin/python benchmarks/time_to_quality.py --corpus corpora/multi30k -o out/time-to-quality

    translucid             `translucid train` with the recipe
    torch.nn.Transformer   a plain PyTorch loop over it, pre-norm, with the same recipe
    MarianMTModel          a plain PyTorch loop over it with the recipe of the published score
                           (post-norm, dropout .3, learning rate .005, warm-up 2,000, 8,192 tokens)

All have the same corpus, tokenizer, micro-batches and sizes, float32 and all cores. The clock runs
while they train and stands while they are validated: all dev sentences, greedy, sacreBLEU. A plain
loop has no average of weights; where the recipe asks for one, ours alone has it.

`--system NAME` runs one of them alone. FOLDER keeps what each did: one that is there is not run
again, and the table and the figure show all that are there.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from peers import Marian, Peer, PlainTransformer, logits
from torch.nn import functional as F

from translucid.cli.recipe_file import read_recipe
from translucid.data.batching import START, Batches
from translucid.data.examples import examples_of
from translucid.data.fetch import known_corpus, prepare_words
from translucid.data.loader import Loader
from translucid.data.sampling import Sampling
from translucid.data.shards import PreparedData, open_data
from translucid.events import Sample, Trained, Validated
from translucid.interpret.figures.charts import Area, apart, bounds, ticks, value_axis
from translucid.interpret.figures.drawing import MARGIN, Drawing, heading, path, text
from translucid.presets import find_preset
from translucid.text.tokenizer import BOS, EOS, PAD, Tokenizer, load_tokenizer
from translucid.training.metrics import read_metrics
from translucid.training.peak import matrix_product_peak
from translucid.training.recipe import Recipe, Settings, complete, of_file, of_preset
from translucid.training.schedule import learning_rate
from translucid.training.validation import score

RECIPE = Path(__file__).parent.parent / "recipes" / "multi30k-en-de.toml"
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
    },
)
TRANSLUCID = (sys.executable, "-m", "translucid")
OURS, PLAIN, MARIAN = "translucid", "torch.nn.Transformer", "MarianMTModel"
MARKS = (20, 25, 30, 35)
ROWS = 64  # dev sentences that a peer translates together


class Point(NamedTuple):
    """A validation: minutes of training, steps, target tokens and dev BLEU until then."""

    minutes: float
    step: int
    tokens: int
    bleu: float


@dataclasses.dataclass(frozen=True)
class Course:
    """What a system did, how BLEU was computed, and the machine's peak before and after."""

    name: str
    points: tuple[Point, ...]
    signature: str
    peaks: tuple[float, float]

    def minutes_to(self, bleu: float) -> float | None:
        """Return when dev BLEU first reached a value, between the validations around it."""
        before = Point(0.0, 0, 0, 0.0)
        for point in self.points:
            if point.bleu >= bleu:
                share = (bleu - before.bleu) / (point.bleu - before.bleu)
                return before.minutes + share * (point.minutes - before.minutes)
            before = point
        return None

    def write(self, folder: Path) -> None:
        values = json.dumps(dataclasses.asdict(self), indent=1)
        (folder / f"{self.name}.json").write_text(values, encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Course:
        values = json.loads(file.read_text(encoding="utf-8"))
        points = tuple(Point(*point) for point in values["points"])
        return cls(values["name"], points, values["signature"], tuple(values["peaks"]))


# Ours: the command itself, and what it has written of its course.


def ours(data: Path, folder: Path, recipe: Path, minutes: float, steps: int) -> Course:
    run = folder / "run"
    more = {
        "max_minutes": minutes,
        "validate_every": steps,
        "validation_sample": 1_000_000,
        "report_every": 10,
        "checkpoint_every": steps,
    }
    chosen = [word for key, value in more.items() for word in ("--set", f"training.{key}={value}")]
    before = peak()
    subprocess.run(
        [*TRANSLUCID, "train", data, "-o", run, "-c", recipe, *chosen, "--resume"], check=True
    )
    signatures: list[str] = []
    points = tuple(_points_of(run, signatures))
    return Course(OURS, points, signatures[0], (before, peak()))


def _points_of(run: Path, signatures: list[str]) -> Iterator[Point]:
    seconds, tokens = 0.0, 0
    for event in read_metrics(run / "metrics.jsonl"):
        if isinstance(event, Trained):
            seconds, tokens = seconds + event.seconds, tokens + event.tokens
        elif isinstance(event, Validated):
            signatures.append(event.signatures[0])
            yield Point(seconds / 60, event.step, tokens, event.bleu)


# Peers: a plain loop.


def peer_course(
    name: str, make: Callable[..., Peer], data: PreparedData, recipe: Recipe, minutes: float
) -> Course:
    before = peak()
    torch.manual_seed(recipe.training.seed)
    signatures: list[str] = []
    points = tuple(trained(make(recipe.model), data, recipe, minutes, signatures))
    return Course(name, points, signatures[0], (before, peak()))


def trained(
    peer: Peer, data: PreparedData, recipe: Recipe, minutes: float, signatures: list[str]
) -> Iterator[Point]:
    """Train a peer, and yield its validations: one every twentieth of the time."""
    settings = recipe.training
    tokenizer = load_tokenizer(data.tokenizer_path)
    parameters = list(peer.module.parameters())
    optimizer = torch.optim.Adam(
        parameters, lr=0.0, betas=(settings.beta1, settings.beta2), eps=settings.epsilon
    )
    seconds, tokens, due = 0.0, 0, minutes / 20
    sampling = Sampling(tokenizer, settings.subword_sampling) if settings.subword_sampling else None
    batches = Batches(examples_of(data, "train"), settings.micro_batch_tokens, settings.seed)
    loader = Loader(batches, sampling, ahead=4, pin=False)
    peer.module.train()
    with loader.steps(START, per_step=settings.micro_batches, rank=0, world=1) as steps:
        for step in itertools.count(1):
            began = time.perf_counter()
            loaded = next(steps)
            optimizer.zero_grad()
            total = sum(batch.tokens for batch in loaded.batches)
            for batch in loaded.batches:
                scores = logits(peer, batch.source_BS, batch.target_BT).flatten(0, 1)
                loss = F.cross_entropy(
                    scores,
                    batch.labels_BT.flatten(),
                    ignore_index=PAD,
                    label_smoothing=settings.label_smoothing,
                    reduction="sum",
                )
                (loss / total).backward()
            if settings.clip_norm:
                torch.nn.utils.clip_grad_norm_(parameters, settings.clip_norm)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, settings, recipe.model.d_model)
            optimizer.step()
            seconds, tokens = seconds + time.perf_counter() - began, tokens + total
            if seconds / 60 >= due or step == settings.max_steps:
                bleu = dev_bleu(peer, data, tokenizer, signatures)
                print(f"{seconds / 60:.1f} minutes, step {step:,}: BLEU {bleu:.2f}", flush=True)
                yield Point(seconds / 60, step, tokens, bleu)
                due += minutes / 20
                if seconds / 60 >= minutes or step == settings.max_steps:
                    return


@torch.no_grad()
def dev_bleu(peer: Peer, data: PreparedData, tokenizer: Tokenizer, signatures: list[str]) -> float:
    source, target = data.manifest.directions[0]
    split = data.split("dev")
    texts = [split.text(source, pair) for pair in range(len(split))]
    rows = [[*ids, EOS] for ids in tokenizer.encode_batch(texts)]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    found = [""] * len(rows)
    peer.module.eval()
    for chosen in (order[at : at + ROWS] for at in range(0, len(order), ROWS)):
        for place, tokens in zip(chosen, greedy(peer, [rows[i] for i in chosen]), strict=True):
            found[place] = tokenizer.decode(tokens)
    peer.module.train()
    samples = [
        Sample(text, split.text(target, pair), found[pair]) for pair, text in enumerate(texts)
    ]
    scores = score(samples, target)
    signatures.append(scores.signatures[0])
    return scores.bleu


def greedy(peer: Peer, rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Translate rows of tokens; each step computes the whole prefix anew, off the clock."""
    width = max(map(len, rows))
    source_BS = torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
    memory_BSD = peer.encode(source_BS)
    target_BT = torch.full((len(rows), 1), BOS)
    going_N = torch.arange(len(rows))
    for _ in range(width + 10):
        scores_NTV = peer.decode(target_BT[going_N], memory_BSD[going_N], source_BS[going_N])
        next_B = torch.full((len(rows),), EOS)
        next_B[going_N] = scores_NTV[:, -1].argmax(-1)
        target_BT = torch.cat([target_BT, next_B[:, None]], dim=1)
        going_N = going_N[next_B[going_N] != EOS]
        if not len(going_N):
            break
    return [list(itertools.takewhile(lambda t: t != EOS, row[1:])) for row in target_BT.tolist()]


def peak() -> float:
    return matrix_product_peak(torch.device("cpu")) / 1e9


# What came out.


def table(courses: Sequence[Course]) -> str:
    lines = [
        "| | " + " | ".join(f"minutes to {mark}" for mark in MARKS)
        + " | best dev BLEU | at minute | of minutes | target tokens/s | peak, GFLOP/s |",
        "|---|" + "--:|" * (len(MARKS) + 5),
    ]  # fmt: skip
    for course in courses:
        best, last = max(course.points, key=lambda point: point.bleu), course.points[-1]
        reached = [course.minutes_to(mark) for mark in MARKS]
        cells = ["not reached" if minutes is None else f"{minutes:.1f}" for minutes in reached]
        speed = last.tokens / last.minutes / 60
        peaks = " to ".join(f"{value:.0f}" for value in course.peaks)
        lines.append(
            f"| {course.name} | {' | '.join(cells)} | {best.bleu:.2f} | {best.minutes:.1f} "
            f"| {last.minutes:.1f} | {speed:,.0f} | {peaks} |"
        )
    return "\n".join([*lines, "", f"{courses[0].signature}, greedy"]) + "\n"


def figure(courses: Sequence[Course]) -> Drawing:
    title = "Time to quality: dev BLEU against minutes of training"
    longest = max(course.points[-1].minutes for course in courses)
    parts, top = heading(title, 860, ["Multi30k en→de, two cores; validation is not counted."])
    low, high = bounds([0.0, *(point.bleu for course in courses for point in course.points)])
    marks = ticks(0, longest, 6)
    area = Area(MARGIN + 30, top + 16, 660, top + 376, low, high, count=2)
    parts += value_axis(area)

    def x(minutes: float) -> float:
        return area.x(minutes / marks[-1])

    parts += [text(x(m), area.bottom + 18, f"{m:g}", "muted", anchor="middle") for m in marks]
    parts.append(text(area.right, area.bottom + 38, "minutes", "muted", anchor="end"))
    places = apart([area.y(course.points[-1].bleu) for course in courses], 18)
    for number, (course, y) in enumerate(zip(courses, places, strict=True)):
        points = [(x(0), area.y(0)), *((x(p.minutes), area.y(p.bleu)) for p in course.points)]
        way = "L".join(f"{across:.1f} {down:.1f}" for across, down in points)
        parts.append(path("M" + way, f"s{number}"))
        label = f"{course.name} {course.points[-1].bleu:.1f}"
        parts.append(text(x(course.points[-1].minutes) + 8, y + 4, label, f"t{number}"))
    words = "; ".join(f"{c.name}: {c.points[-1].bleu:.1f}" for c in courses)
    return Drawing(860, area.bottom + 38 + MARGIN, title, words, "".join(parts))


def prepared(corpus: Path, folder: Path, recipe: Path) -> Path:
    asked = read_recipe(recipe).data
    words = [*prepare_words(known_corpus(asked.corpus), corpus), *asked.prepare]
    data = folder / "data"
    subprocess.run([*TRANSLUCID, "prepare", *words, "-o", data], check=True)
    return data


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True, help="fetched by `translucid fetch`")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--recipe", type=Path, default=RECIPE)
    parser.add_argument("--minutes", type=float, default=60.0, help="of training, for each")
    parser.add_argument("--steps", type=int, default=200, help="between ours' validations")
    parser.add_argument("--system", action="append", choices=[OURS, PLAIN, MARIAN])
    asked = parser.parse_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    folder = prepared(asked.corpus, asked.output, asked.recipe)
    data = open_data(folder)
    size = data.manifest.tokenizer.vocab_size
    told = of_file(asked.recipe)
    layers = [of_preset(find_preset(told.preset or "tiny")), told]
    for name in asked.system or (OURS, PLAIN, MARIAN):
        if (asked.output / f"{name}.json").exists():
            continue
        print(f"{name}, {asked.minutes:g} minutes", flush=True)
        if name == OURS:
            course = ours(folder, asked.output, asked.recipe, asked.minutes, asked.steps)
        elif name == PLAIN:
            recipe = complete(layers, size)
            course = peer_course(name, PlainTransformer, data, recipe, asked.minutes)
        else:
            recipe = complete([of_preset(find_preset("tiny")), PUBLISHED], size)
            course = peer_course(name, Marian, data, recipe, asked.minutes)
        course.write(asked.output)
    files = [asked.output / f"{name}.json" for name in (OURS, PLAIN, MARIAN)]
    courses = [Course.read(file) for file in files if file.exists()]
    (asked.output / "time-to-quality.md").write_text(table(courses), encoding="utf-8")
    (asked.output / "time-to-quality.svg").write_text(figure(courses).svg, encoding="utf-8")
    print(table(courses), end="")


if __name__ == "__main__":
    main()
