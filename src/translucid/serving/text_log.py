"""Texts in the log, which has none unless the server was told to (`--log-text`)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from translucid.serving.state import ServerState

LOG = logging.getLogger("translucid.serving")


def log_texts(state: ServerState, texts: Sequence[str], translations: Sequence[str]) -> None:
    """Write texts and their translations to the log, if the server was told to."""
    if state.access.log_text:
        for text, translation in zip(texts, translations, strict=True):
            LOG.info("text %r became %r", text, translation)
