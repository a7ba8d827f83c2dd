"""Reads what a saved page has inside, as the page's own script does."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

ELEMENT = r'<script type="[a-z/-]+" id="{}">(.*?)</script>'


def saved_content(html: str) -> dict[str, Any]:
    """Return the JSON of a saved page."""
    found = re.findall(ELEMENT.format("saved"), html, flags=re.DOTALL)
    assert len(found) == 1
    content: dict[str, Any] = json.loads(found[0])
    return content


def saved_tensors(html: str) -> dict[str, NDArray[np.float32]]:
    """Return the tensors of a saved page by their names."""
    (packed,) = re.findall(ELEMENT.format("numbers"), html, flags=re.DOTALL)
    numbers = np.frombuffer(gzip.decompress(base64.b64decode(packed)), "<f4")
    tensors, start = {}, 0
    for name, shape in saved_content(html)["tensors"].items():
        end = start + math.prod(shape)
        tensors[name] = numbers[start:end].reshape(shape)
        start = end
    assert start == len(numbers)
    return tensors
