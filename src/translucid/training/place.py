"""Which of the processes that torchrun has started is this one?

torchrun tells each process by environment variables::

    machine 0, 2 processes           machine 1, 2 processes
    RANK 0         RANK 1            RANK 2         RANK 3           WORLD_SIZE 4
    LOCAL_RANK 0   LOCAL_RANK 1      LOCAL_RANK 0   LOCAL_RANK 1     LOCAL_WORLD_SIZE 2
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_RESTARTS = "TORCHELASTIC_RESTART_COUNT"
_THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class Place:
    """A process among those of a run (`rank` of `world`) and among those of its machine.

    `restarted`: torchrun has started it again, after one of the processes had failed.
    """

    rank: int
    world: int
    local_rank: int
    local_world: int
    restarted: bool

    @property
    def is_main(self) -> bool:
        """Whether it is the one that reads and writes the run folder."""
        return self.rank == 0

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Place:
        """Return what torchrun says; without torchrun, the only process there is."""
        if any(name not in environment for name in _VARIABLES):
            return ALONE
        rank, world, local_rank, local_world = (int(environment[name]) for name in _VARIABLES)
        restarted = int(environment.get(_RESTARTS, "0")) > 0
        return cls(rank, world, local_rank, local_world, restarted)


ALONE = Place(rank=0, world=1, local_rank=0, local_world=1, restarted=False)


def threads_of(place: Place, environment: Mapping[str, str], cores: int) -> int | None:
    """Return how many threads this process should compute with; None: as many as it has now.

    Processes on one machine share its cores evenly, unless OMP_NUM_THREADS says otherwise. torchrun
    itself sets that to 1 where nobody has, so 1 is not taken as somebody's word.
    """
    if place.local_world == 1 or environment.get(_THREADS, "1") != "1":
        return None
    return max(1, cores // place.local_world)
