"""Cores and memory as the system tells them, in containers of both kinds."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from translucid.errors import TranslucidError
from translucid.machine import Machine

MEMINFO = "MemTotal:  8000 kB\nMemFree:  10 kB\nMemAvailable:  4000 kB\n"


def machine(folder: Path, groups: str, files: dict[str, str]) -> Machine:
    """A system whose folders hold these files."""
    files = {"proc/meminfo": MEMINFO, "proc/self/cgroup": groups, **files}
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return Machine(folder / "proc", folder / "cgroup")


def test_without_limits_all_that_is_available_is_free(tmp_path: Path) -> None:
    found = machine(tmp_path, "0::/\n", {"cgroup/memory.max": "max\n", "cgroup/cpu.max": "max 100"})
    assert found.free_memory() == 4000 * 1024
    assert found.cores() == len(os.sched_getaffinity(0))


def test_a_group_of_version_2_limits_memory_and_cores(tmp_path: Path) -> None:
    """What is counted as used and only caches files can be had again."""
    files = {
        "cgroup/a/b/memory.max": "max\n",
        "cgroup/a/b/memory.current": "1\n",
        "cgroup/a/memory.max": "2000000\n",
        "cgroup/a/memory.current": "1500000\n",
        "cgroup/a/memory.stat": "anon 1000000\ninactive_file 300000\n",
        "cgroup/a/cpu.max": "50000 100000\n",
    }
    found = machine(tmp_path, "0::/a/b\n", files)
    assert found.free_memory() == 2_000_000 - (1_500_000 - 300_000)
    assert found.cores() == 1


def test_a_group_of_version_1_limits_memory_and_cores(tmp_path: Path) -> None:
    files = {
        "cgroup/memory/job/memory.limit_in_bytes": "3000000\n",
        "cgroup/memory/job/memory.usage_in_bytes": "3000001\n",
        "cgroup/memory/job/memory.stat": "cache 5\ntotal_inactive_file 401\n",
        "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "cgroup/memory/memory.usage_in_bytes": "7\n",
        "cgroup/memory/memory.stat": "total_inactive_file 0\n",
        "cgroup/cpu,cpuacct/cpu.cfs_quota_us": "100000\n",
        "cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    }
    groups = "4:memory:/job\n3:cpu,cpuacct:/\n2:pids:/elsewhere\n"
    found = machine(tmp_path, groups, files)
    assert found.free_memory() == 400
    assert found.cores() == 1


def test_a_group_without_a_quota_limits_nothing(tmp_path: Path) -> None:
    files = {"cgroup/cpu/cpu.cfs_quota_us": "-1\n"}
    found = machine(tmp_path, "1:cpu:/\n", files)
    assert found.cores() == len(os.sched_getaffinity(0))


def test_more_used_than_allowed_leaves_nothing(tmp_path: Path) -> None:
    files = {
        "cgroup/memory.max": "10\n",
        "cgroup/memory.current": "20\n",
        "cgroup/memory.stat": "inactive_file 0\n",
    }
    assert machine(tmp_path, "0::/\n", files).free_memory() == 0


def test_a_system_that_says_nothing_is_not_guessed_at(tmp_path: Path) -> None:
    with pytest.raises(TranslucidError) as caught:
        Machine(tmp_path, tmp_path).free_memory()
    assert str(caught.value) == (
        "cannot find out how much memory is free on this system (there is no "
        f"{tmp_path / 'meminfo'}): give micro_batch_tokens instead of fitting it"
    )
    (tmp_path / "meminfo").write_text("MemTotal: 1 kB\n")
    with pytest.raises(TranslucidError, match="does not report 'MemAvailable:'"):
        Machine(tmp_path, tmp_path).free_memory()


def test_this_machine_says_something() -> None:
    assert 1 <= Machine().cores() <= (os.cpu_count() or 1)
    assert 0 < Machine().free_memory() < 1 << 50


FAULTS = """
import ctypes, resource, sys
from translucid.machine import keep_freed_memory

kept = keep_freed_memory() if sys.argv[1] == "keep" else False
allocate, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
allocate.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

def round_of_blocks():
    blocks = [allocate(size << 20) for size in (40, 48, 64)]
    for block in blocks:
        ctypes.memset(block, 1, 1 << 25)
    for block in blocks:
        free(block)

round_of_blocks()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    round_of_blocks()
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_freed_memory_is_kept_where_the_c_library_can() -> None:
    """Blocks of the same sizes again and again: their pages are asked for once, not every time."""

    def faults(how: str) -> tuple[bool, int]:
        command = [sys.executable, "-c", FAULTS, how]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        kept, number = done.stdout.split()
        return kept == "True", int(number)

    (_, before), (kept, after) = faults("leave"), faults("keep")
    assert kept == hasattr(ctypes.CDLL(None), "mallopt")
    assert not kept or after < before / 5
