"""``translucid recipe``: the commands of a recipe, and one that really runs."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from translucid.checkpoint.run_directory import RunDirectory
from translucid.cli.main import app
from translucid.cli.recipe import Stage, list_models, parse_directions, plan_stages, run_command
from translucid.cli.recipe_file import read_recipe
from translucid.data.shards import open_data
from translucid.errors import ConfigError, InputError

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
SMALL = """
about = "a few steps of copying"

[data]
corpus = "copy"

[model]
d_model = 16
d_ff = 16
heads = 2
encoder_layers = 1
decoder_layers = 1

[training]
batch_tokens = 200
max_steps = 4
checkpoint_every = 2
validation_sample = 2

[result]
average = 2
half = true
evaluate = ["--method", "greedy", "--max-length", "3", "--resamples", "0"]

[expected]
qaa-qab = "nothing after four steps"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


def commands(
    path: Path, folder: Path, mirror: str | None = None, seed: int | None = None
) -> list[str]:
    """Return the commands of a recipe; each is one whose options `translucid` has."""
    known = cast("TyperGroup", get_command(app)).commands
    found = plan_stages(read_recipe(path), folder, mirror=mirror, seed=seed)
    for name, *words in (stage.words for stage in found):
        known[name].make_context(name, list(words))
    return [" ".join(stage.words) for stage in found]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_of_ours_gives_commands_that_exist(path: Path, tmp_path: Path) -> None:
    assert commands(path, tmp_path)
    assert read_recipe(path).about


def test_there_are_recipes() -> None:
    assert "lesson" in {path.stem for path in RECIPES}


def test_a_fetched_corpus_in_both_directions(tmp_path: Path) -> None:
    text = '[data]\ncorpus = "tatoeba-fra-eng"\nprepare = ["--both"]\n'
    fetch, prepare, train, forth, back = commands(
        written(tmp_path, text), Path("out"), mirror="copies"
    )
    assert fetch == "fetch tatoeba-fra-eng -o out/corpora --mirror copies"
    assert prepare.startswith("prepare out/corpora/tatoeba-fra-eng/eng-fra.tsv --from fr --to en")
    assert prepare.endswith("--both -o out/data")
    assert train == f"train out/data -o out/run -c {tmp_path / 'recipe.toml'} --resume"
    assert forth.startswith("evaluate -m out/run/best --data out/data --from fr --to en")
    assert back.endswith("--from en --to fr -o out/scores/en-fr")


TAUGHT = '[data]\ncorpus = "multi30k"\nteachers = ["teacher.toml"]\n'


