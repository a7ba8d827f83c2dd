"""Several processes, started by the real torchrun: equal to one, and to themselves after a loss."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file
from same_runs import assert_same, metrics
from short_runs import toy_config, toy_settings, train

from networks import ragged, small_config
from translucid.data.shards import PreparedData
from translucid.errors import InputError
from translucid.model import Transformer
from translucid.training.distributed import (
    SINGLE_PROCESS,
    DistributedContext,
    Distribution,
    LostProcessError,
    Replicated,
    Sharded,
    _fresh_store,
    explain_lost_process,
    join_processes,
)
from translucid.training.loss import Objective

SETTINGS = toy_settings(max_steps=20, validate_every=10, keep_checkpoints=9)
CUT = 9  # a checkpoint in the middle
CPU = torch.device("cpu")

# The command as it is; but in its first life, process 1 dies in the middle of the run.
MORTAL = f"""
import os, signal
from translucid.cli.main import main
from translucid.events import Trained
from translucid.training.trainer import Trainer

def events(self, events=Trainer.events):
    for event in events(self):
        yield event
        if isinstance(event, Trained) and event.step == {CUT + 2}:
            os.kill(os.getpid(), signal.SIGKILL)

if (os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]) == ("1", "0"):
    Trainer.events = events
main()
"""


def torchrun(processes: int, *command: str | Path, restarts: int = 0) -> list[str]:
    options = ["--standalone", f"--nproc-per-node={processes}", f"--max-restarts={restarts}"]
    return [sys.executable, "-m", "torch.distributed.run", *options, *map(str, command)]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in processes of one thread, as all tests do."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def recipe(folder: Path, data: PreparedData) -> Path:
    """Write the settings of the toy network and its training as people would."""
    lines = []
    for name, config in (("model", toy_config(data)), ("training", SETTINGS)):
        lines += [f"[{name}]", *(f"{k} = {json.dumps(v)}" for k, v in config.model_dump().items())]
    path = folder / "recipe.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def cut(whole: Path, copy: Path) -> Path:
    """Copy a run as it was after a checkpoint in the middle."""
    shutil.copytree(whole, copy)
    for path in (copy / "checkpoints").iterdir():
        if int(path.name.removeprefix("step-")) > CUT:
            shutil.rmtree(path)
    return copy


def assert_near(one: Path, two: Path, tolerance: float) -> None:
    """Weights, their average and the optimiser's memory after the last step are almost equal."""
    for name in ("model", "average", "optimizer"):
        path = Path("checkpoints") / f"step-{SETTINGS.max_steps:06d}" / f"{name}.safetensors"
        first, second = load_file(one / path), load_file(two / path)
        assert first.keys() == second.keys()
        far = {n: float((t - second[n]).abs().max()) for n, t in first.items()}
        assert max(far.values()) <= tolerance, far


