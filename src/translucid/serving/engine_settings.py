"""How the engine behind the server works: its threads, its batches, its queue and its patience."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from translucid.config import Config, Count

Seconds = Annotated[float, Field(gt=0)]
Whole = Annotated[int, Field(ge=0)]


class EngineSettings(Config):
    """Threads, batches, queues and times of an :class:`~translucid.serving.engine.Engine`."""

    # A thread a batch: on two free cores faster than both threads on one batch, and three times so
    # with one client (docs/results.md).
    workers: Whole = Field(
        default=0,
        description="batches decoded at a time; 0: as many as there are processor threads",
    )
    batch_sentences: Count = Field(default=32, description="sentences decoded together at most")
    batch_tokens: Count = Field(
        default=8_192, description="sentences × longest source, or half the limit of length, × beam"
    )
    queue_size: Count = Field(
        default=512, description="sentences that may wait; then requests are refused with 429"
    )
    max_sentences: Count = Field(
        default=512, description="sentences of a request: its lines, and parts of long ones"
    )
    max_term_tokens: Count = Field(
        default=128, description="tokens that the terms in one sentence must become"
    )
    request_seconds: Seconds = Field(
        default=60.0, description="from a request's arrival to its answer; beyond: 504"
    )
    streams: Count = Field(default=4, description="streams that are decoded at a time")
    queued_streams: Whole = Field(default=32, description="streams that may wait; then 429")
    jobs: Count = Field(default=2, description="single jobs at a time, such as traces")
    queued_jobs: Whole = Field(default=32, description="single jobs that may wait; then 429")