def teacher(tmp_path: Path, text: str, name: str = "teacher.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_teacher_comes_first_and_its_translations_are_learned_too(tmp_path: Path) -> None:
    vocabulary = '[data]\ncorpus = "multi30k"\nprepare = ["--vocab-size", "900"]\n'
    first = teacher(tmp_path, f'{vocabulary}[result]\naverage = 3\ntranslate = ["--beam", "2"]\n')
    path = written(tmp_path, TAUGHT)
    found = commands(path, Path("out"), seed=5)
    fetch, prepare, train, average, translate, again, student, evaluate = found
    corpus = "out/corpora/multi30k"
    pair = f"{corpus}/train.en.gz {corpus}/train.de.gz"
    seed = "--set training.seed=5 --resume"
    assert fetch == "fetch multi30k -o out/corpora"
    assert prepare.startswith(f"prepare {pair} --from en")
    assert prepare.endswith("--vocab-size 900 -o out/teachers/teacher/data")
    assert train == f"train out/teachers/teacher/data -o out/teachers/teacher/run -c {first} {seed}"
    assert average == "average out/teachers/teacher/run --last 3 -o out/teachers/teacher/model"
    assert translate == (
        f"translate -m out/teachers/teacher/model -i {corpus}/train.en.gz "
        "-o out/teachers/teacher/translations.en-de.tsv --format tsv --to de --beam 2 --resume"
    )
    more = "out/teachers/teacher/translations.en-de.tsv"
    assert again.startswith(f"prepare {pair} {more} --from en --to de")
    assert again.endswith("--tokenizer-from out/teachers/teacher/data -o out/data")
    assert student == f"train out/data -o out/run -c {path} {seed}"
    assert evaluate.startswith("evaluate -m out/run/best --data out/data --from en --to de")


def test_a_teacher_of_both_directions_translates_both_sides(tmp_path: Path) -> None:
    teacher(tmp_path, '[data]\ncorpus = "multi30k"\nprepare = ["--both"]\n')
    found = commands(written(tmp_path, TAUGHT), Path("out"))
    forth, back = (command for command in found if command.startswith("translate"))
    source, target = (f"out/corpora/multi30k/train.{language}.gz" for language in ("en", "de"))
    german, english = (f"out/teachers/teacher/translations.{d}.tsv" for d in ("en-de", "de-en"))
    assert f"-i {source} -o {german} --format tsv --to de" in forth
    assert f"-i {target} -o {english} --format tsv --to en" in back
    prepare = [command for command in found if command.startswith("prepare")][-1]
    assert prepare.startswith(f"prepare {source} {target} {german} {english} --from en --to de")
    assert [command for command in found if command.startswith("evaluate")] == [found[-1]]


def test_a_recipe_of_the_other_direction_translates_its_own_source_side(tmp_path: Path) -> None:
    turned = 'prepare = ["--from", "de", "--to", "en"]\n'
    teacher(tmp_path, f'[data]\ncorpus = "multi30k"\n{turned}')
    found = commands(written(tmp_path, TAUGHT + turned), Path("out"))
    (translate,) = (command for command in found if command.startswith("translate"))
    assert "-i out/corpora/multi30k/train.de.gz" in translate
    assert "-o out/teachers/teacher/translations.de-en.tsv --format tsv --to en" in translate


def test_each_of_several_teachers_is_trained_and_translates(tmp_path: Path) -> None:
    turned = 'prepare = ["--from", "de", "--to", "en"]\n'
    for name, more in {"forth.toml": "", "back.toml": turned}.items():
        teacher(tmp_path, f'[data]\ncorpus = "multi30k"\n{more}', name)
    both = TAUGHT.replace('"teacher.toml"', '"forth.toml", "back.toml"')
    found = commands(written(tmp_path, both), Path("out"))
    kinds = [command.split()[0] for command in found]
    lesson = ["prepare", "train", "translate"]
    assert kinds == ["fetch", *lesson, *lesson, "prepare", "train", "evaluate"]
    german, english = (command for command in found if command.startswith("translate"))
    made = [
        f"out/teachers/{d}.tsv" for d in ("forth/translations.en-de", "back/translations.de-en")
    ]
    assert f"-i out/corpora/multi30k/train.en.gz -o {made[0]}" in german
    assert f"-i out/corpora/multi30k/train.de.gz -o {made[1]}" in english
    assert f"train.de.gz {' '.join(made)} --from en --to de" in found[-3]
    assert found[-3].endswith("--tokenizer-from out/teachers/forth/data -o out/data")


def test_teachers_that_would_share_a_folder_are_refused(tmp_path: Path) -> None:
    teacher(tmp_path, '[data]\ncorpus = "multi30k"\n')
    twice = TAUGHT.replace('"teacher.toml"', '"teacher.toml", "./teacher.toml"')
    with pytest.raises(ConfigError, match="two have the same name"):
        read_recipe(written(tmp_path, twice))


def test_a_pupil_teaches_in_turn_and_translates_together_with_its_teacher(tmp_path: Path) -> None:
    corpus = '[data]\ncorpus = "multi30k"\n'
    teacher(tmp_path, corpus, "first.toml")
    teacher(tmp_path, f'{corpus}prepare = ["--from", "de", "--to", "en"]\n', "back.toml")
    taught = f'{corpus}teachers = ["first.toml", "back.toml"]\n'
    teacher(tmp_path, f'{taught}[result]\naverage = 1\nbeside = ["first.toml"]\n', "second.toml")
    path = written(
        tmp_path,
        f'{corpus}teachers = ["second.toml", "back.toml"]\n'
        '[result]\nbeside = ["first.toml", "second.toml"]\n',
    )
    found = commands(path, Path("out"))
    first, back, second = (f"out/teachers/{name}" for name in ("first", "back", "second"))
    trained = [command.split()[1] for command in found if command.startswith("train ")]
    assert trained == [f"{first}/data", f"{back}/data", f"{second}/data", "out/data"]
    translated = [command for command in found if command.startswith("translate")]
    assert [command.split(" -i ")[0] for command in translated] == [
        f"translate -m {first}/run/best",
        f"translate -m {back}/run/best",
        f"translate -m {second}/model -m {first}/run/best",
    ]
    prepare = [command for command in found if command.startswith("prepare")]
    made = f"{second}/translations.en-de.tsv {back}/translations.de-en.tsv"
    assert f"train.de.gz {made} --from en --to de" in prepare[-1]
    assert prepare[-1].endswith(f"--tokenizer-from {second}/data -o out/data")
    assert f"train.de.gz {first}/translations.en-de.tsv {back}/trans" in prepare[-2]
    models = f"-m out/run/best -m {first}/run/best -m {second}/model"
    assert found[-1].startswith(f"evaluate {models} --data out/data")


def test_a_teacher_of_another_corpus_is_refused(tmp_path: Path) -> None:
    teacher(tmp_path, '[data]\ncorpus = "lesson"\n')
    with pytest.raises(ConfigError, match=r"'teacher.toml' must have the same corpus"):
        read_recipe(written(tmp_path, TAUGHT))


def test_a_recipe_that_teaches_itself_is_refused(tmp_path: Path) -> None:
    teacher(tmp_path, TAUGHT.replace("teacher.toml", "recipe.toml"))
    with pytest.raises(ConfigError, match=r"teacher.toml.*\n.*cannot be its own teacher"):
        read_recipe(written(tmp_path, TAUGHT))


def test_only_a_teacher_of_the_same_direction_translates_along(tmp_path: Path) -> None:
    teacher(tmp_path, '[data]\ncorpus = "multi30k"\nprepare = ["--from", "de", "--to", "en"]\n')
    beside = f'{TAUGHT}[result]\nbeside = ["teacher.toml"]\n'
    with pytest.raises(InputError, match=r"teacher.toml cannot translate together .* direction"):
        commands(written(tmp_path, beside), tmp_path)


LONE = '[data]\ncorpus = "multi30k"\n'


def test_companions_learn_the_same_data_and_translate_along(tmp_path: Path) -> None:
    other = teacher(tmp_path, f"{LONE}[training]\nseed = 2\n[result]\naverage = 3\n", "other.toml")
    third = teacher(tmp_path, f'{LONE}[result]\nbeside = ["recipe.toml"]\n', "third.toml")
    path = written(tmp_path, f'{LONE}[result]\nbeside = ["other.toml", "third.toml"]\n')
    found = commands(path, Path("out"))
    kinds = [command.split()[0] for command in found]
    assert kinds == ["fetch", "prepare", "train", "train", "average", "train", "evaluate"]
    beside = "out/beside"
    assert found[2] == f"train out/data -o out/run -c {path} --resume"
    assert found[3] == f"train out/data -o {beside}/other/run -c {other} --resume"
    assert found[4] == f"average {beside}/other/run --last 3 -o {beside}/other/model"
    assert found[5] == f"train out/data -o {beside}/third/run -c {third} --resume"
    models = ("out/run/best", f"{beside}/other/model", f"{beside}/third/run/best")
    assert found[6].startswith(f"evaluate -m {' -m '.join(models)} --data out/data")
    assert list_models(read_recipe(path), Path("out")) == [Path(model) for model in models]
    seeds = [word for command in commands(path, Path("out"), seed=5) for word in command.split()]
    assert [word for word in seeds if word.startswith("training.seed=")] == [
        f"training.seed={seed}" for seed in (5, 6, 7)
    ]


def test_a_teacher_translates_together_with_its_companion(tmp_path: Path) -> None:
    teacher(tmp_path, f'{LONE}[result]\nbeside = ["other.toml"]\n')
    teacher(tmp_path, LONE, "other.toml")
    found = commands(written(tmp_path, TAUGHT), Path("out"))
    place = "out/teachers/teacher"
    trained = [command.split()[3] for command in found if command.startswith("train ")]
    assert trained == [f"{place}/run", f"{place}/beside/other/run", "out/run"]
    (translate,) = (command for command in found if command.startswith("translate"))
    models = f"-m {place}/run/best -m {place}/beside/other/run/best"
    assert translate.startswith(f"translate {models} -i")


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ('"other.toml"', r"'other.toml' is no teacher .* same \[data\]"),
        ('"recipe.toml"', r"translates along with others, not with itself"),
        ('"twin.toml", "./twin.toml"', r"beside: two have the same name"),
    ],
)
def test_companions_that_are_refused(tmp_path: Path, beside: str, message: str) -> None:
    teacher(tmp_path, f'{LONE}prepare = ["--vocab-size", "900"]\n', "other.toml")
    teacher(tmp_path, LONE, "twin.toml")
    with pytest.raises(ConfigError, match=message):
        read_recipe(written(tmp_path, f"{LONE}[result]\nbeside = [{beside}]\n"))


