"""The whole way in Python, as the README shows it: prepare, train, translate, explain, serve …"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import translucid
from translucid.data.prepare import Prepared
from translucid.training.recipe import Settings
from translucid.training.study import Row, Study
from translucid.training.train import TrainedRun
from word_data import word_data, word_pairs


def train_small(folder: Path) -> tuple[Prepared, TrainedRun, list[object]]:
    data = translucid.prepare(
        ["lesson"],
        source="fr",
        target="en",
        output=folder / "data",
        split=(40, 40),
        max_words=5,
        tokenizer="word",
        placeholders=0.0,
        workers=1,
    )
    events: list[object] = []
    run = translucid.train(
        data,
        output=folder / "run",
        preset="tiny",
        max_steps=30,
        warmup_steps=10,
        validate_every=30,
        validation_sample=20,
        batch_tokens=512,
        encoder_layers=1,
        decoder_layers=1,
        d_model=32,
        d_ff=64,
        heads=2,
        on_event=events.append,
    )
    return data, run, events


def test_the_library_from_files_to_a_look_inside(tmp_path: Path) -> None:
    data, run, events = train_small(tmp_path)
    assert len(data.split("test")) == 40
    assert events
    model = translucid.load(run)
    assert (run.model / "README.md").is_file()  # the model card
    assert (run.model / "alignment.json").is_file()  # alignment heads, as the command finds them
    one = model.translate("Le chat dort.", beam=2)
    assert one == model.translate(["Le chat dort."], beam=2)[0]
    found = translucid.evaluate(model, data, resamples=0)
    assert 0 <= found.bleu.score <= 100
    assert "nrefs:1" in found.bleu.signature
    trace = translucid.explain(model, "Le chat dort.")
    trace.save(tmp_path / "inside.html")
    assert "</html>" in (tmp_path / "inside.html").read_text(encoding="utf-8")
    trace.save(tmp_path / "inside.json")
    assert json.loads((tmp_path / "inside.json").read_text(encoding="utf-8"))["source"]
    assert run.directory.path == tmp_path / "run"
    mean = translucid.average(run, output=tmp_path / "mean", last=1)
    assert translucid.load(mean).translate("Le chat dort.").text == model.translate(one.source).text
    with translucid.serve(model, runs=[run], port=0, max_texts=3, background=True) as server:
        assert httpx.get(f"{server.url}/health/live").json() == {"status": "alive"}
        answer = httpx.post(f"{server.url}/v1/translate", json={"texts": [one.source]})
        assert answer.json()["translations"][0]["source"] == one.source
        assert [shown["name"] for shown in httpx.get(f"{server.url}/v1/runs").json()["runs"]]
    assert server.exit_code == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.url)


SCRIPT = """
import translucid as tl

data = tl.prepare(
    "pairs.tsv", source="fr", target="en", output="data", split=(20, 20), chunk_pairs=50,
    tokenizer="word", placeholders=0,
)
run = tl.train(data, output="run", preset="tiny", max_steps=2, validate_every=2, d_model=16)
print(tl.load("run").translate("petit chat").source)
"""


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    pairs = "".join(f"{fr}\t{en}\n" for fr, en in word_pairs(300, seed=3))
    (tmp_path / "pairs.tsv").write_text(pairs, encoding="utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "petit chat\n"


SMALL = Settings(
    model={"d_model": 16, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1, "heads": 2},
    training={"batch_tokens": 60, "warmup_steps": 2},
)


def test_a_study_from_python(tmp_path: Path) -> None:
    splits = {"train": word_pairs(60, seed=1), "dev": word_pairs(8, seed=2)}
    data = word_data(tmp_path / "data", splits)
    rows = (Row("base", "", Settings()), Row("1 head", "A", Settings({"heads": 1})))
    heads = Study("how many heads?", SMALL, rows)
    found = translucid.study(heads, data, output=tmp_path / "study", max_steps=3)
    assert found.is_complete
    assert [(row.name, row.seed, row.step) for row in found.rows] == [
        ("base", 1, 3),
        ("1 head", 1, 3),
    ]
    assert found.table == (tmp_path / "study" / "table.md").read_text(encoding="utf-8")
    assert translucid.study(heads, data, output=tmp_path / "study", max_steps=3) == found
