from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from small_tokenizers import ALL_KINDS, SENTENCES, TRAINING, VOCAB_SIZE, small_tokenizer
from translucid.errors import DataError, InputError
from translucid.text.tokenizer import (
    BOS,
    EOS,
    PAD,
    TAG_SLOTS,
    UNK,
    load_tokenizer,
    tag_id,
    train_tokenizer,
)

every_kind = pytest.mark.parametrize("kind", ALL_KINDS)


@every_kind
def test_the_first_twenty_ids_are_the_same_in_every_tokenizer(kind: str) -> None:
    tokenizer = small_tokenizer(kind)
    assert (PAD, UNK, BOS, EOS) == (0, 1, 2, 3)
    assert [tokenizer.piece(token) for token in range(4)] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert [tag_id(slot) for slot in range(TAG_SLOTS)] == list(range(4, 20))
    assert [tokenizer.piece(tag_id(s)) for s in range(16)] == [f"<tag{s}>" for s in range(16)]


@pytest.mark.parametrize("slot", [-1, 16])
def test_a_tag_slot_that_does_not_exist(slot: int) -> None:
    with pytest.raises(InputError, match=rf"slot {slot} does not exist; slots run from 0 to 15"):
        tag_id(slot)


@every_kind
def test_special_ids_add_nothing_to_the_text(kind: str) -> None:
    tokenizer = small_tokenizer(kind)
    ids = tokenizer.encode("the cat")
    assert tokenizer.decode([tag_id(3), BOS, *ids, EOS, PAD, PAD]) == "the cat"
    assert tokenizer.decode([]) == ""


@every_kind
@pytest.mark.parametrize("text", ["<s>", "</s>", "<pad>", "<unk>", "<tag0>", "<0x41>"])
def test_no_text_becomes_a_special_id(kind: str, text: str) -> None:
    tokenizer = small_tokenizer(kind)
    for spelled in (text, f"a{text}b", f"a {text} {text}"):
        ids = [*tokenizer.encode(spelled), *tokenizer.sample(spelled, seed=1, strength=0.5)]
        assert not {PAD, BOS, EOS, *range(4, 20)} & set(ids)


@every_kind
def test_saving_and_loading(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    tokenizer = small_tokenizer(kind)
    tokenizer.save(path)
    loaded = load_tokenizer(path)
    assert loaded.kind == kind
    assert loaded.vocab_size == tokenizer.vocab_size
    assert loaded.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    assert loaded.encode_batch(SENTENCES) == tokenizer.encode_batch(SENTENCES)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.model"]


@every_kind
def test_pickling(kind: str) -> None:
    tokenizer = small_tokenizer(kind)
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.fingerprint == tokenizer.fingerprint
    assert copy.sample(SENTENCES[1], seed=5, strength=0.3) == tokenizer.sample(
        SENTENCES[1], seed=5, strength=0.3
    )


@every_kind
def test_training_is_deterministic_and_writes_what_it_returns(kind: str, tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        sentences = (sentence for sentence in TRAINING)
        tokenizer = train_tokenizer(sentences, kind=kind, vocab_size=VOCAB_SIZE, path=path)
        assert tokenizer.fingerprint == small_tokenizer(kind).fingerprint
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["one", "two"]


def test_a_tokenizer_is_the_same_in_another_process(tmp_path: Path) -> None:
    """Nothing may hang on Python's hash of strings, which differs from process to process."""
    program = (
        "import sys; from pathlib import Path; from translucid.text.tokenizer import *\n"
        "for kind in ('bpe', 'unigram', 'word', 'char'):\n"
        "    t = train_tokenizer(sys.argv[2:], kind=kind, vocab_size=400, path=Path(sys.argv[1]))\n"
        "    print(t.fingerprint, [t.sample(s, seed=7, strength=.4) for s in sys.argv[2:]])\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "t"), *SENTENCES],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == 4


@every_kind
@pytest.mark.parametrize("sentences", [[], [""], ["", " ", "\n\t"]])
def test_training_on_no_text(kind: str, sentences: list[str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no text to train the tokenizer on"):
        train_tokenizer(sentences, kind=kind, vocab_size=400, path=tmp_path / "t")
    assert not list(tmp_path.iterdir())


@every_kind
def test_training_on_a_lone_surrogate(kind: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"character 2 of the text is the lone surrogate U\+DC80"):
        train_tokenizer(["fine", "a\udc80"], kind=kind, vocab_size=400, path=tmp_path / "t")
    assert not list(tmp_path.iterdir())


class Stop(BaseException):
    pass


@every_kind
@pytest.mark.parametrize("error", [DataError("f", "bad", remedy="mend it"), Stop()])
def test_an_error_while_reading_the_sentences_comes_through(
    kind: str, error: BaseException, tmp_path: Path
) -> None:
    def sentences() -> Iterator[str]:
        yield "a sentence"
        raise error

    with pytest.raises(type(error)) as caught:
        train_tokenizer(sentences(), kind=kind, vocab_size=400, path=tmp_path / "t")
    assert caught.value is error
    assert not list(tmp_path.iterdir())


def test_an_unknown_kind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no tokenizer of kind 'unigramm'; did you mean 'unigram"):
        train_tokenizer(SENTENCES, kind="unigramm", vocab_size=400, path=tmp_path / "t")


@every_kind
@pytest.mark.parametrize("size", [-1, 0, 21, 1_000_001])
def test_an_impossible_size(kind: str, size: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"vocabulary of {size} .* from 22 to 1,000,000"):
        train_tokenizer(SENTENCES, kind=kind, vocab_size=size, path=tmp_path / "t")


def test_a_missing_folder_is_noticed_before_training(tmp_path: Path) -> None:
    def sentences() -> Iterator[str]:
        pytest.fail("no sentence should be read")
        yield ""

    with pytest.raises(InputError, match=r"there is no folder .*missing"):
        train_tokenizer(sentences(), kind="bpe", vocab_size=400, path=tmp_path / "missing" / "t")


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    with pytest.raises(IsADirectoryError):
        small_tokenizer("char").save(tmp_path / "t")
    assert [entry.name for entry in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_path_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the tokenizer cannot be read: (No such|Is a dir)"):
        load_tokenizer(tmp_path / name)


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"the cat\tle chat\n" * 9, b"\x80\x02}q\x00.", b"{}", b"[]"]
)
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be used: it .*\n  Copy the file again") as caught:
        load_tokenizer(path)
    assert caught.value.path == path


@every_kind
def test_ids_of_another_tokenizer(kind: str) -> None:
    tokenizer = small_tokenizer(kind)
    for wrong in (-1, tokenizer.vocab_size):
        expected = rf"token id {wrong} is not in the vocabulary; ids run from 0 to"
        with pytest.raises(InputError, match=expected):
            tokenizer.decode([5, wrong])
        with pytest.raises(InputError, match=expected):
            tokenizer.piece(wrong)


@every_kind
@pytest.mark.parametrize("strength", [-0.1, float("-inf")])
def test_a_negative_strength(kind: str, strength: float) -> None:
    with pytest.raises(InputError, match=r"strength of subword sampling .*must be"):
        small_tokenizer(kind).sample("a", seed=1, strength=strength)


@pytest.mark.parametrize("kind", ["word", "char"])
def test_words_and_characters_have_one_segmentation(kind: str) -> None:
    tokenizer = small_tokenizer(kind)
    assert tokenizer.sample(SENTENCES[0], seed=3, strength=0.9) == tokenizer.encode(SENTENCES[0])