def test_a_companion_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml"):
        read_recipe(written(tmp_path, f'{LONE}[result]\nbeside = ["none.toml"]\n'))


def test_a_teacher_of_the_other_direction_reads_back(tmp_path: Path) -> None:
    corpus = '[data]\ncorpus = "multi30k"\n'
    teacher(tmp_path, corpus, "forth.toml")
    teacher(tmp_path, f'{corpus}prepare = ["--from", "de", "--to", "en"]\n', "back.toml")
    taught = f'{corpus}teachers = ["forth.toml", "back.toml"]\n[result]\n'
    found = commands(written(tmp_path, f'{taught}rerank = ["back.toml"]\n'), Path("out"))
    reader = "--rerank out/teachers/back/run/best"
    assert [command.split()[0] for command in found if reader in command] == ["evaluate"]
    with pytest.raises(InputError, match=r"forth.toml cannot rerank .* for de → en"):
        commands(written(tmp_path, f'{taught}rerank = ["forth.toml"]\n'), tmp_path)
    teacher(tmp_path, f'{corpus}prepare = ["--from", "de", "--to", "en"]\n', "again.toml")
    two = taught.replace('"back.toml"]', '"back.toml", "again.toml"]')
    with pytest.raises(InputError, match=r"rerank have different tokenizers"):
        commands(written(tmp_path, f'{two}rerank = ["back.toml", "again.toml"]\n'), tmp_path)
    with pytest.raises(ConfigError, match=r"rerank: 'other.toml' is no teacher of this recipe"):
        read_recipe(written(tmp_path, f'{taught}rerank = ["other.toml"]\n'))


