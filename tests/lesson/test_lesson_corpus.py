"""The whole corpus: what must hold for every sentence, for every split, on every machine."""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import combinations, islice
from pathlib import Path
from typing import Literal

import pytest

from lesson.constructions import CONSTRUCTIONS
from lesson.constructions.resolving import what_it_means
from lesson.corpus import draws, has_reserved_words
from lesson.expressions import EXPRESSIONS
from lesson.nouns import NOUNS
from translucid.data.readers import built_in as shipped
from translucid.data.readers.built_in import lesson_pairs, write_lesson
from translucid.errors import DataError, InputError
from translucid.text.normalization import comparison_key

TOOLS = Path(__file__).parents[2] / "tools"
Pairs = list[tuple[str, str]]


@pytest.fixture(scope="module")
def train() -> Pairs:
    return list(lesson_pairs("train"))


@pytest.fixture(scope="module")
def held_out() -> Pairs:
    return [*lesson_pairs("dev"), *lesson_pairs("test")]


@pytest.fixture(scope="module")
def everything(train: Pairs, held_out: Pairs) -> Pairs:
    return train + held_out


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


# What may not stand anywhere in French.
VOWEL = "[aàâeéèêëiîïoôuùûœ]"
ASPIRATED = "(?:hache|haie|hamster|haricot|harpe|haut|hérisson|hibou|huit|onze|oui)"
WRONG_FRENCH = {
    "no elision before a vowel": rf"(?<!-)\b(le|la|je|me|te|se|ne|de|que) (?!{ASPIRATED}){VOWEL}",
    "no elision before a mute h": rf"\b(le|la|je|me|te|se|ne|de|que) (?!{ASPIRATED})h",
    "elision before an aspirated h": rf"\b(l|d|n|j|s|qu)'{ASPIRATED}",
    "elision before a consonant": rf"\b(l|d|j|n|m|t|s|qu)'(?!{VOWEL}|h|y)",
    "ce before a vowel": rf"\bce (?!{ASPIRATED}|est|était)({VOWEL}|h)",
    "cet before a consonant": rf"\bcet (?!{VOWEL}|h)",
    "beau before a vowel": rf"\b(un|le|ce|du|mon|leur) (beau|nouveau|vieux) (?!et\b){VOWEL}",
    "bel before a consonant": rf"\b(bel|nouvel|vieil) (?!{VOWEL}|h)",
    "ma before a vowel": rf"\b(ma|ta|sa) (?!{ASPIRATED})({VOWEL}|h)",
    "de le": r"\b(de|à) les? (?!\w+(er|ir|re)\b)",
    "si il": r"\bsi ils?\b",
    "des before an adjective": r"\bdes (beaux|belles|petite?s|grande?s|vieux|vieilles)\b",
    "ne without its second word": r"\bn(e |')(?!.*\b(pas|jamais|rien|plus|personne)\b)",
    "no space before a mark": r"\S[?!]",
}
WRONG_ENGLISH = {
    "a before a vowel": r"\ba (?!one|uni|use|europ)[aeiouEI]",
    "a before hour": r"\ba (hour|honest)",
    "an before a consonant": r"\ban (?![aeiouEI]|hour|honest)",
    "a space before a mark": r" [.,?!]",
    "a word twice": r"\b(\w+) \1\b",
    "an uncontracted not": r"\b(is|are|was|were|do|does|did|will|can|has|have|had) not\b",
    "a plural after a": r"\ba (men|women|children|mice|feet|teeth|geese|wolves|knives)\b",
    "agreement": r"\b(I|you|we|they) (is|has|does|was not)\b|\b(he|she|it) (are|am|were not)\b",
}
# Sayings keep the grammar of their time: "rien ne va plus", "qui ne risque rien n'a rien".
SAYINGS = {pair.french for pair in EXPRESSIONS}


@pytest.mark.parametrize("fault", WRONG_FRENCH)
def test_no_fault_in_french(everything: Pairs, fault: str) -> None:
    pattern = re.compile(WRONG_FRENCH[fault], re.IGNORECASE)
    wrong = [french for french, _ in everything if pattern.search(french)]
    assert [text for text in wrong if text not in SAYINGS and "ersonne n" not in text] == []


