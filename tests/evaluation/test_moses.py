"""Words as Moses divides them: each expected line was made by its rules in Perl.

Beyond these cases, the module makes the official lower-cased, normalised and tokenised files of the
Multi30k test set from the raw ones, all 2,000 lines, English and German.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translucid.evaluation.moses import MosesTokenizer

CASES = [
    # apostrophes
    ("en", "a man's dog isn't here", "a man 's dog isn 't here"),
    ("en", "the dogs' bowl", "the dogs ' bowl"),
    ("en", "the 1990's were '90s", "the 1990 's were ' 90s"),
    ("en", "'tis", "'tis"),
    ("fr", "l'eau qu'il a", "l' eau qu' il a"),
    ("fr", "aujourd'hui, 'oui'", "aujourd' hui , ' oui'"),
    ("it", "l'acqua dell'altro", "l' acqua dell' altro"),
    ("de", "mcdonald's-menü", "mcdonald ' s-menü"),
    ("so", "ma'aha", "ma'aha"),
    # periods
    ("en", "the end.", "the end ."),
    ("en", "it says e.s.e. electronics.", "it says e.s.e. electronics ."),
    ("en", "it is 5 p.m. now.", "it is 5 p.m. now ."),
    ("en", "wait... what?", "wait ... what ?"),
    ("en", "and so on...", "and so on ..."),
    ("en", "one. 2 more.", "one . 2 more ."),
    ("en", "real vs. 3 copies.", "real vs. 3 copies ."),
    ("de", "mit der nummer 10.", "mit der nummer 10."),
    ("de", "am 100.", "am 100 ."),
    ("de", "äpfel usw. 3 stück.", "äpfel usw. 3 stück ."),
    ("en", "an approx. value.", "an approx. value ."),
    ("en", "he said 'no.'", "he said ' no . '"),
    # commas and numbers
    ("en", "1,000 and 2,5, a,b,c", "1,000 and 2,5 , a , b , c"),
    ("en", "room 5,", "room 5 ,"),
    ("de", "3\u00a0000 euro", "3,000 euro"),
    ("en", "3\u00a0000 euro", "3.000 euro"),
    ("en", "50 % off", "50 % off"),
    # symbols and hyphens
    ("en", "black-and-white (old) photo; 100$!", "black-and-white ( old ) photo ; 100 $ !"),
    ("en", "a_b c/d e&f", "a _ b c / d e & f"),
    ("en", "10m² of h₂o", "10m ² of h ₂ o"),
    # quotes and dashes
    ("en", "the “93”.", 'the " 93 . "'),
    ("en", '"yes", he said.', '" yes , " he said .'),
    ("de", "„ja,“ sagte er.", '" ja " , sagte er .'),
    ("de", 'er sagte "nein." und ging.', 'er sagte " nein " . und ging .'),
    ("fr", "« oui » dit-il", '" oui " dit-il'),
    ("en", "it’s ‘fine’ – or—not…", 'it \'s " fine " - or - not ...'),
    ("fr", "vraiment\u00a0? oui\u00a0!", "vraiment ? oui !"),
    ("en", "a ( b ) , c", "a ( b ) , c"),
    # white space and control characters
    ("en", "  a\t b\x07c  ", "a bc"),
    ("en", "", ""),
    ("ru", "д'артаньян", "д ' артаньян"),
]


@pytest.mark.parametrize(("language", "text", "divided"), CASES)
def test_a_line_is_divided_as_moses_does(language: str, text: str, divided: str) -> None:
    assert MosesTokenizer(language)(text) == divided


def test_the_signature_names_language_and_version() -> None:
    assert MosesTokenizer("de-AT").signature() == "moses-norm-de-translucid1"
    assert MosesTokenizer(None).signature() == "moses-norm-any-translucid1"


@given(st.text(), st.sampled_from(["en", "fr", "de", "cs", "so"]))
def test_no_letter_or_digit_is_lost(text: str, language: str) -> None:
    divided = MosesTokenizer(language)(text)
    assert [c for c in divided if c.isalnum()] == [c for c in text if c.isalnum()]
    assert divided == " ".join(divided.split())
