"""The stages of a preparation, one after another, up to an output that is ready to be moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from translucid.data.batches import Batches, blocks, examples_of, longest
from translucid.data.cleaning import REASON_TITLES, Cleaner, Reason
from translucid.data.download import compute_sha256
from translucid.data.manifest import (
    VERSION,
    CorpusEntry,
    Layout,
    Manifest,
    SplitEntry,
    TokenizerEntry,
)
from translucid.data.prepare.clean import CleanedCorpora, clean_corpora
from translucid.data.prepare.config import Inputs, PrepareConfig, stamp_files
from translucid.data.prepare.placeholders import make_lexicon
from translucid.data.prepare.report import Facts, Findings, build_report, paths_of
from translucid.data.prepare.selection import (
    Fate,
    HeldOut,
    Row,
    Selection,
    SetName,
    SplitRequest,
    keys_of,
    read_held_out,
    removed,
    rows_of,
    select,
)
from translucid.data.prepare.tokenization import (
    BaseTokenizer,
    EncodingJob,
    EncodingReport,
    assign_tag_slots,
    encode_training,
    encoded,
    load_base,
    make_tokenizer,
)
from translucid.data.prepare.workers import Workers
from translucid.data.prepare.workspace import Workspace, drafted_file, sentence_hashes, write_json
from translucid.data.readers import Corpus
from translucid.data.shards import TOKENIZER, PreparedData, merge_parts, write_part
from translucid.errors import DataError
from translucid.events import Emit, Notice
from translucid.text.tokenizer import Tokenizer, Tokenizers


@dataclass(frozen=True)
class Build:
    """All that the stages need to know."""

    inputs: Inputs
    config: PrepareConfig
    base: BaseTokenizer | None
    settings: Mapping[str, Any]
    stamps: Mapping[Path, tuple[int, int]]
    work: Workspace
    workers: Workers
    chunk_pairs: int
    emit: Emit

    def run(self) -> None:
        """Go through all stages; what an earlier run has finished is taken as it is."""
        given = self._given()
        cleaned = clean_corpora(
            self.inputs.train,
            self.config.cleaning,
            self.work,
            chunk_pairs=self.chunk_pairs,
            workers=self.workers,
            emit=self.emit,
        )
        _refuse_changed(self.inputs.corpora, self.stamps)
        selection = self._select(cleaned, given)
        tokenizers = self._tokenizers(selection)
        splits, encoding = self._shards(selection, given, tokenizers)
        manifest = self._manifest(tokenizers, splits)
        facts = Facts(
            inputs=self.inputs,
            cleaning=self.config.cleaning,
            manifest=manifest,
            cleaned=cleaned,
            selected=removed(selection),
            given=given,
            encoding=encoding,
            padding=self._padding(manifest),
        )
        write_json(self.work.output / "report.json", build_report(facts, self.work.output))
        write_json(self.work.finished, {"manifest": manifest.to_json()})

    def _given(self) -> dict[str, HeldOut]:
        """Read the dev and test sets that were given as files."""
        cleaner = Cleaner(self.config.cleaning, *self.inputs.languages)
        first = len(self.inputs.train)
        given: dict[str, HeldOut] = {}
        sets: dict[SetName, tuple[Corpus, ...]] = {
            "dev": self.inputs.dev,
            "test": self.inputs.test,
        }
        for name, corpora in sets.items():
            if corpora:
                given[name] = read_held_out(name, corpora, first, cleaner)
                first += len(corpora)
                for notice in _about(name, given[name], corpora):
                    self.emit(Notice(notice))
        if {"dev", "test"} <= given.keys():
            shared = _shared(given["dev"], given["test"])
            if shared:
                self.emit(
                    Notice(
                        f"note: {shared:,} of {len(given['dev'].rows):,} dev pairs share a "
                        "sentence with the test set; both sets are kept as given."
                    )
                )
        return given

    def _select(self, cleaned: CleanedCorpora, given: Mapping[str, HeldOut]) -> Selection:
        selection = select(
            cleaned.chunks,
            keys_of(row for held in given.values() for row in held.rows),
            SplitRequest(self.config.split_dev, self.config.split_test, self.config.seed),
            drop_duplicates=self.config.cleaning.drop_duplicates,
        )
        if not selection.count(Fate.TRAIN):
            counts = Findings()
            counts.merge(cleaned.findings)
            counts.merge(removed(selection))
            reasons = [
                f"{REASON_TITLES[r]}: {counts.count(r):,}" for r in Reason if counts.count(r)
            ]
            raise DataError(
                self.inputs.train[0].name,
                f"no pair is left to train on: of {cleaned.read:,} read, all were removed or held "
                f"out ({', '.join(reasons) or 'the files are empty'})",
                remedy="Check the files and languages, or switch off the filter that is wrong for "
                "this data (see `translucid prepare --help`).",
            )
        with drafted_file(self.work.drafts, self.work.selection) as file:
            np.save(file, selection.fates)
        return selection

    def _tokenizers(self, selection: Selection) -> Tokenizers:
        """Return the tokenizer of sources and that of targets, which may have fewer pieces."""
        if self.base is None:
            tokenizers = make_tokenizer(
                selection,
                self.work,
                config=self.config,
                workers=self.workers,
                emit=self.emit,
            )
        else:
            tokenizer = load_base(self.base, placeholders=self.config.placeholders > 0)
            if tokenizer.fingerprint != compute_sha256(self.base.tokenizer):
                self.emit(
                    Notice(
                        f"note: {self.base.tokenizer} was trained by another program. Its pieces "
                        "are kept; their ids change, and its normalisation is not applied."
                    )
                )
            size = self.base.target_pieces if self.config.target_pieces_only else None
            tokenizers = tokenizer, tokenizer.within(size or tokenizer.vocab_size)
        tokenizers[0].save(self.work.output / TOKENIZER)
        return tokenizers

    def _shards(
        self, selection: Selection, given: Mapping[str, HeldOut], tokenizers: Tokenizers
    ) -> tuple[dict[str, SplitEntry], dict[str, EncodingReport]]:
        """Write all splits; only training pairs are held to the limit of tokens."""
        output, (tokenizer, of_targets) = self.work.output, tokenizers
        share = self._placeholder_share(tokenizer)
        if share:
            make_lexicon(selection, self.work, workers=self.workers, emit=self.emit)
        job = EncodingJob(
            tokenizer=output / TOKENIZER,
            fingerprint=tokenizer.fingerprint,
            target_pieces=of_targets.vocab_size,
            layout=Layout(self.inputs.languages, tokenizer.vocab_size),
            max_tokens=self.config.cleaning.max_tokens,
            lexicon=self.work.lexicon if share else None,
            placeholders=share,
        )
        parts, report = encode_training(
            selection, job, self.work, workers=self.workers, emit=self.emit
        )
        splits = {"train": merge_parts(parts, output / "train", job.layout)}
        if not splits["train"].pairs:
            raise DataError(
                self.inputs.train[0].name,
                f"no pair is left to train on: all {selection.count(Fate.TRAIN):,} have a side of "
                f"more than {job.max_tokens:,} tokens",
                remedy="Raise --max-tokens, or give a larger vocabulary.",
            )
        reports = {"train": report}
        for name, rows in self._held_out_rows(selection, given).items():
            reports[name] = EncodingReport()
            records = encoded(rows, tokenizers, replace(job, max_tokens=0), reports[name])
            splits[name] = write_part(output / name, records, job.layout)
        return splits, reports

    def _placeholder_share(self, tokenizer: Tokenizer) -> float:
        """Return the share of pairs that get placeholders: none where the vocabulary has none."""
        share = self.config.placeholders
        if share and self.base is not None and not tokenizer.has_placeholders:
            self.emit(
                Notice(
                    f"note: the tokenizer of {self.base.tokenizer} has no placeholders, so no pair "
                    "gets any."
                )
            )
        return share if tokenizer.has_placeholders else 0.0

    def _held_out_rows(
        self, selection: Selection, given: Mapping[str, HeldOut]
    ) -> dict[str, list[Row]]:
        rows = {}
        for name, fate, wanted in (
            ("dev", Fate.DEV, self.config.split_dev),
            ("test", Fate.TEST, self.config.split_test),
        ):
            if name in given:
                rows[name] = given[name].rows
            elif wanted:
                rows[name] = rows_of(selection, fate)
        return rows

    def _manifest(self, tokenizers: Tokenizers, splits: dict[str, SplitEntry]) -> Manifest:
        source, target = self.inputs.languages
        tokenizer, of_targets = tokenizers
        base_languages = {} if self.base is None else self.base.languages
        base_tagged = self.base is not None and self.base.tagged
        manifest = Manifest(
            version=VERSION,
            source_lang=source,
            target_lang=target,
            languages=assign_tag_slots(base_languages, (source, target)),
            directions=((source, target), (target, source))
            if self.config.both
            else ((source, target),),
            tagged=self.config.both or self.config.tags or base_tagged,
            tokenizer=TokenizerEntry(
                tokenizer.kind,
                tokenizer.vocab_size,
                tokenizer.fingerprint,
                of_targets.vocab_size if self.config.target_pieces_only else None,
            ),
            corpora=tuple(
                CorpusEntry(paths_of(corpus), corpus.weight, 0) for corpus in self.inputs.corpora
            ),
            splits=splits,
            settings=dict(self.settings),
            lowercase=self.config.cleaning.lowercase,
            plain_typography=self.config.cleaning.plain_typography,
        )
        counts = _pairs_by_corpus(PreparedData(self.work.output, manifest))
        entries = zip(manifest.corpora, counts, strict=True)
        return replace(
            manifest, corpora=tuple(replace(entry, pairs=count) for entry, count in entries)
        )

    def _padding(self, manifest: Manifest) -> float | None:
        """Measure the padding share of the first epoch; None where a pair exceeds the batch."""
        examples = examples_of(PreparedData(self.work.output, manifest), "train")
        budget = self.config.batch_tokens
        if longest(examples) > budget:
            self.emit(
                Notice(
                    f"note: the longest pair does not fit into a batch of {budget:,} tokens, so "
                    "the share of padding is not known; see --max-tokens and --batch-tokens."
                )
            )
            return None
        return Batches(examples, budget, seed=0).epoch(0).padding_share


def _pairs_by_corpus(data: PreparedData) -> list[int]:
    """Count, over all splits, the pairs that came from each corpus."""
    counts = np.zeros(len(data.manifest.corpora), np.int64)
    for name in data.manifest.splits:
        split = data.split(name)
        for pairs in blocks(split, len(split)):
            counts += np.bincount(split.corpus_of(pairs), minlength=len(counts))
    return [int(count) for count in counts]


def _about(name: str, held: HeldOut, corpora: tuple[Corpus, ...]) -> list[str]:
    """Return what a person should know of a given set."""
    notices = []
    if empty := held.findings.by_name.get(Reason.EMPTY):
        lines = ", ".join(str(example.line) for example in empty.examples[:5])
        more = ", …" if empty.pairs > 5 else ""
        notices.append(
            f"note: {empty.pairs:,} of {len(held.rows):,} {name} pairs have an empty side and are "
            f"kept (line {lines}{more})."
        )
    if not held.rows:
        raise DataError(
            corpora[0].name,
            f"the {name} set has no pair",
            remedy=f"Check the file, or leave --{name} out.",
        )
    return notices


def _shared(dev: HeldOut, test: HeldOut) -> int:
    sources = sentence_hashes(row.source for row in dev.rows)
    targets = sentence_hashes(row.target for row in dev.rows)
    return int(keys_of(test.rows).share_a_sentence(sources, targets).sum())


def _refuse_changed(corpora: Iterable[Corpus], before: Mapping[Path, tuple[int, int]]) -> None:
    for path, stamp in stamp_files(corpora).items():
        if stamp != before[path]:
            raise DataError(
                path,
                "the file changed while it was being read",
                remedy="Run the command again when nothing writes to the file any more.",
            )
