"""Read what the guide says of sentences in a real browser, and compute it anew from the tensors.

    translucid serve &
    python tools/guide_claims.py http://127.0.0.1:8000 SENTENCES.txt

Each line of the file is a sentence that the served model reads. The page's own code is not used: a
trace and its tensors come over HTTP, the numbers from numpy. Every claim that is false is printed,
with how many were checked; the exit code is 1 if one was false.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page, sync_playwright

Array = NDArray[np.float32]
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
CLOSE = 1e-5


class Sentence:
    """The trace of a sentence, and what the guide says of it."""

    def __init__(self, base: str, page: Page, text: str) -> None:
        self.base, self.page, self.text = base, page, text
        body = json.dumps({"text": text, "search": {"n_best": 1}}).encode()
        request = urllib.request.Request(
            f"{base}/v1/trace", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            self.trace: dict[str, Any] = json.load(answer)

    def tensor(self, name: str) -> Array:
        with urllib.request.urlopen(f"{self.base}/v1/trace/{self.trace['id']}/tensors/{name}") as a:
            return np.frombuffer(a.read(), "<f4").reshape(self.trace["tensors"][name])

    def said(self, stop: int) -> tuple[str, list[float]]:
        """Return what a stop of the tour, from 1, says: its words, and its numbers in full."""
        fields = urlencode({"text": self.text, "tour": stop})
        self.page.goto(f"{self.base}/#/explore/map?{fields}")
        self.page.reload()
        words = self.page.wait_for_selector(".guide-words", timeout=60_000)
        assert words is not None
        values = self.page.eval_on_selector_all(
            ".guide-words .num", "all => all.map(one => +one.dataset.value)"
        )
        return words.inner_text(), values

    def words(self, side: str) -> list[int]:
        """Return the number of its word for each token with letters, −1 for the others."""
        tokens = self.trace[f"{side}_tokens"]
        spans = enumerate(self.trace["words"][side])
        owner = {at: number for number, (a, b) in spans for at in range(a, b)}
        has_letters = [t["start"] < t["end"] and re.search(r"[^\W\d_]", t["piece"]) for t in tokens]
        return [owner.get(at, -1) if found else -1 for at, found in enumerate(has_letters)]

    def weights(self, stack: str, attention: str) -> Array:
        layers = self.trace["model"][f"{stack}_layers"]
        return np.stack([self.tensor(f"{stack}.{n}.{attention}.weights") for n in range(layers)])


def largest_between_words(weights: Array, words: list[int]) -> float:
    owner = np.array(words)
    at = np.arange(len(words))
    allowed = (owner[:, None] >= 0) & (owner[None] >= 0) & (owner[:, None] != owner[None])
    allowed &= np.abs(at[:, None] - at[None]) >= 2
    return float(np.where(allowed, weights, 0).max())


def place_of(words: str) -> tuple[int, int] | None:
    """Return the layer and the head that are named, from 0."""
    found = re.search(r"layer (\d+), head (\d+)", words)
    if found:
        return int(found[1]) - 1, int(found[2]) - 1
    found = re.search(r"head (\d+) of layer (\d+)", words)
    return (int(found[2]) - 1, int(found[1]) - 1) if found else None


def check_bond(one: Sentence, stack: str, side: str, stop: int) -> Iterator[bool]:
    words, values = one.said(stop)
    weights = one.weights(stack, "self_attention")
    expected = largest_between_words(weights, one.words(side))
    place = place_of(words)
    if place is None:
        yield expected == 0
        return
    yield abs(values[-1] - expected) < CLOSE
    yield bool(np.isclose(weights[place], values[-1], atol=CLOSE).any())


def check_heads(one: Sentence) -> Iterator[bool]:
    words, values = one.said(6)
    weights = one.weights("encoder", "self_attention")
    apart = np.abs(weights[:, :, None] - weights[:, None]).sum(-1).mean(-1) / 2
    yield abs(values[-1] - 100 * float(apart.max())) < 100 * CLOSE
    found = re.search(r"heads (\d+) and (\d+) of layer (\d+)", words)
    assert found is not None
    first, second, layer = (int(number) - 1 for number in found.groups())
    yield bool(np.isclose(apart[layer, first, second], apart.max()))


def check_stream(one: Sentence) -> Iterator[bool]:
    words, values = one.said(8)
    found = re.search(r"encoder layer (\d+)", words)
    if found is None:
        return
    stem = f"encoder.{int(found[1]) - 1}"
    names = ("self_attention.residual_before", "self_attention.output", "feed_forward.output")
    lengths = np.stack([np.linalg.norm(one.tensor(f"{stem}.{n}"), axis=1) for n in names], axis=1)
    yield bool(np.isclose(lengths, np.array(values[-3:]), atol=1e-3).all(axis=1).any())


def check_cross(one: Sentence) -> Iterator[bool]:
    words, (sharpness, weight) = one.said(10)
    place = place_of(words)
    assert place is not None
    weights = one.weights("decoder", "cross_attention")[place]
    yield list(place) in one.trace["alignment_heads"]
    row = "steps" if one.trace["alignment_row"] == "predicts" else "target_tokens"
    tokens = [t.get("token", t) for t in one.trace[row]]

    def with_letters(all_tokens: list[dict[str, Any]]) -> list[int]:
        symbol = re.compile(r"^(<[^<>\s]+>|→ \S+)$")
        return [
            at
            for at, token in enumerate(all_tokens)
            if re.search(r"[^\W\d_]", token["piece"]) and not symbol.match(token["piece"])
        ]

    keys = with_letters(one.trace["source_tokens"])
    most = weights[np.ix_(with_letters(tokens), keys)].max(axis=1)
    yield abs(float(most.mean()) - sharpness) < CLOSE
    yield bool(np.isclose(weights, weight, atol=CLOSE).any())


def check_output(one: Sentence) -> Iterator[bool]:
    words, (entropy, first, second) = one.said(11)
    log_probs = one.tensor("log_probs").astype(np.float64)
    entropies = -(np.exp(log_probs) * log_probs).sum(axis=1)
    found = re.search(r"Step (\d+)", words)
    assert found is not None
    step = int(found[1]) - 1
    yield step == int(entropies.argmax())
    yield abs(float(entropies[step]) - entropy) < 1e-3
    best = np.sort(np.exp(log_probs[step]))[::-1][:2]
    yield bool(np.allclose(best, [first, second], atol=CLOSE))


def check_search(one: Sentence) -> Iterator[bool]:
    words, _ = one.said(12)
    nodes = [node for node in one.trace["tree"]["nodes"] if node["parent"] is not None]
    dropped = sum(node["status"] == "dropped" for node in nodes)
    yield f"{len(nodes):,} candidates; {dropped:,}" in words
    later = [number for number, step in enumerate(one.trace["steps"], 1) if step["rank"] > 1]
    yield (f"At step {later[0]} " if later else "At every step") in words


def check_cache(one: Sentence) -> Iterator[bool]:
    _, (made, without, times) = one.said(13)
    steps = one.trace["cache"]["steps"]
    sums = [sum(step[name] for step in steps) for name in ("multiplications", "without_cache")]
    yield np.allclose([made * 1e6, without * 1e6, times], [*sums, sums[1] / sums[0]])


CHECKS: dict[str, Callable[[Sentence], Iterator[bool]]] = {
    "largest weight in the encoder": lambda one: check_bond(one, "encoder", "source", 5),
    "heads that differ the most": check_heads,
    "lengths in the residual stream": check_stream,
    "largest weight in the decoder": lambda one: check_bond(one, "decoder", "target", 9),
    "cross-attention": check_cross,
    "least sure step": check_output,
    "candidates of the search": check_search,
    "multiplications saved": check_cache,
}


def main(base: str, path: Path) -> int:
    """Check every claim on every sentence; return the exit code."""
    checked, wrong = 0, 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
        page = browser.new_page(reduced_motion="reduce")
        for text in path.read_text(encoding="utf-8").splitlines():
            sentence = Sentence(base, page, text)
            for name, check in CHECKS.items():
                for number, holds in enumerate(check(sentence), start=1):
                    checked += 1
                    if not holds:
                        wrong += 1
                        print(f"false: {name}, part {number}: {text}")
        browser.close()
    print(f"{checked} claims checked, {wrong} false")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].rstrip("/"), Path(sys.argv[2])))
