"""What this machine lets a process use: cores and memory, a container's limits counted.

Containers are limited by control groups (cgroups). ``/proc/self/cgroup`` names the group of this
process, and the files of that group, and of all groups above it, hold the limits::

    0::/user/job                →  /sys/fs/cgroup/user/job/memory.max, …           (version 2)
    4:memory:/user/job          →  /sys/fs/cgroup/memory/user/job/memory.limit…    (version 1)
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from translucid.errors import TranslucidError


class _Names(NamedTuple):
    """The files of a memory group, and the line of its statistics that counts idle file pages."""

    limit: str
    usage: str
    reclaimable: str


_MEMORY = (
    _Names("memory.max", "memory.current", "inactive_file"),
    _Names("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


@dataclass(frozen=True)
class Machine:
    """The folders in which the system tells of itself."""

    proc: Path = Path("/proc")
    cgroup: Path = Path("/sys/fs/cgroup")

    def cores(self) -> int:
        """Return how many cores this process may use: by its affinity and its group's quota."""
        if hasattr(os, "sched_getaffinity"):
            cores = len(os.sched_getaffinity(0))
        else:
            cores = os.cpu_count() or 1
        return max(1, min([cores, *(math.ceil(quota) for quota in self._quotas())]))

    def free_memory(self) -> int:
        """Return how many bytes this process may still take without swapping or being killed."""
        path = self.proc / "meminfo"
        if not path.is_file():
            raise TranslucidError(
                f"cannot find out how much memory is free on this system (there is no {path}): "
                "give micro_batch_tokens instead of fitting it"
            )
        free = [1024 * _value(path.read_text(), "MemAvailable:")]
        for group in self._groups("memory"):
            for names in _MEMORY:
                limit = _number(group / names.limit)
                if limit is not None:
                    idle = _value((group / "memory.stat").read_text(), names.reclaimable)
                    used = int((group / names.usage).read_text()) - idle
                    free.append(limit - used)
        return max(0, min(free))

    def _quotas(self) -> Iterator[float]:
        """Yield how many cores each group of this process may keep busy."""
        for group in self._groups("cpu"):
            if (group / "cpu.max").is_file():
                quota, period = (group / "cpu.max").read_text().split()
                if quota != "max":
                    yield int(quota) / int(period)
            old = _number(group / "cpu.cfs_quota_us")
            if old is not None and old > 0:
                yield old / int((group / "cpu.cfs_period_us").read_text())

    def _groups(self, controller: str) -> Iterator[Path]:
        """Yield the folders that hold limits of this process, the innermost first."""
        path = self.proc / "self" / "cgroup"
        for line in path.read_text().splitlines() if path.is_file() else []:
            _, controllers, name = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            root = self.cgroup / controllers
            inner = root / name.lstrip("/")
            yield from (
                folder for folder in (inner, *inner.parents) if root in (folder, *folder.parents)
            )


_chosen_threads: list[int] = []  # what PyTorch is to be told when it is loaded


def thread_count() -> int:
    """Return how many threads compute at once: PyTorch's number where it is loaded."""
    if (torch := sys.modules.get("torch")) is not None:
        if _chosen_threads:  # before PyTorch was loaded
            torch.set_num_threads(_chosen_threads.pop())
        return int(torch.get_num_threads())
    if _chosen_threads:
        return _chosen_threads[-1]
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdecimal() and int(given) else Machine().cores()


def set_thread_count(threads: int) -> None:
    """Let this many threads compute at once, of PyTorch too, loaded already or later."""
    if (torch := sys.modules.get("torch")) is not None:
        _chosen_threads.clear()
        torch.set_num_threads(threads)
    else:
        _chosen_threads[:] = [threads]


_own_limit = threading.local()


def limit_own_threads(threads: int = 1) -> None:
    """Limit PyTorch to this many threads for operations of the calling one, also if loaded later.

    Who loads it, or computes with it for the first time, calls `apply_own_limit`.
    """
    _own_limit.threads = threads
    apply_own_limit()


def apply_own_limit() -> None:
    """Tell PyTorch, if it is loaded, the limit of the calling thread, if that has one.

    A limit does not wait for PyTorch: told before, it is lost, and a worker has all cores.
    """
    torch, threads = sys.modules.get("torch"), getattr(_own_limit, "threads", None)
    if torch is not None and threads is not None:
        torch.set_num_threads(threads)


# Parameters of glibc's malloc.h, and their values.
_KEPT = {
    -4: 0,  # M_MMAP_MAX: no block gets its own mapping, which would be returned when freed
    -1: -1,  # M_TRIM_THRESHOLD: the end of the heap does not go back either
    -2: 1 << 26,  # M_TOP_PAD: it grows by so much at least
    -8: 1,  # M_ARENA_MAX: one heap for all threads, so that each takes what another has freed
}


def keep_freed_memory() -> bool:
    """Have the C library keep what is freed for what is needed next; return whether it does so.

    glibc hands large blocks back to the system when they are freed, and requests similar ones a
    moment later, which the system clears page by page: with the tensors of a training step,
    thousands of times.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is None:  # another C library, which works differently
        return False
    done = [mallopt(name, value) for name, value in _KEPT.items()]
    return all(done)


def free_memory() -> None:
    """Free what only refers to itself, and have the C library (glibc) return it to the system."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def _number(path: Path) -> int | None:
    """Return the number that a file holds; None where there is no file, or no limit in it."""
    if not path.is_file():
        return None
    text = path.read_text().strip()
    return None if text == "max" else int(text)


def _value(table: str, name: str) -> int:
    """Return the number beside a name in a table of the system."""
    for line in table.splitlines():
        fields = line.split()
        if fields and fields[0] == name:
            return int(fields[1])
    raise TranslucidError(f"the system does not report {name!r}")
