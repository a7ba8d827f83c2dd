"""``translucid explain`` as people run it: every form, every source, and what goes wrong."""

from __future__ import annotations

import gc
import itertools
import json
import re
import shlex
import shutil
import weakref
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
import typer
from typer.testing import CliRunner, Result

from networks import network
from saved_pages import saved_content, saved_tensors
from small_translators import write_directory, write_random_model, write_taught_model
from translucid.checkpoint.model_directory import (
    load_model,
    named_weights,
)
from translucid.checkpoint.run_directory import RunDirectory, RunRecord
from translucid.cli.explain import explain
from translucid.errors import ConfigError, DataError, InputError
from translucid.events import Trained, Validated
from translucid.interpret import explain as explain_text
from translucid.interpret import film as films
from translucid.interpret.figures.panels import PANELS, Choice, check_choice
from translucid.interpret.figures.patching_map import signed
from translucid.interpret.film import choose_evenly, load_checkpoint
from translucid.interpret.trace import Trace
from translucid.training.config import TrainingConfig
from translucid.translator import Translator, load

SENTENCE = "chat noir dort"
OTHER = "chat noir mange"
app = typer.Typer(pretty_exceptions_enable=False)
app.command()(explain)


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_taught_model(tmp_path_factory.mktemp("models") / "taught")


