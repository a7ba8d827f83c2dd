"""What torchrun tells a process, and how many threads it may use."""

from __future__ import annotations

import pytest

from translucid.training.distributed import SINGLE_PROCESS, DistributedContext, choose_threads

TORCHRUN = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}


def test_torchrun_says_which_process_this_is() -> None:
    place = DistributedContext.from_environment({**TORCHRUN, "TORCHELASTIC_RESTART_COUNT": "0"})
    assert place == DistributedContext(
        rank=5, world_size=8, local_rank=1, local_world_size=4, restarted=False
    )
    assert not place.is_main
    assert DistributedContext.from_environment({**TORCHRUN, "RANK": "0"}).is_main


def test_torchrun_says_that_it_has_started_the_process_again() -> None:
    assert DistributedContext.from_environment(
        {**TORCHRUN, "TORCHELASTIC_RESTART_COUNT": "2"}
    ).restarted


@pytest.mark.parametrize("missing", [*TORCHRUN, None])
def test_without_all_of_torchruns_variables_the_process_is_alone(missing: str | None) -> None:
    """Other launchers, and images of containers, set some of them for purposes of their own."""
    environment = {k: v for k, v in TORCHRUN.items() if missing is not None and k != missing}
    assert DistributedContext.from_environment(environment) == SINGLE_PROCESS
    assert SINGLE_PROCESS.is_main


@pytest.mark.parametrize(
    ("processes", "said", "cores", "threads"),
    [
        (2, "1", 8, 4),  # what torchrun sets by itself
        (2, None, 8, 4),
        (3, None, 8, 2),
        (4, None, 2, 1),
        (2, "3", 8, None),
        (1, None, 8, None),
    ],
)
def test_processes_of_a_machine_share_its_cores(
    processes: int, said: str | None, cores: int, threads: int | None
) -> None:
    place = DistributedContext(
        rank=0, world_size=8, local_rank=0, local_world_size=processes, restarted=False
    )
    environment = {} if said is None else {"OMP_NUM_THREADS": said}
    assert choose_threads(place, environment, cores) == threads