@pytest.fixture(scope="module")
def single(data: PreparedData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of one process, in this one."""
    folder = tmp_path_factory.mktemp("single") / "RUN"
    train(data, SETTINGS, folder)
    return folder


@pytest.fixture(scope="module")
def double(data: PreparedData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of two processes."""
    folder = tmp_path_factory.mktemp("double")
    command = ("-m", "translucid", "train", data.folder, "-o", folder / "RUN")
    done = run(torchrun(2, *command, "-c", recipe(folder, data)))
    assert done.stdout == f"{folder / 'RUN' / 'best'}\n"  # of the main process alone
    assert "4 parts; cpu, fp32, 2 processes" in done.stderr
    return folder / "RUN"


def test_two_processes_are_one_after_20_steps_with_dropout(single: Path, double: Path) -> None:
    assert_near(double, single, tolerance=1e-5)
    ours, theirs = metrics(double), metrics(single)
    assert [(m["event"], m["step"]) for m in ours] == [(m["event"], m["step"]) for m in theirs]
    for one, two in zip(ours, theirs, strict=True):
        assert one["loss"] == pytest.approx(two["loss"], rel=1e-5)
        assert one.get("tokens") == two.get("tokens")  # those of both processes are counted


def test_a_killed_process_changes_nothing(double: Path, data: PreparedData, tmp_path: Path) -> None:
    """torchrun starts the same command again, which goes on from the last checkpoint."""
    script = tmp_path / "mortal.py"
    script.write_text(MORTAL, encoding="utf-8")
    command = (script, "train", data.folder, "-o", tmp_path / "RUN", "-c", recipe(tmp_path, data))
    done = run(torchrun(2, *command, restarts=1))
    assert "failed (exitcode: -9) local_rank: 1" in done.stderr
    assert f"Resumed after step {CUT}." in done.stderr
    assert "error: another process of this run has ended" in done.stderr
    assert "Traceback" not in done.stderr
    assert_same(tmp_path / "RUN", double)


def test_a_run_goes_on_with_fewer_processes(
    single: Path, double: Path, data: PreparedData, tmp_path: Path
) -> None:
    train(data, SETTINGS, cut(double, tmp_path / "RUN"), resume=True)
    assert_near(tmp_path / "RUN", single, tolerance=1e-5)


def test_a_run_goes_on_with_more_processes_that_share_out_the_weights(
    single: Path, data: PreparedData, tmp_path: Path
) -> None:
    """Sampled micro-batches come in pieces: who has fewer has to keep the other company."""
    command = ("-m", "translucid", "train", data.folder, "-o", cut(single, tmp_path / "RUN"))
    done = run(torchrun(2, *command, "--resume", "--set", "training.sharding=full"))
    assert "2 processes" in done.stderr
    assert "Warning" not in done.stderr
    assert_near(tmp_path / "RUN", single, tolerance=1e-5)
    best = [
        json.loads((r / "best" / "provenance.json").read_text()) for r in (single, tmp_path / "RUN")
    ]
    assert best[0]["dev"]["loss"] == pytest.approx(best[1]["dev"]["loss"], rel=1e-5)


# What can be seen in one process: a group of its own.


@pytest.fixture
def group() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("kind", [Replicated, Sharded])
def test_what_processes_tell_each_other(kind: type[Replicated | Sharded], group: None) -> None:
    one = kind(0, 1, CPU)
    assert one.is_main
    assert one.broadcast("étudiant, \n 学生") == "étudiant, \n 学生"
    assert one.broadcast("") == ""
    assert one.all_gather("merci") == ["merci"]
    values = torch.tensor([1.5, 2.0], dtype=torch.float64)
    assert one.all_sum(values).tolist() == values.tolist()
    assert one.all_sum(values) is not values
    one.barrier()


@pytest.mark.parametrize("kind", [Distribution, Replicated, Sharded])
def test_weights_come_whole_and_go_whole(
    kind: type[Distribution | Replicated | Sharded], group: None
) -> None:
    one = kind() if kind is Distribution else kind(0, 1, CPU)
    model = Transformer(small_config())
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    one.wrap(Objective(model, 0.1, 0.0))
    parameters = dict(model.named_parameters())
    found = one.full_state(parameters)
    assert found.keys() == before.keys()
    assert all(torch.equal(found[name], before[name]) for name in before)
    for name, parameter in parameters.items():
        one.copy_from_main(parameter, before[name] + 1)
    with one.full_model(model) as whole:
        weights = dict(whole.named_parameters())
        assert all(torch.equal(weights[name], before[name] + 1) for name in before)
        source, target = ragged(3, 5, seed=1), ragged(3, 4, seed=2)
        assert whole.eval()(source, target).shape == (3, 4, 29)


@pytest.mark.parametrize("rdrop_alpha", [0.0, 5.0])
@pytest.mark.parametrize("kind", [Replicated, Sharded])
def test_gradients_are_sums_over_all_micro_batches(
    kind: type[Replicated | Sharded], rdrop_alpha: float, group: None
) -> None:
    one, alone = kind(0, 1, CPU), Distribution()
    gradients = []
    for distribution in (one, alone):
        torch.manual_seed(0)
        model = Transformer(small_config(dropout=0.1))
        module = distribution.wrap(Objective(model, 0.1, rdrop_alpha))
        for number in range(3):
            ids = ragged(4, 6, seed=number)
            torch.manual_seed(number)
            with distribution.accumulate(module, last=number == 2):
                module(ids, ids, ids)[0].backward()
        named = {name: p.grad for name, p in model.named_parameters()}
        gradients.append(distribution.full_state({n: g for n, g in named.items() if g is not None}))
    one.close()
    assert gradients[0].keys() == gradients[1].keys() == dict(model.named_parameters()).keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], rtol=1e-5, atol=1e-5)


def test_a_process_without_work_takes_part_in_the_sum(group: None) -> None:
    assert [Replicated(0, 1, CPU).micro_batch_count(n) for n in (0, 1, 3)] == [1, 1, 3]
    assert [Sharded(0, 1, CPU).micro_batch_count(n) for n in (1, 3)] == [1, 3]


def test_nothing_of_c_plus_plus_holds_the_group_when_it_ends(group: None) -> None:
    """The reducer's reference, as the last one, would end the group with Python's lock held."""
    one = Replicated(0, 1, CPU)
    module = one.wrap(Objective(Transformer(small_config()), 0.1, 0.0))
    assert hasattr(module, "reducer")
    one.close()
    assert not hasattr(module, "reducer")
    assert not hasattr(module, "logger")
    one.close()


def test_processes_meet_where_no_earlier_life_has_written() -> None:
    """torchrun keeps its store when it starts processes anew; the dead have left keys in it."""
    store = dist.HashStore()
    store.set("hello/1", "the question of one that died before it was answered")
    for _ in range(2):
        found: dict[int, dist.Store] = {}

        def meet(rank: int, found: dict[int, dist.Store] = found) -> None:
            found[rank] = _fresh_store(store, DistributedContext(rank, 3, rank, 3, restarted=False))

        threads = [threading.Thread(target=meet, args=(rank,)) for rank in (2, 0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not found[1].check(["address"])
        found[0].set("address", "of the main one")
        assert {rank: part.get("address") for rank, part in found.items()} == dict.fromkeys(
            range(3), b"of the main one"
        )


def test_without_torchrun_there_is_one_process() -> None:
    with join_processes(SINGLE_PROCESS, CPU, "full") as found:
        assert type(found) is Distribution
        assert found.all_gather("a") == ["a"]


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("[gloo/transport/tcp/pair.cc:538] Connection closed by peer [::1]:1"),
        dist.DistBackendError("NCCL error in: …\nlong"),
        dist.DistNetworkError("timed out. This is typically caused by so much"),
    ],
)
def test_a_lost_process_is_said_in_plain_words(error: RuntimeError) -> None:
    reason = str(error).partition("\n")[0].partition(". This")[0]
    with pytest.raises(LostProcessError) as caught, explain_lost_process():
        raise error
    assert str(caught.value) == (
        "another process of this run has ended, or cannot be reached, so this one ends too. The "
        "message of the other one says why. Run the same command with --resume to continue from "
        f"the last checkpoint.\n  {reason}"
    )
    assert caught.value.exit_code == 1


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="shapes"), explain_lost_process():
        raise RuntimeError("shapes do not fit")
    with pytest.raises(InputError), explain_lost_process():
        raise InputError("no")
