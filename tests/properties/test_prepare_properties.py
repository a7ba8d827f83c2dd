"""What holds of a preparation whatever the corpus: nothing is lost, nothing is shared."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from translucid.data.cleaning import Cleaner, CleaningConfig, Sides
from translucid.data.prepare import Inputs, PrepareConfig, prepare_corpora
from translucid.data.readers import find_corpora
from translucid.data.shards import PreparedData, open_data
from translucid.events import silent
from translucid.text.normalization import comparison_key
from translucid.text.tokenizer import load_tokenizer

Pairs = list[tuple[str, str]]
# Few sentences, so that many are shared; wild ones, so that nothing is taken for granted.
SENTENCE = st.one_of(
    st.sampled_from(
        ["Le chat", "le chat !", "un", "deux", "trois", "", "?!", "x" * 70, "<b>", "n°"]
    ),
    st.text(st.characters(exclude_categories=()), max_size=12),
)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), max_size=25)
CLEANING = CleaningConfig(max_tokens=60)


def jsonl(folder: Path, name: str, pairs: Pairs) -> tuple[object, ...]:
    """Write JSON lines, which can hold every text, halves of surrogate pairs too."""
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"fr": s, "en": t}) + "\n" for s, t in pairs))
    return tuple(find_corpora([str(path)], source_lang="fr", target_lang="en", fields=None))


def prepared(
    folder: Path, train: Pairs, dev: Pairs, split: int, chunk: int
) -> tuple[PreparedData, dict]:
    inputs = Inputs(
        jsonl(folder, "train", train), jsonl(folder, "dev", dev) if dev else (), (), None
    )
    config = PrepareConfig(tokenizer="char", split_test=split, cleaning=CLEANING)
    done = prepare_corpora(
        inputs, config, folder / "data", workers=1, chunk_pairs=chunk, force=True, emit=silent
    )
    return open_data(done.folder), done.report


def texts(data: PreparedData, name: str) -> Pairs:
    split = data.split(name)
    return [(split.text("fr", i), split.text("en", i)) for i in range(len(split))]


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(PAIRS, PAIRS, st.integers(0, 3), st.integers(1, 30))
def test_nothing_is_lost_and_nothing_is_shared(
    train: Pairs, dev: Pairs, split: int, chunk: int
) -> None:
    words = ["zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"]
    train = [*train, *((f"phrase {word}", f"sentence {word} {word}") for word in words)]
    cleaner = Cleaner(CLEANING, "fr", "en")
    clean = [cleaner.clean(Sides(*pair)) for pair in train]
    with tempfile.TemporaryDirectory() as name:
        data, report = prepared(Path(name), train, dev, split, chunk)
        splits = {split: texts(data, split) for split in data.manifest.splits}
        origins = [data.split("train").origin(i).line for i in range(len(splits["train"]))]
        tokenizer = load_tokenizer(data.tokenizer_path)
        tokens = data.split("train").tokens("fr", 0).tolist()

    # Every pair that was read is in a split or was removed for a reason that was counted.
    own = len(splits["train"]) + len(splits.get("test", []))
    assert own + sum(entry["pairs"] for entry in report["removed"]) == len(train)
    assert report["read"]["pairs"] == len(train)
    # Training holds cleaned pairs in the order of the file, each with its line.
    assert splits["train"] == [tuple(clean[line - 1].sides) for line in origins]
    assert origins == sorted(origins)
    assert len(set(splits["train"])) == len(splits["train"])
    # Given sets keep every line; and training shares no sentence with what is held out.
    if dev:
        assert splits["dev"] == [tuple(cleaner.repair(Sides(*pair)).sides) for pair in dev]
    for side in (0, 1):
        held = {
            comparison_key(pair[side])
            for name in splits.keys() - {"train"}
            for pair in splits[name]
            if pair[side]
        }
        assert not held & {comparison_key(pair[side]) for pair in splits["train"]}
    assert tokens == tokenizer.encode(splits["train"][0][0])


@settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow])
@given(PAIRS, st.integers(1, 9), st.integers(1, 9))
def test_chunks_leave_no_trace(train: Pairs, one: int, other: int) -> None:
    assume(one != other)
    train = [*train, ("une phrase", "some sentence")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(folder, train, [], 0, one)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        prepared(folder, train, [], 0, other)
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
