"""How probable given translations are: what the search says, and what stepping says."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from small_tokenizers import SENTENCES
from small_translators import sentences, write_random_model
from translucid.decoding.config import SearchConfig
from translucid.engines.base import Pair
from translucid.engines.pytorch import PyTorchEngine
from translucid.errors import InputError
from translucid.text.tokenizer import BOS, EOS
from translucid.translator import Translation, Translator, load
from translucid.translator.scoring import MAX_SCORED_TOKENS


def test_scores_are_those_of_the_search(taught: Translator) -> None:
    sources = sentences(40, seed=3)
    found = taught.translate(sources, search=SearchConfig(beam=4, n_best=3), token_scores=True)
    check_scores(taught, found)


def check_scores(translator: Translator, found: list[Translation]) -> None:
    for rank in range(max(len(one.n_best) for one in found)):
        listed = [one for one in found if len(one.n_best) > rank]
        scored = translator.score(
            [one.source for one in listed], [one.n_best[rank].text for one in listed], batch_size=7
        )
        for one, score in zip(listed, scored, strict=True):
            assert score.log_prob == pytest.approx(one.n_best[rank].log_prob, abs=1e-4)
            assert score.log_probs == pytest.approx(one.n_best[rank].log_probs, abs=1e-4)
            assert score.tokens == one.n_best[rank].tokens


@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(method="greedy", max_length=2),
        SearchConfig(beam=4, n_best=3, max_length=2),
        SearchConfig(method="diverse", beam=4, groups=2, n_best=2, max_length=2),
        SearchConfig(method="sampling", samples=2, n_best=2, max_length=2),
    ],
    ids=lambda search: str(search.method),
)
def test_scores_of_what_was_cut_short_are_those_of_the_search(
    taught: Translator, search: SearchConfig
) -> None:
    found = taught.translate(sentences(40, seed=3), search=search, token_scores=True)
    assert {c.ending for one in found for c in one.n_best} == {"end", "limit"}
    check_scores(taught, found)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "relative"])
def test_scores_of_tokens_are_those_of_the_search_for_untrained_networks(
    tmp_path: Path, positions: str
) -> None:
    """Token by token, for an untrained network's pieces need not be those of its text."""
    translator = load(write_random_model(tmp_path / "m", positions=positions))
    tokenizer = translator.tokenizer
    searcher = translator.searcher(SearchConfig(beam=3, n_best=3, max_length=12))
    requests = translator.encode(SENTENCES, translator.build_request(target="en")).inputs
    pairs, expected = [], []
    for request, found in zip(requests, searcher.search(requests), strict=True):
        for hypothesis in found:
            pairs.append(Pair(request.source, hypothesis.tokens))
            expected.append(hypothesis)
    for scored, hypothesis in zip(
        PyTorchEngine(tuple(translator.members)).score(pairs), expected, strict=True
    ):
        assert scored == pytest.approx(hypothesis.log_probs, abs=1e-4)
    assert tokenizer.vocab_size > 300


def test_scores_are_those_of_stepping_through_the_target(babbling: Translator) -> None:
    source, target = "The cat sat on the mat.", "Le chat s'est assis."
    (scored,) = babbling.score([source], [target])
    tokens = babbling.tokenizer.encode(target)
    session = babbling.members[0].model.start(
        torch.tensor([[*babbling.tokenizer.encode(source), EOS]])
    )
    expected = []
    for last, token in zip([BOS, *tokens], [*tokens, EOS], strict=True):
        expected.append(float(session.step(torch.tensor([last]))[0, token]))
    assert scored.log_probs == pytest.approx(expected, abs=1e-5)
    assert scored.log_prob == pytest.approx(sum(expected), abs=1e-4)
    assert scored.perplexity == pytest.approx(math.exp(-sum(expected) / len(expected)))
    assert scored.tokens == tuple(babbling.tokenizer.piece(token) for token in tokens)


def test_the_batch_changes_no_score(babbling: Translator) -> None:
    sources, targets = SENTENCES, SENTENCES[::-1]
    each = [babbling.score(sources, targets, batch_size=size) for size in (1, 5, 64)]
    for scored in zip(*each, strict=True):
        assert scored[0].log_probs == pytest.approx(scored[1].log_probs, abs=1e-4)
        assert scored[0].log_probs == pytest.approx(scored[2].log_probs, abs=1e-4)


def test_more_positions_than_are_projected_at_once(babbling: Translator) -> None:
    (long,) = babbling.score(["The cat " * 300], ["Le chat " * 300])
    (whole,) = PyTorchEngine(tuple(babbling.members)).score(
        [
            Pair(
                (*babbling.tokenizer.encode(("The cat " * 300).strip()), EOS),
                tuple(babbling.tokenizer.encode(("Le chat " * 300).strip())),
            )
        ],
    )
    assert len(long.log_probs) == len(long.tokens) + 1 > 1024
    assert long.log_probs == pytest.approx(whole, abs=1e-4)


def test_texts_of_several_lines_are_scored_as_they_are_translated(taught: Translator) -> None:
    text = "chat noir\n\n  livre rouge\n"
    (found,) = taught.translate([text], token_scores=True)
    assert found.log_probs is not None
    (scored,) = taught.score([text], [found.text])
    assert scored.log_prob == pytest.approx(found.log_prob, abs=1e-4)
    assert len(scored.log_probs) == len(found.log_probs)


def test_blank_lines(taught: Translator) -> None:
    blank, no_target, no_source = taught.score(["", "chat", " "], [" ", "", "cat"])
    assert blank.log_probs == ()
    assert (blank.log_prob, blank.perplexity) == (0.0, 1.0)
    assert len(no_target.log_probs) == 1
    assert len(no_source.log_probs) == 2


def test_the_tag_of_the_target_language_counts(tmp_path: Path) -> None:
    languages = {"directions": [("fr", "en"), ("en", "fr")], "tags": {"en": 4, "fr": 5}}
    translator = load(write_random_model(tmp_path / "both", generation=languages))
    french, english = (translator.score(["a"], ["b"], target=t)[0] for t in ("fr", "en"))
    assert french.log_prob != pytest.approx(english.log_prob, abs=1e-3)


def test_what_cannot_be_scored_is_refused(taught: Translator) -> None:
    with pytest.raises(InputError, match="2 sources and 1 targets: give one target per source"):
        taught.score(["a", "b"], ["c"])
    with pytest.raises(InputError, match="sources is a list of texts, not the text 'chat'"):
        taught.score("chat", ["cat"])
    with pytest.raises(InputError, match="number 1 of targets is 3, int: give strings"):
        taught.score(["chat"], [3])  # type: ignore[list-item]
    with pytest.raises(InputError, match="pair 2 has 2 lines of source and 1 of target"):
        taught.score(["chat", "a\nb"], ["cat", "c"])
    with pytest.raises(InputError, match="batch_size = 0"):
        taught.score(["chat"], ["cat"], batch_size=0)
    with pytest.raises(InputError, match=f"pair 1 has .* and at most {MAX_SCORED_TOKENS} can be"):
        taught.score(["chat " * 5000], ["cat"])


def test_learned_positions_limit_what_can_be_scored(tmp_path: Path) -> None:
    translator = load(write_random_model(tmp_path / "m", positions="learned", max_positions=12))
    with pytest.raises(InputError, match="and at most 12 can be scored at once: divide the line"):
        translator.score(["a"], ["a b c d e f g h i j k l"])