@pytest.mark.parametrize("fault", WRONG_ENGLISH)
def test_no_fault_in_english(everything: Pairs, fault: str) -> None:
    pattern = re.compile(WRONG_ENGLISH[fault])
    wrong = [english for french, english in everything if pattern.search(english)]
    assert [text for text in wrong if text != "To be or not to be, that is the question."] == []


def test_the_patterns_find_the_faults_they_are_for() -> None:
    """Otherwise the tests above could not fail."""
    faulty = [
        *("le animal dort", "la haie et le homme", "l'hibou", "l'chat", "ce arbre", "cet chat"),
        *("un beau arbre", "un bel chat", "ma amie", "il parle de le roi", "si il vient"),
        *("des beaux chats", "elle ne vient", "quoi?"),
    ]
    for pattern, text in zip(WRONG_FRENCH.values(), faulty, strict=True):
        assert re.search(pattern, text, re.IGNORECASE), text
    faulty = [
        *("a apple", "a hour", "an cat", "yes .", "the the cat", "he did not go", "a mice"),
        "they has it",
    ]
    for pattern, text in zip(WRONG_ENGLISH.values(), faulty, strict=True):
        assert re.search(pattern, text), text


def test_every_text_is_clean(everything: Pairs) -> None:
    for pair in everything:
        for text in pair:
            assert text == " ".join(text.split())
            assert re.fullmatch(r"[\w' ,.?!-]+", text), text
            assert not re.search(r"[.,?!'-]{2}|_|\d", text), text


def test_sentences_begin_and_end_alike_in_both_languages(everything: Pairs) -> None:
    for french, english in everything:
        marks = re.findall(r"[.?!]", french)
        assert marks == re.findall(r"[.?!]", english), french
        if french[-1] in ".?!":
            assert french[0].isupper(), french
            assert english[0].isupper(), english


def test_there_are_enough_distinct_pairs(train: Pairs) -> None:
    assert len(train) == len(set(train)) == sum(CONSTRUCTIONS.values()) + len(EXPRESSIONS)
    assert len(train) >= 80_000


@pytest.mark.parametrize("side", [0, 1], ids=["french to english", "english to french"])
def test_a_sentence_has_one_translation(everything: Pairs, side: int) -> None:
    translations = defaultdict(set)
    for pair in everything:
        translations[pair[side]].add(pair[1 - side])
    assert [text for text, found in translations.items() if len(found) > 1] == []


