"""Do the placeholders of real software strings survive translation?

::

    python benchmarks/software_strings.py -m MODEL --to fr /usr/share/locale/fr/LC_MESSAGES/*.mo

Reads the English messages of compiled gettext catalogues, takes those that have placeholders or
tags by rules of its own (not those of the package), translates them, and compares what stands in
each translation with what stood in its source.
"""

from __future__ import annotations

import argparse
import gettext
import random
import re
from collections import Counter
from pathlib import Path

import translucid

PLACEHOLDER = re.compile(
    r"%%|%(?:\d+\$)?[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t|L)?(?:[sdu]|[ifxXoceEgGp](?![a-z]))"
    r"|%\(\w+\)[sdf]|\$\{\w+\}|\{\w*\}|</?[a-z]+(?: [a-z]+=\"[^\"]*\")*/?>|https?://[\w./#?=&-]*[\w/]"
)


def messages(catalogues: list[Path]) -> list[str]:
    """Return the messages of all catalogues that have placeholders, each once, in order."""
    found: set[str] = set()
    for path in catalogues:
        with path.open("rb") as file:
            catalogue = gettext.GNUTranslations(file)
        for key in catalogue._catalog:  # type: ignore[attr-defined]
            text = key[0] if isinstance(key, tuple) else key
            if PLACEHOLDER.search(text) and re.search("[a-z]{3}", text):
                found.add(text.rpartition("\x04")[2])
    return sorted(found)


def main() -> None:
    """Translate a sample of the messages and tell how many came through unharmed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("catalogues", nargs="+", type=Path)
    parser.add_argument("-m", "--model", default="fr-en")
    parser.add_argument("--to", default="fr")
    parser.add_argument("--count", type=int, default=1000)
    given = parser.parse_args()
    known = messages(given.catalogues)
    chosen = random.Random(0).sample(known, min(given.count, len(known)))
    translator = translucid.load(given.model)
    survived, flags = 0, Counter()
    for text, found in zip(chosen, translator.translate(chosen, target=given.to), strict=True):
        wanted, there = (Counter(PLACEHOLDER.findall(one)) for one in (text, found.text))
        flags.update(name for name, raised in vars(found.flags).items() if raised)
        survived += wanted == there
        if wanted != there:
            print(f"- {text!r}\n  {found.text!r}\n  {dict(wanted - there)} {dict(there - wanted)}")
    print(
        f"{survived:,} of {len(chosen):,} ({survived / len(chosen):.1%}) of {len(known):,} messages"
    )
    print(f"flags: {dict(flags)}")


if __name__ == "__main__":
    main()
