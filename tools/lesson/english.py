"""English spelling: articles, plurals, verb forms, comparatives and numbers, as pure functions."""

from __future__ import annotations

from functools import cache

from lesson.tables import names

_VOWELS = frozenset("aeiou")
_AN_BEFORE = ("hour", "honest", "honor")
_A_BEFORE = ("one", "uni", "use", "europ")


@cache
def begins_with_vowel(word: str) -> bool:
    """Tell whether ``an`` stands before a word, by its sound.

    >>> [begins_with_vowel(word) for word in ("apple", "hour", "house", "uniform", "umbrella")]
    [True, True, False, False, True]
    """
    word = word.lower()
    if word.startswith(_AN_BEFORE):
        return True
    return word[0] in _VOWELS and not word.startswith(_A_BEFORE)


def spell(*words: str) -> str:
    """Write words one after another, ``a`` as ``an`` where it is due; empty ones are left out.

    >>> spell("there is", "a", "old man", "and", "a", "child")
    'there is an old man and a child'
    """
    text = " ".join(filter(None, words))
    if "a " not in text:
        return text
    parts = text.split(" ")
    return " ".join(
        "an" if word == "a" and begins_with_vowel(following) else word
        for word, following in zip(parts, [*parts[1:], "."], strict=True)
    )


_IRREGULAR_PLURALS = {
    "child": "children",
    "deer": "deer",
    "fish": "fish",
    "foot": "feet",
    "goose": "geese",
    "knife": "knives",
    "leaf": "leaves",
    "man": "men",
    "mouse": "mice",
    "potato": "potatoes",
    "sheep": "sheep",
    "shelf": "shelves",
    "thief": "thieves",
    "tomato": "tomatoes",
    "tooth": "teeth",
    "wolf": "wolves",
    "woman": "women",
}


@cache
def plural(noun: str) -> str:
    """Return the plural of a noun.

    >>> [plural(noun) for noun in ("cat", "mouse", "baby", "box", "saleswoman", "living room")]
    ['cats', 'mice', 'babies', 'boxes', 'saleswomen', 'living rooms']
    """
    head, space, last = noun.rpartition(" ")
    if space:
        return f"{head} {plural(last)}"
    if noun in _IRREGULAR_PLURALS:
        return _IRREGULAR_PLURALS[noun]
    if noun.endswith("man"):
        return noun[:-2] + "en"
    return _with_s(noun)


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def possessive(owner: str) -> str:
    """Return the possessive of a noun phrase: ``Marie's, my parents'``."""
    return owner + ("'" if owner.endswith("s") and owner[0].islower() else "'s")


_IRREGULAR_VERBS = {
    base: (past, participle)
    for base, past, participle in (
        line.split()
        for line in """
        be was been
        become became become
        bite bit bitten
        break broke broken
        bring brought brought
        build built built
        buy bought bought
        catch caught caught
        choose chose chosen
        come came come
        cut cut cut
        do did done
        draw drew drawn
        drink drank drunk
        drive drove driven
        eat ate eaten
        fall fell fallen
        feed fed fed
        find found found
        fit fit fit
        forget forgot forgotten
        get got gotten
        give gave given
        go went gone
        have had had
        hear heard heard
        hide hid hidden
        know knew known
        leave left left
        lend lent lent
        lose lost lost
        meet met met
        put put put
        read read read
        run ran run
        say said said
        see saw seen
        sell sold sold
        send sent sent
        set set set
        sing sang sung
        sleep slept slept
        speak spoke spoken
        steal stole stolen
        swim swam swum
        take took taken
        tell told told
        think thought thought
        throw threw thrown
        understand understood understood
        wake woke woken
        wear wore worn
        win won won
        write wrote written
        """.strip().splitlines()
    )
}
# One-syllable verbs (and those stressed at the end) double their last consonant.
_DOUBLING = names("cut, fit, forget, get, prefer, put, run, set, swim, win")