def test_the_grammar_itself_is_hardly_ambiguous() -> None:
    """Before anything is left out: what the constructions draw by themselves."""
    drawn = {
        pair
        for construction, share in CONSTRUCTIONS.items()
        for pair, _ in islice(draws(construction, 5), share // 5)
    }
    for side in (0, 1):
        translations = Counter(pair[side] for pair in drawn)
        ambiguous = sum(count > 1 for count in translations.values())
        assert ambiguous / len(translations) <= 0.001


@pytest.mark.parametrize(
    "pair",
    [
        ("je suis étudiant", "I am a student"),
        ("Je suis étudiant.", "I am a student."),
        ("merci", "thanks"),
        ("Merci.", "Thanks."),
        ("le chat a chassé la souris", "the cat chased the mouse"),
        ("Le chat a chassé la souris.", "The cat chased the mouse."),
        ("Bonjour.", "Hello."),
        ("Comment allez-vous ?", "How are you?"),
    ],
)
def test_required_phrases_are_taught(train: Pairs, pair: tuple[str, str]) -> None:
    assert pair in train


FAMOUS = (
    (
        "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
        "The animal didn't cross the street because it was too tired.",
    ),
    (
        "L'animal n'a pas traversé la rue parce qu'elle était trop large.",
        "The animal didn't cross the street because it was too wide.",
    ),
)


def test_the_famous_sentences_are_held_out(train: Pairs) -> None:
    assert set(FAMOUS) <= set(lesson_pairs("test"))
    for french, english in train:
        assert not {"animal", "street"} <= set(tokens(english))
        assert not {"animal", "rue"} <= set(tokens(french))


@pytest.mark.parametrize(
    "words", ["animal cross", "animal tired", "cross street", "street wide", "cross tired"]
)
def test_their_parts_are_taught(train: Pairs, words: str) -> None:
    wanted = set(words.split())
    both = [english for _, english in train if wanted <= set(tokens(english))]
    assert len(both) >= 3


def test_held_out_sizes() -> None:
    assert len(lesson_pairs("dev")) == len(lesson_pairs("test")) == 1000


def test_no_held_out_sentence_is_in_training_or_in_the_other_split(train: Pairs) -> None:
    splits = (train, lesson_pairs("dev"), lesson_pairs("test"))
    for side in (0, 1):
        keys = [{comparison_key(pair[side]) for pair in split} for split in splits]
        for first, second in combinations(keys, 2):
            assert first.isdisjoint(second)


def test_no_held_out_sentence_is_in_training_made_from_another_seed(held_out: Pairs) -> None:
    """Which words are kept apart does not depend on the seed."""
    reserved = set(held_out)
    for construction, share in CONSTRUCTIONS.items():
        for pair, is_held_out in islice(draws(construction, 2), share // 10):
            assert is_held_out or pair not in reserved


def test_every_held_out_word_is_well_known(train: Pairs, held_out: Pairs) -> None:
    for side in (0, 1):
        seen = Counter(word for pair in train for word in tokens(pair[side]))
        words = {word for pair in held_out for word in tokens(pair[side])}
        assert min(seen[word] for word in words) >= 20


def known_combinations(train: Pairs, held_out: Pairs, side: int) -> set[tuple[str, str]]:
    """Return the held-out pairs whose words have all been seen together, two by two."""
    couples = {pair: set(combinations(sorted(set(tokens(pair[side]))), 2)) for pair in held_out}
    wanted = set().union(*couples.values())
    members = {word for couple in wanted for word in couple}
    seen: set[tuple[str, str]] = set()
    for pair in train:
        words = sorted(members.intersection(tokens(pair[side])))
        seen.update(wanted.intersection(combinations(words, 2)))
    return {pair for pair, wanted in couples.items() if wanted <= seen}


def test_every_held_out_sentence_has_words_never_seen_together(
    train: Pairs, held_out: Pairs
) -> None:
    """Found in the text alone, whatever the grammar believes of it.

    One language may hide it (*open* is a verb and an adjective), so both have to.
    """
    stale = known_combinations(train, held_out, 0)
    stale = known_combinations(train, sorted(stale), 1)
    assert len(stale) <= len(held_out) // 150


def test_reserved_words() -> None:
    assert has_reserved_words(["noun street", "verb traverser", "noun animal"])
    assert not has_reserved_words(["noun animal", "verb traverser", "adjective tired"])
    assert not has_reserved_words(["noun street", "verb traverser", "adjective wide"])
    assert not has_reserved_words([])


# The pronoun family, read from the text: the two nouns, and the pronoun in the last clause.
GENDER = {
    noun.french.replace(" photo", ""): noun.gender
    for noun in NOUNS
    if "persons" not in noun.classes  # a person is he or she
}
IT = re.compile(r"(?:because|but) it (?:was|is) ")
CLAUSES = re.compile(r"^(.*?),? (?:parce qu'|mais )(il|elle) ")


def resolved(pairs: Pairs) -> list[tuple[str, str, str]]:
    """Return (gender of the first noun, of the second, of the pronoun) of each sentence."""
    found = []
    for french, english in pairs:
        match = CLAUSES.match(french)
        if match is None or not IT.search(english):
            continue
        words = re.findall(r"[\w-]+", match[1].lower().replace("'", " ").replace(" photo", ""))
        genders = [GENDER[word] for word in words if word in GENDER]
        if len(genders) == 2:
            found.append((genders[0], genders[1], "m" if match[2] == "il" else "f"))
    return found


@pytest.fixture(scope="module")
def pronouns(train: Pairs) -> Counter[tuple[str, str, str]]:
    return Counter(resolved(train))


def test_the_pronoun_family_is_large_and_settled_by_one_of_the_nouns(
    pronouns: Counter[tuple[str, str, str]],
) -> None:
    assert sum(pronouns.values()) >= 6000
    assert all(pronoun in {first, second} for first, second, pronoun in pronouns)
    assert all(count >= 500 for count in pronouns.values())


def test_no_default_answers_the_pronoun(pronouns: Counter[tuple[str, str, str]]) -> None:
    total = sum(pronouns.values())
    masculine = sum(n for (_, _, pronoun), n in pronouns.items() if pronoun == "m")
    assert 0.47 <= masculine / total <= 0.53
    mixed = {key: n for key, n in pronouns.items() if key[0] != key[1]}
    first = sum(n for (one, _, pronoun), n in mixed.items() if pronoun == one)
    assert 0.47 <= first / sum(mixed.values()) <= 0.53
    # Nor does a noun's gender tell: in each order, each answer is as frequent.
    for one, other in (("m", "f"), ("f", "m")):
        answers = [mixed[one, other, "m"], mixed[one, other, "f"]]
        assert min(answers) / sum(answers) >= 0.46


def test_negation_turns_the_meaning(train: Pairs) -> None:
    """A slow hunter does not catch; a slow prey is caught."""
    hunt = [english for _, english in train if "because it was really slow" in english]
    assert any("didn't catch" in text for text in hunt)
    assert any(" caught " in text for text in hunt)


def test_two_draws_of_one_dice_differ_and_two_dice_agree() -> None:
    first, again = (list(islice(draws(what_it_means, 3), 50)) for _ in range(2))
    assert first == again
    assert len({drawn.pair for drawn in first}) > 45


def test_the_grammar_writes_what_the_package_ships(tmp_path: Path) -> None:
    """The child hashes its strings by another seed than this process, which has its own."""
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": other, "PYTHONPATH": str(TOOLS)}
    command = [sys.executable, "-m", "lesson", str(tmp_path / "lesson.tsv.xz")]
    subprocess.run(command, env=environment, check=True)
    written = lzma.decompress((tmp_path / "lesson.tsv.xz").read_bytes())
    assert written == lzma.decompress(shipped.FILE.read_bytes())
    assert hashlib.sha256(written).hexdigest() == shipped.SHA256


def test_a_damaged_lesson_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, whole = tmp_path / "lesson.tsv.xz", shipped.FILE.read_bytes()
    monkeypatch.setattr(shipped, "FILE", path)
    for content in (None, whole[:1000], lzma.compress(b"train\tun\tone\n")):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(DataError, match="the built-in lesson cannot be read"):
            lesson_pairs("train")


def test_another_seed_gives_another_corpus() -> None:
    first, second = (
        {drawn.pair for drawn in islice(draws(what_it_means, seed), 200)} for seed in (1, 2)
    )
    assert len(first & second) < 20


def test_writing(tmp_path: Path, train: Pairs) -> None:
    files = write_lesson(tmp_path / "new" / "lesson")
    assert [path.name for path in files] == ["train.tsv", "dev.tsv", "test.tsv"]
    data = files.train.read_bytes()
    assert b"\r" not in data
    assert data.endswith(b"\n")
    assert data.startswith(b"fr\ten\n")
    assert data.count(b"\n") == data.count(b"\t") == 1 + len(train)
    assert sorted(path.name for path in files.train.parent.iterdir()) == (
        ["dev.tsv", "test.tsv", "train.tsv"]
    )
    assert write_lesson(files.train.parent) == files
    assert files.train.read_bytes() == data


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(InputError, match=r"taken is a file; the lesson is written to a folder"):
        write_lesson(taken)
    assert taken.read_text() == "mine"


def test_an_unknown_split_is_refused() -> None:
    wrong: Literal["dev"] = "valid"  # type: ignore[assignment]
    with pytest.raises(InputError, match="no split 'valid'; it has train, dev, test"):
        lesson_pairs(wrong)