def test_teacher_and_pupil_are_both_of_lower_case_or_neither(tmp_path: Path) -> None:
    teacher(tmp_path, '[data]\ncorpus = "multi30k"\nprepare = ["--lowercase"]\n')
    with pytest.raises(ConfigError, match=r"'teacher.toml' and this recipe must both have --lower"):
        read_recipe(written(tmp_path, TAUGHT))
    assert read_recipe(written(tmp_path, f'{TAUGHT}prepare = ["--lowercase"]\n')).teachers


def test_who_computes_together_writes_the_same_pieces(tmp_path: Path) -> None:
    """What would fail after hours of training is refused before it begins."""
    corpus, only = '[data]\ncorpus = "multi30k"\n', '"--target-pieces-only"'
    german = '"--from", "de", "--to", "en"'
    teacher(tmp_path, corpus, "teacher.toml")
    with pytest.raises(InputError, match=r"and --target-pieces-only too; teacher.toml has not"):
        commands(written(tmp_path, f"{TAUGHT}prepare = [{only}]\n"), tmp_path)
    teacher(tmp_path, f"{corpus}prepare = [{only}, {german}]\n", "teacher.toml")
    with pytest.raises(InputError, match=r"must have the same direction .*teacher.toml has not"):
        commands(written(tmp_path, f"{TAUGHT}prepare = [{only}]\n"), tmp_path)
    teacher(tmp_path, f"{corpus}prepare = [{only}]\n", "teacher.toml")
    beside = '[result]\nbeside = ["teacher.toml"]\n'
    with pytest.raises(InputError, match=r"teacher.toml has --target-pieces-only in .* has not"):
        commands(written(tmp_path, f"{TAUGHT}{beside}"), tmp_path)
    assert commands(written(tmp_path, f"{TAUGHT}prepare = [{only}]\n{beside}"), tmp_path)
    teacher(tmp_path, f"{corpus}prepare = [{german}]\n", "back.toml")
    pupil = f'{corpus}teachers = ["back.toml"]\nprepare = [{german}]\n'
    teacher(tmp_path, pupil, "again.toml")
    two = '[data]\ncorpus = "multi30k"\nteachers = ["teacher.toml", "back.toml", "again.toml"]\n'
    both = '[result]\nrerank = ["back.toml", "again.toml"]\n'
    assert commands(written(tmp_path, f"{two}{both}"), tmp_path)
    teacher(tmp_path, f"{corpus}prepare = [{only}, {german}]\n", "back.toml")
    with pytest.raises(InputError, match=r"back.toml has --target.* and again.toml has not"):
        commands(written(tmp_path, f"{two}{both}"), tmp_path)


def test_only_a_teacher_with_the_same_tokenizer_translates_along(tmp_path: Path) -> None:
    for name in ("teacher.toml", "other.toml"):
        teacher(tmp_path, '[data]\ncorpus = "multi30k"\n', name)
    both = TAUGHT.replace('"teacher.toml"', '"teacher.toml", "other.toml"')
    path = written(tmp_path, f'{both}[result]\nbeside = ["other.toml"]\n')
    with pytest.raises(InputError, match=r"other.toml cannot translate together .* tokenizer"):
        commands(path, tmp_path)