@cache
def third(base: str) -> str:
    """Return the third person of the present: ``eats, watches, carries, has``.

    >>> [third(verb) for verb in ("eat", "watch", "carry", "go", "have")]
    ['eats', 'watches', 'carries', 'goes', 'has']
    """
    return {"have": "has", "go": "goes", "do": "does", "be": "is"}.get(base) or _with_s(base)


@cache
def past(base: str) -> str:
    """Return the simple past: ``ate, chased, carried, stopped``."""
    return _IRREGULAR_VERBS[base][0] if base in _IRREGULAR_VERBS else _with_ed(base)


@cache
def participle(base: str) -> str:
    """Return the past participle: ``eaten, chased``."""
    return _IRREGULAR_VERBS[base][1] if base in _IRREGULAR_VERBS else _with_ed(base)


def _with_ed(base: str) -> str:
    if base in _DOUBLING:
        return base + base[-1] + "ed"
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return base + "ed"


@cache
def gerund(base: str) -> str:
    """Return the form in -ing: ``eating, writing, swimming, lying``.

    >>> [gerund(verb) for verb in ("eat", "write", "swim", "lie", "see", "be")]
    ['eating', 'writing', 'swimming', 'lying', 'seeing', 'being']
    """
    if base in _DOUBLING:
        return base + base[-1] + "ing"
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "be")):
        return base[:-1] + "ing"
    return base + "ing"


_NEGATED = {"can": "can't", "will": "won't", "am": "am not"}


def negated(auxiliary: str) -> str:
    """Return an auxiliary with *not*, contracted where English does so: ``didn't, won't``."""
    return _NEGATED.get(auxiliary, auxiliary + "n't")


_COMPARATIVES = {"good": "better", "bad": "worse", "dry": "drier", "shy": "shyer"}


@cache
def comparative(adjective: str) -> str:
    """Return the comparative: ``bigger, prettier, more beautiful``.

    >>> [comparative(word) for word in ("big", "wide", "pretty", "old", "good", "modern")]
    ['bigger', 'wider', 'prettier', 'older', 'better', 'more modern']
    """
    if adjective in _COMPARATIVES:
        return _COMPARATIVES[adjective]
    if adjective.endswith("y") and adjective[-2] not in _VOWELS:
        return adjective[:-1] + "ier"
    if not _is_short(adjective):
        return f"more {adjective}"
    if adjective.endswith("e"):
        return adjective + "r"
    doubles = adjective[-1] not in "wxy" and adjective[-2] in _VOWELS
    doubles = doubles and adjective[-3] not in _VOWELS and adjective[-1] not in _VOWELS
    return adjective + (adjective[-1] if doubles else "") + "er"


def _is_short(adjective: str) -> bool:
    """Tell whether a word has one syllable: one group of vowels, a final e aside."""
    letters = adjective.removesuffix("e")
    groups = sum(
        letter in _VOWELS and (i == 0 or letters[i - 1] not in _VOWELS)
        for i, letter in enumerate(letters)
    )
    return groups == 1 or adjective == "narrow"


@cache
def superlative(adjective: str) -> str:
    """Return the superlative: ``biggest, prettiest, most beautiful``."""
    form = comparative(adjective)
    if form in {"better", "worse"}:
        return {"better": "best", "worse": "worst"}[form]
    return "most" + form.removeprefix("more") if form.startswith("more") else form[:-2] + "est"


_UNITS = names(
    "zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, "
    "thirteen, fourteen, fifteen, sixteen, seventeen, eighteen, nineteen"
)
_TENS = names("-, -, twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety")


@cache
def number(n: int) -> str:
    """Write a number from 0 to 100 in words.

    >>> [number(n) for n in (7, 21, 80, 100)]
    ['seven', 'twenty-one', 'eighty', 'one hundred']
    """
    if n < 20:
        return _UNITS[n]
    if n == 100:
        return "one hundred"
    return _TENS[n // 10] + (f"-{_UNITS[n % 10]}" if n % 10 else "")
