"""Write the lesson as the package ships it: ``PYTHONPATH=tools python -m lesson [FILE]``."""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

from lesson.corpus import lesson_lines

PACKAGE = Path(__file__).parents[2] / "src" / "translucid" / "data" / "lesson.tsv.xz"


def main() -> None:
    """Compress the lines of the lesson into a file."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE
    path.write_bytes(lzma.compress(lesson_lines(seed=0), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
