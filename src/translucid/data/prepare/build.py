"""The stages of a preparation, in order, up to an output that is ready to be moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from translucid.checksums import compute_checksum
from translucid.data.batches import Batches, iterate_blocks, load_examples, longest_example
from translucid.data.cleaning import Cleaner, Reason
from translucid.data.config import PrepareConfig
from translucid.data.manifest import (
    VERSION,
    CorpusEntry,
    Layout,
    Manifest,
    SplitEntry,
    TokenizerEntry,
)
from translucid.data.prepare.clean import CleanedCorpora, clean_corpora
from translucid.data.prepare.config import Inputs, stamp_files
from translucid.data.prepare.placeholders import learn_lexicon
from translucid.data.prepare.report import PairTallies, Results, build_report, list_paths
from translucid.data.prepare.selection import (
    CleanedPair,
    HeldOutSet,
    PairStatus,
    Selection,
    SetName,
    SplitRequest,
    count_removed,
    hash_held_out,
    load_pairs,
    read_held_out,
    select,
)
from translucid.data.prepare.tokenization import (
    BaseTokenizer,
    EncodingJob,
    EncodingReport,
    assign_tag_slots,
    encode_pairs,
    encode_training,
    learn_tokenizers,
    load_base,
)
from translucid.data.prepare.workers import Workers
from translucid.data.prepare.workspace import Workspace, draft_file, sentence_hashes, write_json
from translucid.data.readers import Corpus
from translucid.data.shards import TOKENIZER, PreparedData, merge_parts, write_part
from translucid.errors import DataError
from translucid.events import Emit, Notice
from translucid.text.tokenizer import Tokenizer, Tokenizers


@dataclass(frozen=True)
class Build:
    """A preparation: everything that its stages need."""

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
        """Run all stages, reusing what an earlier run has finished."""
        given = self._read_held_out_sets()
        cleaned = clean_corpora(
            self.inputs.train,
            self.config.cleaning,
            self.work,
            chunk_pairs=self.chunk_pairs,
            workers=self.workers,
            emit=self.emit,
        )
        _check_unchanged(self.inputs.corpora, self.stamps)
        selection = self._select(cleaned, given)
        tokenizers = self._make_tokenizers(selection)
        splits, encoding = self._write_shards(selection, given, tokenizers)
        manifest = self._make_manifest(tokenizers, splits)
        results = Results(
            inputs=self.inputs,
            cleaning=self.config.cleaning,
            manifest=manifest,
            cleaned=cleaned,
            selected=count_removed(selection),
            given=given,
            encoding=encoding,
            padding=self._measure_padding(manifest),
        )
        write_json(self.work.output / "report.json", build_report(results, self.work.output))
        write_json(self.work.finished, {"manifest": manifest.to_json()})

    def _read_held_out_sets(self) -> dict[str, HeldOutSet]:
        """Read the dev and test sets that were given as files."""
        cleaner = Cleaner(self.config.cleaning, *self.inputs.languages)
        first = len(self.inputs.train)
        given: dict[str, HeldOutSet] = {}
        sets: dict[SetName, tuple[Corpus, ...]] = {
            "dev": self.inputs.dev,
            "test": self.inputs.test,
        }
        for name, corpora in sets.items():
            if corpora:
                given[name] = read_held_out(name, corpora, first, cleaner)
                first += len(corpora)
                for notice in _describe_problems(name, given[name], corpora):
                    self.emit(Notice(notice))
        if {"dev", "test"} <= given.keys():
            shared = _count_shared(given["dev"], given["test"])
            if shared:
                self.emit(
                    Notice(
                        f"note: {shared:,} of {len(given['dev'].rows):,} dev pairs share a "
                        "sentence with the test set; both sets are kept as given."
                    )
                )
        return given

    def _select(self, cleaned: CleanedCorpora, given: Mapping[str, HeldOutSet]) -> Selection:
        selection = select(
            cleaned.chunks,
            hash_held_out(row for held in given.values() for row in held.rows),
            SplitRequest(self.config.split_dev, self.config.split_test, self.config.seed),
            drop_duplicates=self.config.cleaning.drop_duplicates,
        )
        if not selection.count(PairStatus.TRAIN):
            counts = PairTallies()
            counts.merge(cleaned.tallies)
            counts.merge(count_removed(selection))
            reasons = [
                f"{reason.heading}: {counts.count(reason):,}"
                for reason in Reason
                if counts.count(reason)
            ]
            raise DataError(
                self.inputs.train[0].name,
                f"no pair is left to train on: of {cleaned.read:,} read, all were removed or held "
                f"out ({', '.join(reasons) or 'the files are empty'})",
                remedy="Check the files and languages, or switch off the filter that is wrong for "
                "this data (see `translucid prepare --help`).",
            )
        with draft_file(self.work.drafts, self.work.selection) as file:
            np.save(file, selection.statuses)
        return selection

    def _make_tokenizers(self, selection: Selection) -> Tokenizers:
        """Return the tokenizers of sources and of targets, which may have fewer pieces."""
        if self.base is None:
            tokenizers = learn_tokenizers(
                selection,
                self.work,
                config=self.config,
                workers=self.workers,
                emit=self.emit,
            )
        else:
            tokenizer = load_base(self.base, placeholders=self.config.placeholders > 0)
            if tokenizer.fingerprint != compute_checksum(self.base.tokenizer).sha256:
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

    def _write_shards(
        self, selection: Selection, given: Mapping[str, HeldOutSet], tokenizers: Tokenizers
    ) -> tuple[dict[str, SplitEntry], dict[str, EncodingReport]]:
        """Write all splits; the limit of tokens applies only to training pairs."""
        output, (tokenizer, target_tokenizer) = self.work.output, tokenizers
        share = self._placeholder_share(tokenizer)
        if share:
            learn_lexicon(selection, self.work, workers=self.workers, emit=self.emit)
        job = EncodingJob(
            tokenizer=output / TOKENIZER,
            fingerprint=tokenizer.fingerprint,
            target_pieces=target_tokenizer.vocab_size,
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
                f"no pair is left to train on: all {selection.count(PairStatus.TRAIN):,} have "
                f"a side of more than {job.max_tokens:,} tokens",
                remedy="Raise --max-tokens, or give a larger vocabulary.",
            )
        reports = {"train": report}
        for name, rows in self._held_out_pairs(selection, given).items():
            reports[name] = EncodingReport()
            records = encode_pairs(rows, tokenizers, replace(job, max_tokens=0), reports[name])
            splits[name] = write_part(output / name, records, job.layout)
        return splits, reports

    def _placeholder_share(self, tokenizer: Tokenizer) -> float:
        """Return the share of pairs that get placeholders, 0 if the vocabulary has none."""
        share = self.config.placeholders
        if share and self.base is not None and not tokenizer.has_placeholders:
            self.emit(
                Notice(
                    f"note: the tokenizer of {self.base.tokenizer} has no placeholders, so no pair "
                    "gets any."
                )
            )
        return share if tokenizer.has_placeholders else 0.0

    def _held_out_pairs(
        self, selection: Selection, given: Mapping[str, HeldOutSet]
    ) -> dict[str, list[CleanedPair]]:
        rows = {}
        for name, status, wanted in (
            ("dev", PairStatus.DEV, self.config.split_dev),
            ("test", PairStatus.TEST, self.config.split_test),
        ):
            if name in given:
                rows[name] = given[name].rows
            elif wanted:
                rows[name] = load_pairs(selection, status)
        return rows

    def _make_manifest(self, tokenizers: Tokenizers, splits: dict[str, SplitEntry]) -> Manifest:
        source, target = self.inputs.languages
        tokenizer, target_tokenizer = tokenizers
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
                target_tokenizer.vocab_size if self.config.target_pieces_only else None,
            ),
            corpora=tuple(
                CorpusEntry(list_paths(corpus), corpus.weight, 0) for corpus in self.inputs.corpora
            ),
            splits=splits,
            settings=dict(self.settings),
            lowercase=self.config.cleaning.lowercase,
            plain_typography=self.config.cleaning.plain_typography,
        )
        counts = _count_by_corpus(PreparedData(self.work.output, manifest))
        entries = zip(manifest.corpora, counts, strict=True)
        return replace(
            manifest, corpora=tuple(replace(entry, pairs=count) for entry, count in entries)
        )

    def _measure_padding(self, manifest: Manifest) -> float | None:
        """Measure the share of padding in the first epoch; None if a pair exceeds the batch."""
        examples = load_examples(PreparedData(self.work.output, manifest), "train")
        budget = self.config.batch_tokens
        if longest_example(examples) > budget:
            self.emit(
                Notice(
                    f"note: the longest pair does not fit into a batch of {budget:,} tokens, so "
                    "the share of padding is not known; see --max-tokens and --batch-tokens."
                )
            )
            return None
        return Batches(examples, budget, seed=0).epoch(0).padding_share


def _count_by_corpus(data: PreparedData) -> list[int]:
    """Count the pairs of each corpus, over all splits."""
    counts = np.zeros(len(data.manifest.corpora), np.int64)
    for name in data.manifest.splits:
        split = data.split(name)
        for pairs in iterate_blocks(split, len(split)):
            counts += np.bincount(split.corpora(pairs), minlength=len(counts))
    return [int(count) for count in counts]


def _describe_problems(name: str, held: HeldOutSet, corpora: tuple[Corpus, ...]) -> list[str]:
    """Return what a user should know about a given set."""
    notices = []
    if empty := held.tallies.by_name.get(Reason.EMPTY):
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


def _count_shared(dev: HeldOutSet, test: HeldOutSet) -> int:
    sources = sentence_hashes(row.source for row in dev.rows)
    targets = sentence_hashes(row.target for row in dev.rows)
    return int(hash_held_out(test.rows).find_shared(sources, targets).sum())


def _check_unchanged(corpora: Iterable[Corpus], before: Mapping[Path, tuple[int, int]]) -> None:
    for path, stamp in stamp_files(corpora).items():
        if stamp != before[path]:
            raise DataError(
                path,
                "the file changed while it was being read",
                remedy="Run the command again when nothing writes to the file any more.",
            )
