"""Translate with packages of ``translucid export --to argos`` in the real Argos Translate.

Run it in an environment that has Argos Translate, which is not one of ours: it brings PyTorch,
Stanza and spaCy along. The translations of sentences, one per line, must be those that are
expected, as `translucid translate` wrote them by greedy search in float32::

    translucid export fr-en --to argos -o packages
    translucid translate --engine pytorch --beam 1 --to en -i test.fr -o expected.en
    python -m venv argos && argos/bin/pip install -c constraints.txt argostranslate torch spacy
    argos/bin/python tools/argos_check.py packages --from fr --to en test.fr expected.en

Argos divides a text into sentences by a model that MiniSBD downloads when it is first needed, and
this is meant to work offline: so each package is given spaCy's rules, which need no model. A line
of several sentences is translated sentence by sentence, which our side does not do, so such lines
may differ; they are counted by themselves.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def load_argos(home: Path) -> tuple[Any, Any, Any]:
    """Import Argos Translate with a home of its own, greedy search, float32 and spaCy's rules."""
    os.environ |= {
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "ARGOS_BEAM_SIZE": "1",
        "ARGOS_COMPUTE_TYPE": "float32",
        "ARGOS_CHUNK_TYPE": "SPACY",
    }
    import spacy
    from argostranslate import package, translate

    return package, translate, spacy


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path)
    parser.add_argument("--from", dest="source", required=True)
    parser.add_argument("--to", dest="target", required=True)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("expected", type=Path)
    given = parser.parse_args()
    lines, expected = (
        path.read_text(encoding="utf-8").splitlines() for path in (given.sentences, given.expected)
    )
    with tempfile.TemporaryDirectory() as home:
        package, translate, spacy = load_argos(Path(home))
        for path in sorted(given.packages.glob("*.argosmodel")):
            package.install_from_path(path)
        for one in package.get_installed_packages():
            spacy.blank(one.from_code).to_disk(one.package_path / "spacy")
        translation = translate.get_translation_from_codes(given.source, given.target)
        splitter = translation.underlying.sentencizer
        single = same = others = 0
        for line, wanted in zip(lines, expected, strict=True):
            found = translation.translate(line)
            if len(splitter.split_sentences(line)) > 1:
                others += 1
                continue
            single += 1
            same += found == wanted
            if found != wanted:
                print(f"{line}\n  expected {wanted}\n  Argos    {found}")
    print(f"{same:,} of {single:,} lines of one sentence are the same ({others:,} have several)")
    return same != single


if __name__ == "__main__":
    sys.exit(main())
