"""``translucid demo``, with a small lesson and a small network in the place of the real ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from saved_pages import saved_content
from translucid.checkpoint.model_directory import (
    load_model,
)
from translucid.cli import demo
from translucid.data.readers import built_in as lesson
from translucid.evaluation.evaluate import Sentence
from translucid.presets import find_preset
from translucid.training.recipe import Settings, build_recipe, preset_settings
from translucid.translator import Flags
from word_data import word_pairs

app = typer.Typer(pretty_exceptions_enable=False)
app.command("demo")(demo.demo)


def short_lesson(folder: Path) -> lesson.LessonFiles:
    folder.mkdir(parents=True, exist_ok=True)
    files = lesson.LessonFiles(*(folder / f"{name}.tsv" for name in lesson.LessonFiles._fields))
    for number, (path, count) in enumerate(zip(files, (120, 12, 13), strict=True)):
        pairs = word_pairs(count, seed=number, longest=8)
        lines = [("fr", "en"), *pairs]
        path.write_text("".join(f"{fr}\t{en}\n" for fr, en in lines), encoding="utf-8")
    return files


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson, "write_lesson", short_lesson)
    sizes = {"d_model": 16, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    steps = {"batch_tokens": 300, "max_steps": 4, "validate_every": 2, "checkpoint_every": 2}
    monkeypatch.setattr(demo, "MODEL", sizes)
    monkeypatch.setattr(demo, "TRAINING", steps)
    monkeypatch.setattr(demo, "VOCABULARY", 340)


def run(folder: Path) -> Result:
    return CliRunner().invoke(app, ["-o", str(folder)])


@pytest.mark.usefixtures("short")
def test_the_whole_way(tmp_path: Path) -> None:
    done = run(tmp_path / "demo")
    assert done.exit_code == 0, done.output
    french, _, english, _, score, signature, pronouns, *translations, picture, page = (
        done.stdout.splitlines()
    )
    assert (french, english) == demo.GREETINGS
    assert score.startswith("BLEU ")
    assert score.endswith(" of 13 exact")
    assert "tok:13a" in signature
    assert pronouns.endswith("il or elle is right in 0 of 0")
    assert [line for line in translations if not line.startswith("  →")] == list(demo.SENTENCES)
    assert len(translations) == 2 * len(demo.SENTENCES)
    headings = re.findall(r"^\d\. (.{8})", done.stderr, re.MULTILINE)
    assert headings == ["The buil", "The less", "Training", "Measurin", "Translat", "Looking "]
    assert Path(picture).read_text(encoding="utf-8").startswith("<svg")
    content = saved_content(Path(page).read_text(encoding="utf-8"))
    assert content["trace"]["source"] == demo.SENTENCES[1]
    assert load_model(tmp_path / "demo" / "run" / "best").config.d_model == 16
    heads = json.loads((tmp_path / "demo" / "run" / "best" / "alignment.json").read_bytes())
    assert heads["links"] > 0
    again = run(tmp_path / "demo")  # everything is there: nothing is trained anew
    assert again.exit_code == 0, again.output
    assert again.stdout == done.stdout
    assert "Resumed after step 4" in again.stderr


def test_the_real_recipe_is_valid() -> None:
    layers = [preset_settings(find_preset(demo.PRESET)), Settings(demo.MODEL, demo.TRAINING)]
    recipe = build_recipe(layers, (demo.VOCABULARY, demo.VOCABULARY))
    assert recipe.training.max_steps % recipe.training.validate_every == 0


def test_pronouns_are_counted_where_english_leaves_them_open() -> None:
    ill = "because it was ill."
    rows = [
        (f"The cow slept {ill}", "… parce qu'elle était malade.", "… parce qu'elle était malade."),
        (f"The bull slept {ill}", "… parce qu'il était malade.", "… parce qu'elle était malade."),
        (f"The bulls slept {ill}", "… parce qu'ils sont là.", "… parce qu'il est là."),
        ("She slept because she was ill.", "… parce qu'elle est là.", "… parce qu'il est là."),
    ]
    sentences = [
        Sentence(line, source, (reference,), translation, 0.0, None, Flags())
        for line, (source, reference, translation) in enumerate(rows, start=1)
    ]
    assert demo._count_pronouns(sentences) == (1, 3)
