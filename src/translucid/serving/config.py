"""Settings of the server: threads and batches of its engine, every limit and every time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from translucid.config import Config, Count, Rule

KEYS_VARIABLE = "TRANSLUCID_API_KEYS"
Seconds = Annotated[float, Field(gt=0)]
Whole = Annotated[int, Field(ge=0)]


class EngineSettings(Config):
    """Threads, batches, queues and timeouts of an `engine.Engine`."""

    # One thread per batch: on two free cores this is faster than both threads on one batch, three
    # times faster with one client (docs/results.md).
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
    max_tokens: Count = Field(default=6_000, description="source tokens of one text; beyond: 413")
    max_total_tokens: Count = Field(
        default=24_000, description="source tokens of all texts of a request; beyond: 413"
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


Bytes = Annotated[int, Field(ge=1024)]

# The fields that bound a request: `GET /v1/models` tells them, so that a client can ask for less.
LIMITS = (
    "max_characters",
    "max_total_characters",
    "max_texts",
    "max_sentences",
    "max_tokens",
    "max_total_tokens",
    "max_beam",
    "max_n_best",
    "max_samples",
    "max_length",
    "max_terms",
    "max_term_tokens",
    "max_forbidden",
    "max_word_characters",
    "max_prefix_characters",
    "max_prefix_tokens",
    "max_without",
    "max_alignment",
    "max_next",
    "max_patch_tokens",
    "max_patch_cells",
    "max_patch_pairs",
    "max_film_frames",
    "max_body_bytes",
    "max_json_depth",
    "max_trace_bytes",
)


def _one_text_fits(values: Mapping[str, Any]) -> str | None:
    one, all_together = values["max_characters"], values["max_total_characters"]
    if one <= all_together:
        return None
    return (
        f"max_characters = {one} is above max_total_characters = {all_together}: a request of one "
        "text of that length would be refused"
    )


def _one_trace_fits(values: Mapping[str, Any]) -> str | None:
    one, store = values["max_trace_bytes"], values["trace_store_bytes"]
    if one <= store:
        return None
    return f"max_trace_bytes = {one} is above trace_store_bytes = {store}: it could not be kept"


class ServingConfig(EngineSettings):
    """Limits and times of a server; a request beyond one of them is refused, never cut."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *EngineSettings.rules,
        Rule(("max_characters", "max_total_characters"), _one_text_fits),
        Rule(("max_trace_bytes", "trace_store_bytes"), _one_trace_fits),
    )

    # What one request may ask for.
    max_characters: Count = Field(default=5_000, description="characters of one text")
    max_total_characters: Count = Field(
        default=50_000, description="characters of all texts of a request"
    )
    max_texts: Count = Field(default=64, description="texts of a request")
    max_beam: Count = Field(
        default=16, description="width of a beam (search.beam), and so search.groups"
    )
    max_n_best: Count = Field(default=16, description="search.n_best, and alternatives")
    max_samples: Count = Field(default=64, description="search.samples")
    max_length: Count = Field(
        default=512, description="search.max_length, min_length and extra_length"
    )
    max_terms: Count = Field(default=200, description="entries of terms")
    max_forbidden: Count = Field(default=200, description="words of forbidden, and of keep")
    max_word_characters: Count = Field(
        default=200, description="characters of a term, or of a forbidden or kept word"
    )
    max_prefix_characters: Count = Field(
        default=500, description="characters of what a translation must begin with"
    )
    max_prefix_tokens: Count = Field(default=512, description="token ids of a forced beginning")
    max_without: Count = Field(default=1_024, description="heads switched off in one trace")
    max_alignment: Count = Field(
        default=2_000_000, description="numbers of all alignments of an answer"
    )
    max_next: Count = Field(default=1_000, description="tokens listed by /v1/next")
    max_patch_tokens: Count = Field(
        default=64, description="tokens of a sentence that is compared, and of its translation"
    )
    max_patch_cells: Count = Field(default=4_096, description="cells patched together")
    max_patch_pairs: Count = Field(default=20, description="pairs of sentences of a repetition")
    max_film_frames: Count = Field(default=24, description="checkpoints of one film strip")
    max_body_bytes: Bytes = Field(default=1_000_000, description="bytes of a request's body")
    max_json_depth: Count = Field(default=16, description="brackets within brackets in a JSON body")
    max_trace_bytes: Bytes = Field(default=64_000_000, description="bytes of one trace")

    # What the server holds.
    trace_store_bytes: Bytes = Field(default=256_000_000, description="bytes of all traces kept")
    trace_store_count: Count = Field(
        default=64, description="traces kept; the least used goes first"
    )
    max_sending_bytes: Bytes = Field(
        default=256_000_000, description="bytes of all long answers being sent; those shared once"
    )
    max_connections: Count = Field(
        default=512, description="connections open at once; idle ones make room for new ones"
    )
    max_connections_per_address: Count = Field(
        default=256, description="of these from one address, such as that of a proxy"
    )
    max_header_bytes: Bytes = Field(
        default=32_768, description="bytes of a request's line and headers"
    )

    # What may take how long.
    body_seconds: Seconds = Field(
        default=20.0, description="from the first byte of a body to its last"
    )
    send_seconds: Seconds = Field(
        default=30.0,
        description="to read on by 64 kB of an answer; slower clients are disconnected",
    )
    heartbeat_seconds: Seconds = Field(
        default=10.0, description="between signs of life of a stream"
    )
    keep_alive_seconds: Seconds = Field(
        default=5.0, description="a connection stays open without a request"
    )
    drain_seconds: Seconds = Field(
        default=60.0, description="to finish what was accepted at the end"
    )
    trace_seconds: Seconds = Field(
        default=3_600.0, description="a trace is kept after its last use"
    )
