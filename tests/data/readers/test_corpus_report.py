"""The report of what reading skipped or changed."""

from __future__ import annotations

import json

from translucid.data.readers import Change, ReadReport, Skip
from translucid.data.readers.corpus import MAX_EXAMPLE_CHARACTERS, MAX_EXAMPLES


def test_every_case_is_counted_and_the_first_few_are_kept() -> None:
    report = ReadReport()
    for line in range(1, 101):
        report.skip(Skip.FUZZY, line, "x" * 1000)
    tally = report.skipped[Skip.FUZZY]
    assert tally.count == 100
    assert [example.line for example in tally.examples] == list(range(1, MAX_EXAMPLES + 1))
    assert {len(example.text) for example in tally.examples} == {MAX_EXAMPLE_CHARACTERS}


def test_plain_values_for_json() -> None:
    report = ReadReport(pairs=2)
    report.skip(Skip.UNTRANSLATED, 3, "un")
    report.change(Change.LONE_SURROGATE, 4, "\ufffd")
    assert json.loads(json.dumps(report.to_json())) == {
        "pairs": 2,
        "skipped": {"untranslated": {"count": 1, "examples": [{"line": 3, "text": "un"}]}},
        "changed": {
            "lone surrogate replaced": {"count": 1, "examples": [{"line": 4, "text": "\ufffd"}]}
        },
    }
