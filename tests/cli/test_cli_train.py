"""``translucid train`` as people run it, and what they see while it runs."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from translucid.checkpoint.model_directory import (
    load_model,
)
from translucid.checkpoint.run_directory import RunDirectory
from translucid.cli.train import train
from translucid.cli.training_display import (
    AT_ONCE,
    STOPPING,
    Course,
    Lines,
    Plan,
    describe_event,
    show_training,
)
from translucid.data.shards import PreparedData, open_data
from translucid.errors import ConfigError, DataError, InputError, MissingPackageError
from translucid.events import (
    Notice,
    Sample,
    Saved,
    Skipped,
    Stopped,
    Trained,
    TrainingEvent,
    Validated,
)
from translucid.presets import find_preset
from translucid.training.config import TrainingConfig
from translucid.training.train import flops_per_token, list_scalars
from translucid.translator.loading import load
from word_data import word_data, word_pairs

SMALL = (
    *("--set", "d_model=16", "--set", "model.d_ff=16", "--set", "heads=2"),
    *("--set", "encoder_layers=1", "--set", "decoder_layers=1"),
    *("--set", "training.batch_tokens=60", "--set", "validation_sample=8"),
    *("--set", "schedule=inverse-sqrt", "--set", "report_every=1"),  # not those of a budget
)

app = typer.Typer(pretty_exceptions_enable=False)
app.command("train")(train)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    splits = {"train": word_pairs(60, seed=1), "dev": word_pairs(12, seed=2)}
    return word_data(tmp_path_factory.mktemp("data"), splits)


def run(data: PreparedData, *words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in (data.folder, *words)])


def refusal(data: PreparedData, *words: str | Path) -> str:
    """Run with a mistake, and return what is said of it."""
    done = run(data, "-o", "never-made", *words)
    assert isinstance(done.exception, ConfigError | InputError)
    assert not Path("never-made").exists()
    return str(done.exception)


def steps_of(folder: Path) -> list[int]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [event["step"] for event in map(json.loads, lines) if event["event"] == "trained"]


def test_a_model_of_lower_case_reads_all_text_in_lower_case(tmp_path: Path) -> None:
    """From `prepare --lowercase` by way of training to the translator, command by command."""
    pairs = word_pairs(80, seed=1)
    for side, name in enumerate(("train.fr", "train.en")):
        text = "".join(f"{pair[side].title()}\n" for pair in pairs)
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "translucid"]
    files = ("train.fr", "train.en", "--from", "fr", "--to", "en", "--split", "8,8", "-o", "data")
    prepared = [*command, "prepare", *files, "--lowercase", "--vocab-size", "360"]
    subprocess.run(prepared, cwd=tmp_path, check=True, capture_output=True)
    texts = open_data(tmp_path / "data").split("test")
    assert all(texts.text(lang, 0) == texts.text(lang, 0).lower() for lang in ("fr", "en"))
    data = open_data(tmp_path / "data")
    assert run(data, "-o", tmp_path / "run", *SMALL, "--max-steps", "4").exit_code == 0
    translator = load(tmp_path / "run")
    assert translator.generation.lowercase
    text = pairs[0][0]
    add_typing_noise, shouted = translator.translate([text.lower(), text.upper()])
    assert add_typing_noise.text == shouted.text
    one, other = translator.score([text.lower(), text.title()], ["cat", "CAT"])
    assert one == other


def test_a_run_to_its_end(data: PreparedData, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = run(data, "-o", folder, *SMALL, "--max-steps", "6", "--set", "validate_every=3")
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{folder / 'best'}\n"
    assert "\x1b" not in done.stderr
    for part in ("60 pairs, 12 dev pairs", "step 1 of 6", "step 3, dev: loss", "→", "% of peak"):
        assert part in done.stderr
    assert "stopped after step 6: all 6 steps are done" in done.stderr
    assert steps_of(folder) == [1, 2, 3, 4, 5, 6]
    assert load_model(folder / "model").config.d_model == 16
    assert "curve.svg" in (folder / "best" / "README.md").read_text()


def test_without_a_dev_set_the_last_model_is_the_result(tmp_path: Path) -> None:
    data = word_data(tmp_path / "data", {"train": word_pairs(30, seed=1)})
    done = run(data, "-o", tmp_path / "run", *SMALL, "--max-steps", "2")
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{tmp_path / 'run' / 'model'}\n"
    assert "no dev set, so nothing is validated" in done.stderr


def test_resuming_needs_no_settings_and_refuses_others(data: PreparedData, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert run(data, "-o", folder, *SMALL, "--max-steps", "2").exit_code == 0
    again = run(data, "-o", folder, *SMALL, "--max-steps", "4")
    assert isinstance(again.exception, InputError)
    assert "--resume" in str(again.exception)
    other = run(data, "-o", folder, "--resume", "--set", "seed=5", "--max-steps", "4")
    assert "training.seed was 1 and is now 5" in str(other.exception)
    preset = run(data, "-o", folder, "--resume", "--preset", "small", "--max-steps", "4")
    assert "model.d_model was 16 and is now 256" in str(preset.exception)
    assert run(data, "-o", folder, "--resume", "--max-steps", "4").exit_code == 0
    assert steps_of(folder) == [1, 2, 3, 4]


def test_the_same_command_goes_on_with_the_micro_batches_that_it_began_with(
    data: PreparedData, tmp_path: Path
) -> None:
    """Processes or memory may have cut them smaller than was asked for."""
    folder, asked = tmp_path / "run", ("--set", "micro_batch_tokens=60")
    assert run(data, "-o", folder, *SMALL, "--max-steps", "2").exit_code == 0
    record = json.loads((folder / "run.json").read_text())
    record["training"]["micro_batch_tokens"] = 30
    (folder / "run.json").write_text(json.dumps(record))
    done = run(data, "-o", folder, *SMALL, *asked, "--max-steps", "4", "--resume")
    assert done.exit_code == 0, done.exception
    assert RunDirectory(folder).read_record().training["micro_batch_tokens"] == 30
    smaller = run(data, "-o", folder, "--set", "micro_batch_tokens=20", "--resume")
    assert "micro_batch_tokens was 30 and is now 20" in str(smaller.exception)


@pytest.mark.parametrize(
    ("threads", "words", "parts"),
    [
        (1, (), "2,100 tokens per step in 1 part;"),
        (2, (), "2,100 tokens per step in 2 parts;"),
        (4, (), "2,100 tokens per step in 2 parts;"),  # smaller ones would not be worth it
        (
            2,
            ("--set", "batch_tokens=9000"),
            "9,000 tokens per step in 6 parts;",
        ),  # of 4,096 at most
        (2, ("--set", "micro_batch_tokens=2100"), "2,100 tokens per step in 1 part;"),
        (2, ("--batch-tokens", "auto"), "2,100 tokens per step in 2 parts;"),
    ],
)
def test_every_thread_gets_a_part_of_a_step_unless_parts_are_given(
    data: PreparedData, tmp_path: Path, threads: int, words: Sequence[str], parts: str
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        small = (*SMALL, "--set", "training.batch_tokens=2100", *words, "--max-steps", "1")
        done = run(data, "-o", tmp_path / "run", *small)
    finally:
        torch.set_num_threads(before)
    assert done.exit_code == 0, done.exception
    assert parts in done.stderr
    fitted = RunDirectory(tmp_path / "run").read_record().training["parallel_micro_batches"]
    assert fitted == (2 if "auto" in words else 0)  # what memory allows is remembered


def test_other_data_is_named_when_a_run_cannot_go_on(data: PreparedData, tmp_path: Path) -> None:
    run(data, "-o", tmp_path / "run", *SMALL, "--max-steps", "2")
    splits = {"train": word_pairs(60, seed=1), "dev": word_pairs(12, seed=2)}
    larger = word_data(tmp_path / "other", splits, more_words=["onze", "eleven"])
    other = run(larger, "-o", tmp_path / "run", "--resume")
    assert "is not what the run began with" in str(other.exception)
    assert "leave it out" not in str(other.exception)


def test_agreement_without_dropout_is_refused(data: PreparedData) -> None:
    said = refusal(data, *SMALL, "--set", "rdrop_alpha=5", "--set", "dropout=0")
    assert "two passes are the same" in said


def test_resume_begins_where_there_is_nothing(data: PreparedData, tmp_path: Path) -> None:
    assert run(data, "-o", tmp_path / "run", *SMALL, "--max-steps", "1", "--resume").exit_code == 0


def test_a_file_of_settings_may_name_the_preset(data: PreparedData, tmp_path: Path) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text('preset = "C-N2"\n[model]\nd_model = 16\nd_ff = 16\n[training]\nseed = 8\n')
    file.write_text(file.read_text() + "max_steps = 1\n")
    done = run(data, "-o", tmp_path / "run", "-c", file)
    assert done.exit_code == 0, done.output
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["model"]["encoder_layers"] == find_preset("C-N2").changes["encoder_layers"]
    assert record["model"]["heads"] == 8
    assert record["training"]["seed"] == 8
    assert record["training"]["schedule"] == "paper"


def test_mistakes(data: PreparedData, tmp_path: Path) -> None:
    said = refusal(data, "--set", "warmup_step=3")
    assert "did you mean 'training.warmup_steps'?" in said
    assert "did you mean 'tiny'?" in refusal(data, "--preset", "tinny")
    assert "--batch-tokens many: give a whole number, or auto" in refusal(
        data, "--batch-tokens", "many"
    )
    assert "max_steps = -1" in refusal(data, "--max-steps", "-1")
    missing = CliRunner().invoke(app, [str(tmp_path / "none"), "-o", str(tmp_path / "run")])
    assert isinstance(missing.exception, DataError)
    assert "translucid prepare" in str(missing.exception)


def begun(data: PreparedData, folder: Path) -> subprocess.Popen[str]:
    """A long run in a process of its own, after its first steps."""
    command = [sys.executable, "-m", "translucid", "train", str(data.folder), "-o", str(folder)]
    process = subprocess.Popen(
        [*command, *SMALL, "--max-steps", "1000000", "--set", "checkpoint_every=1000000"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    while not (folder / "metrics.jsonl").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_the_run_goes_on(
    data: PreparedData, tmp_path: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "run"
    process = begun(data, folder)
    process.send_signal(number)
    _, stderr = process.communicate()
    assert process.returncode == 130, stderr
    assert STOPPING + AT_ONCE in stderr
    assert "--resume" in stderr
    reached = steps_of(folder)[-1]
    assert (folder / "checkpoints" / f"step-{reached:06d}").is_dir()
    done = run(data, "-o", folder, "--resume", "--max-steps", str(reached + 2))
    assert done.exit_code == 0, done.output
    assert steps_of(folder) == list(range(1, reached + 3))


def test_a_second_signal_stops_at_once() -> None:
    script = """