def test_a_recipe_with_teachers_is_of_one_direction(tmp_path: Path) -> None:
    teacher(tmp_path, '[data]\ncorpus = "multi30k"\n')
    with pytest.raises(InputError, match="of one direction, not --both"):
        commands(written(tmp_path, f'{TAUGHT}prepare = ["--both"]\n'), tmp_path)


def test_a_teacher_needs_two_text_files(tmp_path: Path) -> None:
    teacher(tmp_path, '[data]\ncorpus = "tatoeba-fra-eng"\n')
    path = written(tmp_path, TAUGHT.replace("multi30k", "tatoeba-fra-eng"))
    with pytest.raises(InputError, match="a teacher needs a corpus of two text files"):
        commands(path, tmp_path)


def test_translations_that_are_complete_are_not_made_again(tmp_path: Path) -> None:
    stage = Stage("translate", ("translate",), tmp_path / "out.de")
    assert not stage.is_done
    (tmp_path / "out.de").touch()
    assert stage.is_done
    record = tmp_path / "out.de.unfinished" / "progress.json"
    record.parent.mkdir()
    record.touch()
    assert not stage.is_done
    assert not Stage("prepare", ("prepare",)).is_done


def test_the_commands_can_be_read_and_repeated(tmp_path: Path) -> None:
    words = ["recipe", str(written(tmp_path, SMALL)), "-o", "a folder", "--seed", "7", "--dry-run"]
    shown = CliRunner().invoke(app, words)
    lines = [shlex.split(line) for line in shown.stdout.splitlines()]
    assert [line[:2] for line in lines] == [
        ["translucid", name] for name in ("prepare", "train", "average", "evaluate")
    ]
    assert "training.seed=7" in lines[1]
    assert lines[2][-5:] == ["--last", "2", "--half", "-o", "a folder/model"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[data]\n", r"\[data\] .*corpus"),
        ('[data]\ncorpus = "lesson"\n[result]\nhalf = true\n', "half = true rounds an average"),
        ('[data]\ncorpus = "lesson"\n[expected]\nfr-en = 3\n', "has texts only"),
        ('[data]\ncorpus = "lesson"\n[result]\naverag = 3\n', "did you mean 'average'"),
        ('about = 3\n[data]\ncorpus = "lesson"\n', "about = 3: must be a text"),
        ("[dat]\n", "did you mean 'data'"),
    ],
)
def test_what_is_wrong_with_a_recipe(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_recipe(written(tmp_path, text))


def test_unknown_corpora_and_languages(tmp_path: Path) -> None:
    path = written(tmp_path, '[data]\ncorpus = "tatoba-fra-eng"\n')
    with pytest.raises(InputError, match="tatoeba-fra-eng"):
        commands(path, tmp_path)
    with pytest.raises(InputError, match="lacks --to, the languages"):
        parse_directions(("a.tsv", "--from", "fr"))


def test_the_command_inside_has_the_last_word_about_a_signal(tmp_path: Path) -> None:
    """SIGTERM to the outer process: the inner one ends in its own way, and its code is told."""
    inner = (
        "import signal, sys, pathlib\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))\n"
        f"pathlib.Path({str(tmp_path / 'ready')!r}).touch()\n"
        "signal.pause()\n"
    )
    outer = (
        "import sys\nfrom translucid.cli.recipe import run_command\n"
        f"sys.exit(run_command([sys.executable, '-c', {inner!r}]))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", outer])
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=60) == 130
    assert run_command([sys.executable, "-c", "raise SystemExit(3)"]) == 3


def test_a_recipe_runs(tmp_path: Path) -> None:
    path, folder = written(tmp_path, SMALL), tmp_path / "out"
    command = [sys.executable, "-m", "translucid", "recipe", str(path), "-o", str(folder)]
    first = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert first.returncode == 0, first.stderr
    assert "$ translucid prepare copy" in first.stderr
    assert "expected qaa-qab: nothing after four steps" in first.stderr
    assert first.stdout.splitlines()[-1] == str(folder / "model")
    scores = json.loads((folder / "scores" / "qaa-qab" / "scores.json").read_text())
    assert "bleu" in json.dumps(scores).lower()
    assert RunDirectory(folder / "run").read_record().training["max_steps"] == 4
    assert open_data(folder / "data").manifest.directions == (("qaa", "qab"),)


def test_a_stage_that_fails_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, '[data]\ncorpus = "multi30k"\n')
    words = ["recipe", str(path), "-o", str(tmp_path / "out"), "--mirror", str(tmp_path)]
    command = [sys.executable, "-m", "translucid", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 2
    assert "lacks 6 of the files of multi30k" in done.stderr
    assert "stopped at stage 1, fetch: the same command continues" in done.stderr
