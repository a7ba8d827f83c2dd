"""Models on their way into service: the warm-up at the start, and models that replace others.

::

    SIGHUP ─▶ load, verify ─▶ translate a few words ─▶ in its place ─▶ the old one is freed when
                  │                  │                  its last request has been answered
                  └──── on failure the old one goes on serving ────┘

A request takes its model once, when it is accepted, and keeps it: the object is never changed, only
exchanged for another one, so every answer comes from one model.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from translucid.errors import TranslucidError
from translucid.machine import free_memory, limit_own_threads, thread_count
from translucid.serving.engine.tasks import Draining, Full, TimedOut
from translucid.serving.log import facts
from translucid.serving.served_models import Outcome, Reload, ServedModel
from translucid.translator import TranslationRequest

if TYPE_CHECKING:
    from translucid.serving.state import ServerState

LOG = logging.getLogger("translucid.serving")
WARM_UP_TEXT = "1 2 3."
_WARM_UP_PAUSE = 0.5  # seconds
_NOTIFY_SOCKET = "NOTIFY_SOCKET"  # of systemd: where a service says that it is ready
Result = TypeVar("Result")


async def warm_up(state: ServerState) -> None:
    """Translate a few words with every model into every language; then the server is ready."""
    state.readiness.fault = None
    for served in state.models:
        try:
            await _warm(state, served)
        except Exception as error:
            LOG.exception(
                "the warm-up translation of %s failed",
                served.name,
                extra=facts("warm-up", model=served.name),
            )
            state.readiness.fault = (
                f"the warm-up translation of {served.name} failed ({type(error).__name__}): the "
                "log says more"
            )
            return
    state.readiness.ready = True
    _tell_systemd("READY=1")


async def _warm(state: ServerState, served: ServedModel) -> None:
    """Translate until it works: the first try may time out, or the queue may be full."""
    for target in served.targets:
        while True:
            try:
                request = TranslationRequest(target=target)
                await state.engine.translate(served, [WARM_UP_TEXT], request)
                break
            except (Full, TimedOut):
                await asyncio.sleep(_WARM_UP_PAUSE)


def _tell_systemd(message: str) -> None:
    """Tell systemd, if that has started this process as a service of the type `notify`."""
    if not (address := os.environ.get(_NOTIFY_SOCKET, "")):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        try:
            sender.sendto(message.encode(), address.replace("@", "\0", 1))
        except OSError as error:  # systemd will wait in vain, and say so
            LOG.warning("%s=%s: %s", _NOTIFY_SOCKET, address, error.strerror)


class Reloader:
    """Loads the models of a server again, one after another, and puts them in place.

    All but `__init__` runs on the event loop.
    """

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._threads = thread_count()  # of this thread: PyTorch counts others in new ones
        self._task: asyncio.Task[None] | None = None
        self._is_wanted = False

    def request(self) -> None:
        """Reload all models; once more afterwards, if that is under way: files may have changed."""
        if self._state.in_flight.draining:
            return
        self._is_wanted = True
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())

    def cancel(self) -> None:
        """Give up what is under way: the server ends."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while self._is_wanted:
            self._is_wanted = False
            for name in self._state.models.names:
                await self._reload(name)
            await self._compute(free_memory)
            if not self._state.readiness.ready:  # what could not translate may have been mended
                await warm_up(self._state)

    async def _reload(self, name: str) -> None:
        """Exchange a model for what its directory has now; keep it if that cannot be used."""
        old = self._state.models.named(name)
        try:
            self._state.note_reload(name, Reload(await self._exchange(old)))
        except Draining:
            return
        except Exception as error:
            problem = f"{type(error).__name__}: the log says more"
            if isinstance(error, TranslucidError | OSError):
                problem = _without_folder(str(error), old)
            self._state.note_reload(name, Reload("failed", problem))
            LOG.error(
                "%s cannot be loaded, and stays what it was: %s",
                name,
                error,
                extra=facts("reload", model=name, outcome="failed"),
                exc_info=None if isinstance(error, TranslucidError) else error,
            )

    async def _exchange(self, old: ServedModel) -> Outcome:
        """Load a model, let it translate, and put it in the place of the old one."""
        source, served = old.source, old.translator
        if source is None:
            return "kept"
        if await self._compute(lambda: source.has_still(served)):
            LOG.info("%s is unchanged", old.name, extra=_told(old, "unchanged"))
            return "unchanged"
        new = replace(old, translator=await self._compute(source.load))
        await _warm(self._state, new)
        if served.engines.has_loaded_pytorch:  # so those who need it need not wait
            await self._compute(lambda: new.translator.engines.pytorch)
        self._state.exchange(old, replace(new, since=datetime.now(UTC)))
        LOG.info(
            "%s was replaced: its hash is %s", old.name, new.hash, extra=_told(new, "replaced")
        )
        return "replaced"

    async def _compute(self, work: Callable[[], Result]) -> Result:
        """Return what some work returns, in a thread with as many threads as at the start."""

        def run() -> Result:
            limit_own_threads(self._threads)
            return work()

        return await asyncio.to_thread(run)


def _told(served: ServedModel, outcome: Outcome) -> dict[str, Mapping[str, object]]:
    return facts("reload", model=served.name, outcome=outcome, hash=served.hash)


def _without_folder(problem: str, served: ServedModel) -> str:
    """Return the first line of a problem without the folder of the model: clients may read it."""
    line = problem.splitlines()[0]
    return (
        line if served.source is None else line.replace(f"{served.source.path.parent}{os.sep}", "")
    )