import os, signal
from translucid.cli.display import stop_on_signals
asked = []
before = signal.getsignal(signal.SIGTERM)
with stop_on_signals(lambda: asked.append(1), once=True):
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    assert asked == [1]
asked.clear()
with stop_on_signals(lambda: asked.append(1), once=False):
    os.kill(os.getpid(), signal.SIGTERM)
    assert asked == [1]
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        print("at once")
assert signal.getsignal(signal.SIGTERM) == before
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "at once\n", done.stderr


def test_a_second_signal_does_not_wait_for_threads_that_compute(
    data: PreparedData, tmp_path: Path
) -> None:
    """Here they would compute for ever."""
    script = """
import os, threading, torch
from translucid.cli.main import main
from translucid.model.encoder import Encoder
from translucid.cli.training_display import TrainingDisplay

usual, asked = Encoder.forward, TrainingDisplay.request_stop

def forward(self, *given):
    if self.training and "micro-batch" in threading.current_thread().name:
        os.write(1, b"computing\\n")  # at once: `print` writes the end of a line by itself
        threading.Event().wait()
    return usual(self, *given)

def request_stop(self):
    asked(self)
    os.write(1, b"heard\\n")

Encoder.forward, TrainingDisplay.request_stop = forward, request_stop
torch.set_num_threads(2)
main()
"""
    words = ("train", str(data.folder), "-o", str(tmp_path / "run"), *SMALL)
    recipe = ("--preset", "tiny", "--set", "micro_batch_tokens=30")  # nothing is measured first
    command = [sys.executable, "-c", script, *words, *recipe]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = iter(process.stdout.readline, "")
        assert next(told) == "computing\n"
        process.send_signal(signal.SIGINT)
        assert "heard\n" in told
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert stderr.splitlines()[-1] == "Aborted."


