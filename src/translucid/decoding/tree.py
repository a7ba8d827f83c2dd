"""The search tree: every candidate that a search considered, and what became of it.

::

    0 <s> ─┬─ 1 I      kept ─┬─ 4 am    kept ─── 7 </s>  finished
           ├─ 2 We     kept  └─ 5 was   dropped
           └─ 3 Here   dropped

A search passes each candidate to its :class:`Recorder`; without a recorder, no tree is built.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Status = Literal["kept", "dropped", "finished", "cut"]
"""What became of a candidate: continued, not continued, ended by the end symbol, or ended by the
loop guard."""

Stop = Literal["end", "bound", "limit", "loop"]
"""Why a search stopped: every hypothesis wrote the end symbol; none under way could still beat
those that had ended; the limit of length cut one short; or all that were left were loops."""


@dataclass(frozen=True)
class Node:
    """One candidate: a token after the tokens on the path from the root.

    `step` counts tokens from 1; `parent` is the number of a node before this one, none for the
    root, which stands for the start symbol. `log_prob` is log P of this token alone, `score`
    that of the path up to this node.
    """

    step: int
    parent: int | None
    token: int
    log_prob: float
    score: float
    status: Status


@dataclass(frozen=True)
class SearchTree:
    """All candidates of one source, and the nodes where the returned hypotheses end, best first."""

    nodes: tuple[Node, ...]
    results: tuple[int, ...]
    stopped: Stop

    def path(self, number: int) -> tuple[int, ...]:
        """Return the numbers of the nodes from the root's child to this one."""
        path: list[int] = []
        node = self.nodes[number]
        while node.parent is not None:
            path.append(number)
            number = node.parent
            node = self.nodes[number]
        return tuple(reversed(path))

    def to_json(self) -> dict[str, Any]:
        """Return the tree as plain values that JSON can hold."""
        return asdict(self)


class Recorder:
    """Builds the search trees of one batch."""

    def __init__(self) -> None:
        self._nodes: dict[int, list[Node]] = {}
        self._ends: dict[int, tuple[tuple[int, ...], Stop]] = {}

    def root(self, source: int, token: int) -> int:
        """Start the tree of a source with its start symbol; return the root's number, 0."""
        self._nodes[source] = [Node(0, None, token, 0.0, 0.0, "kept")]
        return 0

    def add(
        self, source: int, parent: int, token: int, log_prob: float, score: float, status: Status
    ) -> int:
        """Add a candidate; return its number, the parent of its children."""
        nodes = self._nodes[source]
        nodes.append(Node(nodes[parent].step + 1, parent, token, log_prob, score, status))
        return len(nodes) - 1

    def cut(self, source: int, number: int, score: float) -> None:
        """Mark a kept candidate as ended by the loop guard."""
        self._nodes[source][number] = replace(
            self._nodes[source][number], status="cut", score=score
        )

    def stop(self, source: int, results: tuple[int, ...], reason: Stop) -> None:
        """Record why the search of a source stopped, and the last nodes of its results."""
        self._ends[source] = (results, reason)

    def trees(self) -> tuple[SearchTree, ...]:
        """Return the tree of every source, in the order of the batch."""
        return tuple(
            SearchTree(tuple(self._nodes[source]), *self._ends[source])
            for source in sorted(self._nodes)
        )
