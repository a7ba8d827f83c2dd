"""From a thread that tells what there is to an event loop that sends it on.

The loop always gets the newest: where it is slower than the thread, because a client reads
slowly, what it has not taken yet gives way. So a stream needs no more memory than one item.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from translucid.serving.abandoning import check_wanted

Item = TypeVar("Item")


class Newest(Generic[Item]):
    """A place for one item, put there by a thread and taken by the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._item: Item | None = None
        self._ended = False
        self._news = asyncio.Event()

    def tell(self, item: Item) -> None:
        """Put an item there, from a thread; it ends here if nobody waits any more."""
        check_wanted()
        self._loop.call_soon_threadsafe(self._put, item)

    def end(self) -> None:
        """Note, on the event loop, that no item will follow."""
        self._ended = True
        self._news.set()

    async def take(self) -> Item | None:
        """Wait for an item and take it; return None when there is none and none will follow."""
        while self._item is None and not self._ended:
            self._news.clear()
            await self._news.wait()
        item, self._item = self._item, None
        return item

    def _put(self, item: Item) -> None:
        self._item = item
        self._news.set()
