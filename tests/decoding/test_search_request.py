"""What is asked of a search: every fault is found, and all of them at once."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from translucid.decoding.request import SearchRequest
from translucid.errors import InputError

BEGIN, END = 2, 3


def request(**changes: Any) -> SearchRequest:
    sound: dict[str, Any] = {
        "limits_B": torch.tensor([5, 4]),
        "begin": BEGIN,
        "end": END,
        "prefixes": ((7, 8), ()),
        "terms": ((), ((9, 9),)),
        "forbidden": (0, 1),
    }
    return SearchRequest(**{**sound, **changes})


def test_a_sound_job_knows_its_sources() -> None:
    assert request().sources == 2
    assert request(prefixes=((0, 1), ())).prefixes == ((0, 1), ())  # a prefix may be anything


def test_a_plain_job_asks_for_nothing_but_lengths() -> None:
    plain = SearchRequest.plain(torch.tensor([3, 4, 5]), begin=BEGIN, end=END)
    assert plain.prefixes == plain.terms == ((), (), ())
    assert plain.forbidden == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"limits_B": torch.tensor([[5, 4]])}, r"shape \(1, 2\).*must be a vector of int64"),
        ({"limits_B": torch.tensor([5.0, 4.0])}, r"torch.float32: they must be a vector"),
        ({"limits_B": torch.tensor([5, 0])}, r"\[5, 0\]: at least one source is needed, and a"),
        ({"prefixes": ((),)}, r"1 prefixes for 2 sources: give one per source"),
        ({"terms": ((), (), ())}, r"3 terms for 2 sources: give one per source"),
        ({"keys": (1,)}, r"1 keys for 2 sources: give one per source, or none"),
        ({"forbidden": (END,)}, r"end symbol 3 is among the forbidden tokens \(3,\)"),
        ({"prefixes": ((), (7, 7, 7, 7))}, r"source 1 has 4 tokens.* at most 4 fit: shorten it"),
        ({"prefixes": ((END,), ())}, r"prefix of source 0 has the end symbol 3"),
        ({"terms": (((),), ())}, r"a term of source 0 is empty: leave it out"),
        ({"terms": (((9, END, 1),), ())}, r"\(9, 3, 1\) of source 0 has tokens .*: \[1, 3\]"),
        ({"terms": ((), ((BEGIN,),))}, r"\(2,\) of source 1 has tokens that no .*: \[2\]"),
    ],
)
def test_what_cannot_be_done_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        request(**changes)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        request(limits_B=torch.tensor([1, 4]), forbidden=(END,), terms=(((),), ()))
    assert str(caught.value).count("\n  - ") == 3
