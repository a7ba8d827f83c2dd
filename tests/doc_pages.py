"""Pages of the documentation and the blocks of code in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def code_blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of one language, in their order."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    return [content for found, content in fences if found == language]
