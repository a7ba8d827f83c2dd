"""Check examples/ray_translate.py on a real Ray cluster of this machine: ``make ray``.

A corpus is translated with one worker, with two, with two of which one is killed midway, and by a
program that is killed midway and started again. Each result must be that of ``translucid
translate``, byte for byte, in float32. It prints how many lines per second one and two workers
translated.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = str(ROOT / "examples")
sys.path.insert(0, EXAMPLES)
os.environ["PYTHONPATH"] = os.pathsep.join([EXAMPLES, os.environ.get("PYTHONPATH", "")])  # workers
os.environ["RAY_DATA_DISABLE_PROGRESS_BARS"] = "1"

import ray  # noqa: E402
import ray.data  # noqa: E402
import ray_translate  # noqa: E402

from translucid.data.readers.built_in import lesson_pairs  # noqa: E402

BLOCK = 16_384  # bytes
# Lines that a reader could lose, divide or join; they come again and again in the corpus.
AWKWARD = [
    "",
    "  ",
    "Bonjour.\r",
    "un\u2028deux",
    "\0",
    "— Où est {name} ? 😀",
    "Il fait beau. " * 60,
]


def write_corpus(path: Path, lines: int) -> None:
    """Write sentences of the lesson, with awkward lines among them and no end of the last one."""
    sentences = [pair[0] for pair in lesson_pairs("train")]
    corpus = [sentences[number * 7919 % len(sentences)] for number in range(lines)]
    for number in range(0, lines, 997):
        corpus[number] = AWKWARD[number // 997 % len(AWKWARD)]
    path.write_bytes("\n".join(corpus).encode())


class Run:
    """One translation of the corpus, in which a worker may be killed midway."""

    def __init__(self, name: str, lines: int, kill_after: int | None) -> None:
        self.name, self.lines, self._kill_after = name, lines, kill_after
        self.by_worker: Counter[int] = Counter()
        self.killed: int | None = None
        self._first = 0.0

    def note(self, done: ray_translate.Done) -> None:
        """Count the lines of a worker, and kill it when that many lines are done."""
        if not self.by_worker:
            self._first, self._skipped = time.monotonic(), done.lines
        self.by_worker[done.worker] += done.lines
        if self._kill_after and not self.killed and self.by_worker.total() >= self._kill_after:
            self.killed = done.worker
            os.kill(done.worker, signal.SIGKILL)

    def speed(self) -> float:
        """Return the lines per second since the first block, when all models were loaded."""
        return (self.by_worker.total() - self._skipped) / (time.monotonic() - self._first)


def translate(source: Path, output: Path, workers: int, run: Run) -> None:
    ray_translate.translate_corpus(
        source,
        output,
        model="fr-en",
        target="en",
        precision="float32",
        workers=workers,
        block=BLOCK,
        on_block=run.note,
    )
    alive = len(run.by_worker) - (run.killed is not None)
    print(
        f"{run.name}: {run.speed():,.0f} lines per second; "
        f"lines by worker: {', '.join(f'{count:,}' for count in run.by_worker.values())}"
        + (f"; {run.killed} was killed" if run.killed else ""),
        flush=True,
    )
    if run.killed and alive < workers:
        raise SystemExit(f"{run.name}: nobody took the place of the worker that was killed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=20_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, expected = folder / "corpus.fr", folder / "expected.en"
        write_corpus(source, given.lines)
        command = [sys.executable, "-m", "translucid", "translate", "-q", "--to", "en"]
        command += ["--precision", "float32"]
        subprocess.run([*command, "-i", source, "-o", expected], check=True)
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        wrong = []
        for title, workers, kill_after in (
            ("one worker", 1, None),
            ("two workers", 2, None),
            ("two workers, one killed midway", 2, given.lines // 3),
        ):
            output = folder / f"{title}.en"
            translate(source, output, workers, Run(title, given.lines, kill_after))
            if output.read_bytes() != expected.read_bytes():
                wrong.append(title)
        ray.shutdown()
        title = "the program killed midway and started again"
        if not continues(source, folder / "again.en", expected):
            wrong.append(title)
        print(f"{title}: done")
        for each in wrong:
            print(f"{each}: NOT the translations of `translucid translate`")
        if not wrong:
            print("all of them are the translations of `translucid translate`, byte for byte")
    return len(wrong)


def continues(source: Path, output: Path, expected: Path) -> bool:
    """Kill the program once it has written something; tell whether it continues from there."""
    words = [source, output, "--to", "en", "--precision", "float32", "--block", BLOCK]
    command = [sys.executable, ROOT / "examples" / "ray_translate.py", *map(str, words)]
    partial = output.with_name(f"{output.name}.partial")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        while first.poll() is None and not (partial.exists() and partial.stat().st_size):
            time.sleep(0.05)
        first.kill()
    kept = partial.stat().st_size
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    print(f"killed after {kept:,} bytes of {expected.stat().st_size:,}")
    return output.read_bytes() == expected.read_bytes() and not partial.exists()


if __name__ == "__main__":
    sys.exit(main())