# What is shown.

ONCE = TrainingConfig().passes
PLAN = Plan(max_steps=100, max_minutes=0.0, passes=ONCE, flops=1e6, peak=1e9)
VALIDATED = Validated(
    step=2,
    loss=1.25,
    perplexity=3.49,
    bleu=12.3,
    chrf=45.6,
    signatures=("BLEU|…",),
    samples=(Sample("un [b]deux", "two one", "two two"), Sample("six", "six", "six")),
    best=True,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def trained(step: int, seconds: float = 2.0) -> Trained:
    return Trained(step, 4.321, 75.25, 200, seconds, 0.0012, 0.75, 3)


def course_of(plan: Plan, events: list[TrainingEvent]) -> Course:
    """The course after some events, two seconds between them."""
    clock = Clock()
    course = Course(plan, clock)
    for event in events:
        clock.now += 2.0
        course.take(event)
    return course


def test_speed_and_time_left() -> None:
    course = course_of(PLAN, [trained(1), trained(2), trained(3), trained(4)])
    assert course.tokens_per_second == 100
    assert course.share_of_peak == pytest.approx(0.1)
    assert course.elapsed == 8
    assert course.left == pytest.approx(96 * 2)
    assert course.share_done == pytest.approx(0.04)


def test_a_resumed_run_counts_its_own_steps_in_its_own_time() -> None:
    """Its first report covers steps of the session before, and their seconds."""
    clock = Clock()
    course = Course(PLAN, clock)
    course.resume(45, 90.0)
    clock.now += 10.0
    course.take(trained(50, seconds=100.0))
    assert course.elapsed == 10
    assert course.left == pytest.approx(50 * 2)


def test_a_report_of_several_steps_counts_as_so_many() -> None:
    course = course_of(PLAN, [trained(10)])
    assert course.left == pytest.approx(90 * 2 / 10)


def test_time_left_of_a_real_run_counts_all_its_steps(
    data: PreparedData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint before the first report does not make the run look begun there."""
    seen: list[tuple[int, int]] = []
    left = Course.left

    def watched(course: Course) -> float | None:
        assert course.latest is not None
        seen.append((course.steps_before, course.latest.step))
        return left.fget(course)  # type: ignore[attr-defined]

    monkeypatch.setattr(Course, "left", property(watched))
    settings = {"report_every": 4, "checkpoint_every": 2, "max_steps": 8}
    chosen = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    assert run(data, "-o", tmp_path / "run", *SMALL, *chosen).exit_code == 0
    assert seen[0] == (0, 4)
    seen.clear()
    more = ("--resume", "--max-steps", "16", *chosen[:4])
    assert run(data, "-o", tmp_path / "run", *more).exit_code == 0
    assert seen[0] == (8, 12)


def test_steps_of_two_passes_take_twice_the_time() -> None:
    """Ten steps of one pass, two seconds each; 10 more of one and 80 of two are left."""
    settings = TrainingConfig(rdrop_alpha=5.0, rdrop_start=21)
    plan = replace(PLAN, passes=settings.passes)
    course = course_of(plan, [trained(step) for step in range(1, 11)])
    assert course.left == pytest.approx(2 * 10 + 4 * 80)
    one = course.share_of_peak
    course.take(trained(21))
    assert course.share_of_peak == pytest.approx(2 * one)


def test_a_limit_of_minutes_that_comes_first_decides() -> None:
    plan = Plan(max_steps=10_000, max_minutes=1.0, passes=ONCE, flops=1.0, peak=1.0)
    clock = Clock()
    course = Course(plan, clock)
    course.resume(1, 20.0)
    for step in range(2, 7):
        clock.now += 2.0
        course.take(trained(step))
    assert course.left == 60 - 20 - 10
    assert course.share_done == pytest.approx(0.5)


def test_speed_is_that_of_the_last_moments() -> None:
    slow = [trained(step, seconds=10.0) for step in range(1, 10)]
    course = course_of(PLAN, [*slow, *(trained(step, seconds=1.0) for step in range(10, 40))])
    assert course.tokens_per_second == 200


def test_plain_lines_come_every_few_seconds_and_all_else_at_once() -> None:
    written: list[str] = []
    clock = Clock()
    lines = Lines(written.append, Course(PLAN, clock))
    for step in range(1, 13):
        clock.now += 2.0
        lines.show(trained(step))
    assert [line.split()[1] for line in written] == ["1", "6", "11"]
    assert written[0].startswith("step 1 of 100 (1 %), 0:03:18 left: loss 4.321 · perplexity 75.25")
    for event in (VALIDATED, Saved(2, "run/best"), Skipped(3, "no number"), Notice("hello")):
        lines.show(event)
        assert written[-1] == describe_event(event)
    lines.show(Stopped(9, "asked to", "interrupted"))
    assert written[-1] == "stopped after step 9: asked to"


def test_a_validation_in_words_shows_references_only_where_they_differ() -> None:
    assert describe_event(VALIDATED).splitlines() == [
        "step 2, dev: loss 1.250 · perplexity 3.49 · BLEU 12.3 · chrF 45.6 (best)",
        "  un [b]deux",
        "    → two two",
        "    = two one",
        "  six",
        "    → six",
    ]


def test_endless_repetition_is_cut_short() -> None:
    endless = replace(VALIDATED, samples=(Sample("un", "one", "seven " * 50),))
    assert "    → " + "seven " * 26 + "seve …" in describe_event(endless).splitlines()


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, *, no_color: bool) -> str:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    console = Console(file=io.StringIO(), force_terminal=True, width=100, legacy_windows=False)
    course = Course(PLAN, Clock())
    with show_training(console, course) as show:
        for event in (trained(1), VALIDATED, Saved(2, "run/best"), Skipped(3, "no number")):
            show(event)
        course.stopping = STOPPING
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_screen_shows_the_bar_the_figures_the_best_and_the_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = on_a_terminal(monkeypatch, no_color=False)
    assert "\x1b[32m" in output
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)
    for part in (
        *("step 1/100", "━", "1 %", "loss 4.321", "learning rate 0.0012", "gradient norm 0.75"),
        *("100 tokens/s · 10 % of peak (1 GFLOP/s)", "epoch 3", "un [b]deux", "→ two two"),
        *("= two one", "step 3 skipped: no number", "best dev: loss 1.250", STOPPING),
    ):
        assert part in plain
    assert "run/best" not in plain


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    output = on_a_terminal(monkeypatch, no_color=True)
    assert "loss 4.321" in output
    assert not re.search(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|38|9[0-7])[;m]", output)


@pytest.mark.parametrize(
    ("perplexity", "text"), [(3.456, "3.46"), (1234.5, "1,234"), (1e300, "1e+300")]
)
def test_any_perplexity_is_readable(perplexity: float, text: str) -> None:
    event = Trained(1, 1.0, perplexity, 1, 1.0, 0.1, 1.0, 0)
    assert f"perplexity {text}," in describe_event(event)


def test_flops_grow_with_both_sides(data: PreparedData) -> None:
    config = find_preset("tiny").config(100)
    assert flops_per_token(config, data) > 3 * 2 * 128 * 100


# TensorBoard.


def test_what_tensorboard_draws() -> None:
    assert list_scalars(trained(1))["train/tokens_per_second"] == 100
    assert list_scalars(VALIDATED) == {
        "dev/loss": 1.25,
        "dev/perplexity": 3.49,
        "dev/bleu": 12.3,
        "dev/chrf": 45.6,
    }
    assert list_scalars(Notice("hello")) == {}


def test_without_tensorboard_the_command_that_installs_it_is_named(
    data: PreparedData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    done = run(data, "-o", tmp_path / "run", *SMALL, "--max-steps", "1", "--tensorboard")
    assert isinstance(done.exception, MissingPackageError)
    assert "pip install 'translucid[tensorboard]'" in str(done.exception)