@pytest.fixture(scope="module")
def finished(taught: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose first checkpoint knew nothing and whose last is the taught one."""
    folder = tmp_path_factory.mktemp("runs") / "lesson"
    run = RunDirectory(folder)
    shutil.copytree(taught, run.model)
    model = load_model(taught)
    for step, weights in ((100, named_weights(network(model.config))), (200, named_weights(model))):
        run.checkpoints.save(step, {"model": weights}, {})
    record = RunRecord(
        model.config, TrainingConfig().model_dump(mode="json"), data="data", fingerprint="0"
    )
    run.write_record(record)
    for step in (100, 200):
        run.metrics.add(Trained(step, 2.0, 100 / step, 10, 1.0, 1e-3, 1.0, 0))
        run.metrics.add(Validated(step, 1 / step, 1.0, 1.0, 1.0, (), (), False))
    return folder


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def made(path: Path, *words: str | Path) -> bytes:
    """Run the command, which must write this file and say so, and return what is in it."""
    result = run(*words, "-o", path)
    assert result.exception is None, result.exception
    assert result.stdout == f"{path}\n"
    assert not list(path.parent.glob("*.translucid-partial"))
    return path.read_bytes()


def test_every_form_is_written(taught: Path, tmp_path: Path) -> None:
    words = (SENTENCE, "-m", taught)
    html = made(tmp_path / "a.html", *words).decode()
    assert html.startswith("<!doctype html>")
    content = saved_content(html)
    assert content["trace"]["translation"] == "sleeps black cat"
    assert content["address"] == "#/explore/map"
    assert content["lens"] is not None
    assert content["model"]["targets"] == ["en"]
    svg = ElementTree.fromstring(made(tmp_path / "a.svg", *words))
    assert svg[0].text == "Alignment"
    assert made(tmp_path / "a.png", *words).startswith(b"\x89PNG")
    assert made(tmp_path / "a.pdf", *words).startswith(b"%PDF-")
    facts = json.loads(made(tmp_path / "a.json", *words))
    assert facts["translation"] == "sleeps black cat"
    assert facts["level"] == "full"
    made(tmp_path / "a.safetensors", *words)
    trace = Trace.load(tmp_path / "a.safetensors", load(taught))
    assert trace.translation == "sleeps black cat"
    assert trace.level == "full"


def test_without_a_model_the_built_in_one_is_looked_into(tmp_path: Path) -> None:
    facts = json.loads(made(tmp_path / "a.json", "Thank you."))
    assert facts["translation"] == "Merci."
    assert facts["model_name"] == "fr-en"


@pytest.mark.parametrize(
    "name", [name for name in PANELS if name not in ("film", "curve", "patching")]
)
def test_every_panel_is_a_picture_or_a_place_on_the_page(
    name: str, taught: Path, tmp_path: Path
) -> None:
    words = (SENTENCE, "-m", taught, "--panel", name)
    if PANELS[name].draw is None:
        result = run(*words, "-o", tmp_path / "panel.svg")
        assert f"the panel {name} is drawn by the page: write .html" in str(result.exception)
    else:
        content = made(tmp_path / "panel.svg", *words)
        assert ElementTree.fromstring(content).get("role") == "img"
    page = saved_content(made(tmp_path / "panel.html", *words, "--level", "light").decode())
    assert page["address"].startswith(f"#/explore/{PANELS[name].page}")


def test_a_head_and_a_step_are_chosen(taught: Path, tmp_path: Path) -> None:
    out = tmp_path / "head.svg"
    text = made(
        out, SENTENCE, "-m", taught, "--panel", "cross", "--layer", "1", "--head", "2"
    ).decode()
    assert "<title>Cross-attention, layer 1, head 2</title>" in text
    text = made(
        out,
        SENTENCE,
        "-m",
        taught,
        "--panel",
        "attention-steps",
        "--side",
        "decoder",
        "--step",
        "2",
    ).decode()
    assert "what “sleeps” looks at" in text
    page = tmp_path / "head.html"
    text = made(page, SENTENCE, "-m", taught, "--panel", "softmax", "--step", "2").decode()
    assert saved_content(text)["address"] == "#/explore/output?step=2"


def test_a_given_translation_and_another_search(taught: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    facts = json.loads(made(out, SENTENCE, "-m", taught, "--given", "black cat"))
    assert (facts["origin"], facts["translation"]) == ("given", "black cat")
    facts = json.loads(made(out, SENTENCE, "-m", taught, "--method", "greedy", "--level", "light"))
    assert (facts["search"]["method"], facts["level"]) == ("greedy", "light")
    assert all(name.endswith(".weights") for name in facts["tensors"])


def test_a_saved_trace_draws_the_same_picture(taught: Path, tmp_path: Path) -> None:
    saved, first, second = (tmp_path / name for name in ("t.safetensors", "1.svg", "2.svg"))
    made(saved, SENTENCE, "-m", taught)
    for panel in ("beam", "attention-steps", "cross"):
        now = made(first, SENTENCE, "-m", taught, "--panel", panel)
        assert made(second, "--trace", saved, "-m", taught, "--panel", panel) == now
        assert made(second, "--trace", saved, "--panel", panel) == now  # it spells its own tokens
    page = tmp_path / "lens.html"
    lens = saved_content(made(page, "--trace", saved, "-m", taught, "--panel", "lens").decode())
    assert lens["lens"] is not None
    alone = saved_content(made(page, "--trace", saved, "--panel", "lens").decode())
    assert (alone["lens"], alone["address"]) == (None, "#/explore/lens")


def test_two_sentences_are_compared_in_the_terminal(taught: Path) -> None:
    words = ("-m", taught, "--control", "livre rouge maison")
    result = run(SENTENCE, "--against", OTHER, *words, "--patch", "source 1.3")
    assert result.exception is None, result.exception
    trace = explain_text(load(taught), SENTENCE, against=OTHER)
    assert trace.patching is not None
    said = result.stdout
    first, second = trace.patching.decision.margins
    assert f"1. {SENTENCE}\n   → sleeps black cat\n2. {OTHER}\n   → eats black cat\n" in said
    assert "Token 1 decides between “sleeps” and “eats”" in said
    assert f"{signed(first)} in 1, {signed(second)} in 2." in said
    for part in ("source", "target"):
        best = trace.patching.part(part)[0]
        row = next(line for line in said.splitlines() if line.lstrip().startswith(str(best.cell)))
        assert f"{best.forward:.2f}" in row
        assert f"{best.backward:.2f}" in row
    assert "Control: activations of “livre rouge maison”" in said
    _, _, patched = said.partition("Patched together: source 1.3\n")
    assert re.findall(r"→ (.*)", patched) == ["eats black cat", "sleeps black cat"]


def test_two_words_are_named(taught: Path) -> None:
    words = ("-m", taught, "--control", "livre rouge maison", "--between", "cat/eats")
    result = run("chat noir mange", "--against", "chat noir dort", *words, "--patch", "target 2.1")
    assert result.exception is None, result.exception
    assert "Token 1 decides between “cat” and “eats”" in result.stdout
    assert "share 1.00" in result.stdout


def test_the_comparison_is_repeated_and_drawn_and_saved(taught: Path, tmp_path: Path) -> None:
    saved = tmp_path / "pair.safetensors"
    words = (SENTENCE, "--against", OTHER, "-m", taught, "--control", "livre rouge maison")
    result = run(*words, "-o", saved, "--repeat", "2")
    assert result.exception is None, result.exception
    assert re.search(r"[0-2] of 2 other pairs with “dort” and “mange”", result.stdout)
    assert result.stdout.endswith(f"{saved}\n")
    trace = Trace.load(saved)
    assert trace.patching is not None
    assert trace.patching.second == OTHER
    picture = made(tmp_path / "a.svg", "--trace", saved, "--panel", "patching").decode()
    assert "Where is “sleeps” or “eats” decided?" in picture
    page = made(tmp_path / "a.html", "--trace", saved, "--panel", "patching").decode()
    assert saved_content(page)["address"] == "#/explore/pair"
    assert saved_content(page)["trace"]["patching"]["second"] == OTHER
    assert run(*words, "-o", tmp_path / "b.html").exception is None
    content = saved_content((tmp_path / "b.html").read_text(encoding="utf-8"))
    assert content["address"] == "#/explore/pair"


def test_two_checkpoints_are_compared(taught: Path, tmp_path: Path) -> None:
    model = load_model(taught)
    with torch.no_grad():
        model.encoder.layers[0].feed_forward.w_2.weight.mul_(-3)
    other = write_directory(
        tmp_path / "other", model, load(taught).tokenizer, load(taught).generation
    )
    words = (SENTENCE, "-m", taught, "--control", OTHER)
    result = run(*words, "--against-model", other, "--patch", "target 2.3")
    assert result.exception is None, result.exception
    assert "Token 3 decides" in result.stdout
    assert f"1. {SENTENCE}  (taught)\n" in result.stdout
    assert f"2. {SENTENCE}  (other)\n" in result.stdout
    assert "share 1.00" in result.stdout


def test_film_and_curve_of_a_run(finished: Path, tmp_path: Path) -> None:
    film = made(tmp_path / "film.html", SENTENCE, "--run", finished, "--panel", "film").decode()
    frames = saved_content(film)["run"]["frames"]
    assert [frame["step"] for frame in frames] == [100, 200]
    assert frames[-1]["translation"] == "sleeps black cat"
    assert {"film.0.cross.1", "film.1.cross.1"} <= set(saved_tensors(film))
    curve = made(tmp_path / "curve.svg", "--run", finished, "--panel", "curve").decode()
    assert "Loss and learning rate of lesson" in curve
    assert "0.005 at step 200" in curve
    page = made(tmp_path / "page.html", SENTENCE, "--run", finished).decode()
    run_of_page = saved_content(page)["run"]
    assert (run_of_page["run"]["name"], run_of_page["run"]["step"]) == ("lesson", 200)
    assert {event["event"] for event in run_of_page["events"]} >= {"trained", "validated"}
    alone = made(tmp_path / "curve.html", "--run", finished, "--panel", "curve").decode()
    assert alone.startswith("<!DOCTYPE html>")
    assert "Loss and learning rate of lesson" in alone


def test_a_film_never_holds_the_networks_of_all_checkpoints(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    weights = named_weights(load(finished).members[0].model)
    for step in (300, 400):
        RunDirectory(folder).checkpoints.save(step, {"model": weights}, {})
    networks: list[weakref.ref[Translator]] = []
    alive: list[int] = []

    def loading(run: RunDirectory, step: int, like: Translator) -> Translator:
        gc.collect()
        alive.append(sum(network() is not None for network in networks))
        found = load_checkpoint(run, step, like)
        networks.append(weakref.ref(found))
        return found

    monkeypatch.setattr(films, "load_checkpoint", loading)
    film = made(tmp_path / "film.html", SENTENCE, "--run", folder, "--panel", "film").decode()
    shown = [frame["step"] for frame in saved_content(film)["run"]["frames"]]
    assert shown == [100, 200, 300, 400]
    assert alive == [0, 1, 1, 1]  # the one before, until the next is there


def test_frames_of_many_checkpoints_are_chosen_evenly() -> None:
    steps = list(range(100, 10_100, 100))
    chosen = choose_evenly(steps, 24)
    assert len(set(chosen)) == 24
    assert (chosen[0], chosen[-1]) == (100, 10_000)
    assert choose_evenly([1, 2, 3], 24) == [1, 2, 3]
    assert choose_evenly([1, 2, 3], 1) == [3]


def test_the_panels_are_listed() -> None:
    lines = run("--panels").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(PANELS)
    assert any("--layer --head" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([SENTENCE, "-m", "MODEL"], "no file to write: give one with -o FILE"),
        ([SENTENCE, "-m", "MODEL", "--patch", "cross 1.1"], "--patch: what is compared is missing"),
        ([SENTENCE, "--against-model", "x", "--repeat", "2"], "under one model"),
        ([SENTENCE, "-m", "MODEL", "--against", SENTENCE], "so nothing is decided between them"),
        ([SENTENCE, "--against", "x", "--layer", "1"], "write one with -o FILE"),
        (["--trace", "x", "--against", "y", "-o", "OUT/a.svg"], "--against: a saved trace"),
        (
            [SENTENCE, "-m", "MODEL", "--against", OTHER, "--patch", "crass 1.1"],
            "no cell is called 'crass 1.1': give source, encoder, decoder, cross, target",
        ),
        (
            [SENTENCE, "-m", "MODEL", "--against", OTHER, "--patch", "cross 3.1"],
            "no such cell: cross 2.0 (part, layer and index, from 0)",
        ),
        ([SENTENCE, "--against", OTHER, "--between", "il"], "give two words, such as il/elle"),
        (
            [SENTENCE, "-m", "MODEL", "--against", OTHER, "--between", "black/red"],
            "nothing is decided between 'black' and 'red'",
        ),
        ([SENTENCE, "-m", "MODEL", "-o", "OUT/a.svg", "--panel", "patching"], "with --against"),
        ([SENTENCE, "-m", "MODEL", "-o", "OUT/a.gif"], "must end in .html, .svg, .png, .pdf"),
        ([SENTENCE, "-m", "MODEL", "-o", "OUT/no/a.svg"], "there is no folder"),
        (["-m", "MODEL", "-o", "OUT/a.svg"], "nothing to look at: give a TEXT"),
        ([SENTENCE, "-o", "OUT/a.svg", "--panel", "bean"], "did you mean 'beam'"),
        ([SENTENCE, "-o", "OUT/a.json", "--panel", "beam"], "holds the whole trace"),
        ([SENTENCE, "-o", "OUT/a.json", "--layer", "1"], "--layer chooses what a picture shows"),
        ([SENTENCE, "-o", "OUT/a.html", "--side", "cross"], "the page shows all three"),
        ([SENTENCE, "-o", "OUT/a.svg", "--panel", "arcs", "--side", "left"], "must be encoder"),
        ([SENTENCE, "-o", "OUT/a.svg", "--panel", "beam", "--head", "1"], "--head does not apply"),
        ([SENTENCE, "-m", "MODEL", "-o", "OUT/a.svg", "--level", "some"], "must be light or full"),
        ([SENTENCE, "--trace", "x", "-o", "OUT/a.svg"], "TEXT: a saved trace"),
        (["--trace", "x", "--given", "y", "--force", "-o", "OUT/a.svg"], "--given, --force"),
        (["--trace", "x", "--beam", "2", "-o", "OUT/a.svg"], "options of the search"),
        (["--trace", "OUT/none", "-o", "OUT/a.svg"], "there is no such file"),
        (["--panel", "curve", "-o", "OUT/a.svg"], "give it with --run RUN"),
        ([SENTENCE, "--panel", "curve", "--run", "x", "-o", "OUT/a.svg"], "shows a run, not a tr"),
        (
            ["--panel", "curve", "--run", "x", "-m", "MODEL", "--beam", "2", "-o", "OUT/a.svg"],
            "options of the search, -m: the panel curve shows a run",
        ),
        (
            [SENTENCE, "-m", "MODEL", "--run", "OUT", "--panel", "beam", "-o", "OUT/a.svg"],
            "leave one of the two out",
        ),
        ([SENTENCE, "-m", "MODEL", "--panel", "film", "-o", "OUT/a.svg"], "drawn by the page"),
        ([SENTENCE, "-m", "MODEL", "--panel", "film", "-o", "OUT/a.html"], "give it with --run"),
        (
            [SENTENCE, "-m", "MODEL", "--run", "OUT", "--panel", "film", "-o", "OUT/a.html"],
            "holds no training run",
        ),
        (
            [SENTENCE, "-m", "MODEL", "-o", "OUT/a.svg", "--panel", "cross", "--layer", "7"],
            "no layer number 7: this decoder has 2",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_says_why(
    words: list[str], message: str, taught: Path, tmp_path: Path
) -> None:
    places = {"MODEL": str(taught), "OUT": str(tmp_path)}
    result = run(*(re.sub("MODEL|OUT", lambda found: places[found[0]], word) for word in words))
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_a_search_that_contradicts_itself_is_refused(taught: Path, tmp_path: Path) -> None:
    result = run(
        SENTENCE, "-m", taught, "-o", tmp_path / "a.svg", "--method", "greedy", "--beam", "3"
    )
    assert isinstance(result.exception, ConfigError)
    assert "beam is not used by the method 'greedy'" in str(result.exception)


def test_a_trace_of_another_model_is_refused(taught: Path, tmp_path: Path) -> None:
    saved = tmp_path / "t.safetensors"
    made(saved, SENTENCE, "-m", taught)
    other = write_random_model(tmp_path / "other", kind="word")
    result = run("--trace", saved, "-m", other, "-o", tmp_path / "a.svg")
    assert isinstance(result.exception, DataError | InputError)
    assert "t.safetensors" in str(result.exception)


def test_a_run_of_another_network_is_refused(finished: Path, tmp_path: Path) -> None:
    other = write_random_model(tmp_path / "other", kind="word")
    result = run(
        SENTENCE, "-m", other, "--run", finished, "--panel", "film", "-o", tmp_path / "a.html"
    )
    assert isinstance(result.exception, InputError)
    assert "the model is not one of the run" in str(result.exception)


HOW_TO = Path(__file__).parents[2] / "docs" / "how-to-look-inside.md"


def test_the_how_to_page_shows_pictures_of_commands_that_exist() -> None:
    """Every picture is there and sound, and made by a command whose options mean something."""
    text = HOW_TO.read_text(encoding="utf-8")
    shown = set(re.findall(r"!\[[^\]]+\]\((pictures/[^)]+)\)", text))
    drawn = set()
    for line in re.findall(r"^\$ (translucid explain .*)", text.replace("\\\n", " "), flags=re.M):
        words = shlex.split(line)
        options = {name: value for name, value in itertools.pairwise(words) if name[:2] == "--"}
        numbers = {
            name: int(options[f"--{name}"])
            for name in ("layer", "head", "step")
            if f"--{name}" in options
        }
        if panel := options.get("--panel"):
            check_choice(panel, Choice(side=options.get("--side"), **numbers))  # type: ignore[arg-type]
            drawn.add(words[words.index("-o") + 1])
    assert shown == drawn
    for name in shown:
        svg = ElementTree.parse(HOW_TO.parent / name).getroot()
        assert svg.get("role") == "img"
    assert sum((HOW_TO.parent / name).stat().st_size for name in shown) < 700_000
