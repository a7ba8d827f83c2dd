"""The vocabulary of a Marian directory, and where our tokens stand in it.

::

    ours     <pad>  <unk>  <s>    </s>   >>fra<<   >>spa<<  …   pieces in the order of their ids
    theirs   pad    unk    start  eos    their ids, or none     all others

"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from translucid.errors import DataError, InputError
from translucid.text.languages import are_compatible, is_code, parse_code
from translucid.text.marian import MarianTokenizer
from translucid.text.sentencepiece import load_processor
from translucid.text.sentencepiece_model import check_complete, read_model
from translucid.text.tokenizer import (
    FIRST_PIECE,
    FIRST_TAG,
    TAG_PIECES,
    TAG_SLOTS,
    BrokenFileError,
    tag_id,
)

CONFIG = "config.json"
GENERATION = "generation_config.json"
SOURCE_MODEL, TARGET_MODEL, VOCABULARY = "source.spm", "target.spm", "vocab.json"
TOKENIZER_CONFIG = "tokenizer_config.json"

AGAIN = "Download the whole directory again; nothing was written."
NEVER = -1e4  # the logit of a token that is not theirs
_TAG = re.compile(r">>(.+)<<")


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an optional file that is not there is empty."""
    if path.name in (TOKENIZER_CONFIG, GENERATION) and not path.is_file():
        return {}
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"not valid JSON: {error}", remedy=AGAIN) from error
    if not isinstance(found, dict):
        raise DataError(path, "holds no JSON object", remedy=AGAIN)
    return found


class Vocabulary(NamedTuple):
    """Their pieces in the order of their ids, and the ids of padding, unknown, start and end.

    Padding and start may be missing.
    """

    pieces: list[str]
    special: tuple[int | None, int, int | None, int]

    @property
    def is_ours(self) -> bool:
        """Whether the ids are ours already, as in a directory that we have exported."""
        tags = self.pieces[FIRST_TAG:FIRST_PIECE]
        return (
            self.special == tuple(range(FIRST_TAG))
            and len(self.pieces) > FIRST_PIECE
            and all(piece in TAG_PIECES or _TAG.fullmatch(piece) for piece in tags)
        )


def read_vocabulary(folder: Path, settings: Mapping[str, Any]) -> Vocabulary:
    """Return the vocabulary that both languages share, checked against the settings."""
    path = folder / VOCABULARY
    names = read_json(folder / TOKENIZER_CONFIG)
    if names.get("separate_vocabs") or (folder / "target_vocab.json").is_file():
        raise InputError(
            f"{folder} has a vocabulary for each language (separate_vocabs): only a shared one fits"
        )
    ids = read_json(path)
    size = settings["vocab_size"]
    whole = all(isinstance(token, int) for token in ids.values())
    if not whole or sorted(ids.values()) != list(range(size)):
        problem = f"its ids are not 0 to {size - 1}, each once, as vocab_size in {CONFIG} says"
        raise DataError(path, problem, remedy=AGAIN)
    unknown, end = _name_symbol(names, "unk", "<unk>"), _name_symbol(names, "eos", "</s>")
    if missing := [piece for piece in (unknown, end) if piece not in ids]:
        raise DataError(path, f"{missing[0]!r} is missing", remedy=AGAIN)
    special = (
        settings["pad_token_id"],
        ids[unknown],
        settings["decoder_start_token_id"],
        settings["eos_token_id"],
    )
    known = all(isinstance(token, int) and 0 <= token < size for token in special)
    if ids[end] != special[-1] or not known:
        raise DataError(
            folder / CONFIG,
            f"pad_token_id, decoder_start_token_id and eos_token_id are {special[0]}, {special[2]} "
            f"and {special[3]}, where {VOCABULARY} has {size} pieces and {end} at {ids[end]}",
            remedy=AGAIN,
        )
    return Vocabulary(sorted(ids, key=ids.__getitem__), special)


def _name_symbol(names: Mapping[str, Any], key: str, usual: str) -> str:
    """Return the name of a symbol; it may be written as an object with its content."""
    found = names.get(f"{key}_token", usual)
    return str(found["content"] if isinstance(found, dict) else found)


@dataclass(frozen=True)
class Layout:
    """Where each of our tokens stands in their vocabulary, None where they have no such token.

    `tags` is the slot of each target language that sources name, by language. The arrays of the
    vocabulary are numpy's or PyTorch's.
    """

    vocabulary: Vocabulary
    rows: tuple[int | None, ...]
    tags: Mapping[str, int]

    def arrange(self, matrix: Any) -> Any:
        """Return the rows of a matrix of theirs in our order; what they do not have is zero."""
        found = matrix[[row or 0 for row in self.rows]]
        found[[token for token, row in enumerate(self.rows) if row is None]] = 0
        return found

    def arrange_bias(self, bias: Any) -> Any:
        """Return the bias of the output in our order.

        What they do not have, or have only once, is never written.
        """
        found = bias[[row or 0 for row in self.rows]]
        first = {row: token for token, row in reversed(list(enumerate(self.rows)))}
        doubled = [token for token, row in enumerate(self.rows) if first[row] != token]
        found[[*doubled, *(t for t, row in enumerate(self.rows) if row is None)]] = NEVER
        return found


def arrange(vocabulary: Vocabulary, tags: Mapping[str, str]) -> Layout:
    """Return the layout of a vocabulary whose chosen tags, by language, get slots in order."""
    pieces = vocabulary.pieces
    if vocabulary.is_ours:
        slots = {language: pieces.index(tag) for language, tag in tags.items()}
        return Layout(vocabulary, tuple(range(len(pieces))), slots)
    first = [*vocabulary.special, *(pieces.index(tag) for tag in tags.values())]
    taken = set(first)
    free = [None] * (FIRST_PIECE - len(first))
    rest = [token for token in range(len(pieces)) if token not in taken]
    slots = {language: tag_id(slot) for slot, language in enumerate(tags)}
    return Layout(vocabulary, (*first, *free, *rest), slots)


def choose_tags(folder: Path, vocabulary: Vocabulary, wanted: Sequence[str]) -> dict[str, str]:
    """Return the pieces that name a target language, such as >>fra<<, by the code of the language.

    All of them, or those of the wanted languages.
    """
    tags: dict[str, str] = {}
    for piece in vocabulary.pieces:
        inner = _TAG.fullmatch(piece)
        if inner and is_code(inner[1]):
            code = shorten_code(inner[1])
            tags.setdefault(inner[1] if code in tags else code, piece)
    if not tags:
        return {}
    known = ", ".join(tags)
    if wanted:
        chosen = {code: _find_tag(code, tags) for code in wanted}
        if lacking := [code for code, tag in chosen.items() if tag is None]:
            raise InputError(f"{folder} has no tag for {', '.join(lacking)}; it has {known}")
        tags = {code: tag for code, tag in chosen.items() if tag is not None}
    if len(tags) > TAG_SLOTS:
        raise InputError(
            f"{folder} translates into {len(tags)} languages, and a model directory can have "
            f"{TAG_SLOTS}: choose some with --to, as often as needed; it has {known}"
        )
    return tags


def _find_tag(code: str, tags: Mapping[str, str]) -> str | None:
    """Return the tag of a language: by its exact code, or by the only one that means it."""
    if code in tags:
        return tags[code]
    found = [tag for known, tag in tags.items() if are_compatible(code, known)]
    return found[0] if len(found) == 1 else None


def shorten_code(code: str) -> str:
    """Return a code with two letters for its language, if it has such a code: fra_CA → fr-CA."""
    language, *rest = re.split(r"[-_]", code)
    return "-".join([parse_code(language)[0], *rest])


def choose_directions(
    folder: Path, layout: Layout, sources: Sequence[str], targets: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Return the directions of a directory: the wanted languages, else those that it names."""
    sources = list(sources) or [_read_language(folder, "source_lang", "--from")]
    targets = list(layout.tags or targets) or [_read_language(folder, "target_lang", "--to")]
    if len(targets) > 1 and not layout.tags:
        raise InputError(
            f"{folder} has no tags of languages (>>fra<<), so it translates into one, not "
            f"{', '.join(targets)}"
        )
    ways = [(s, t) for s in sources for t in targets if not are_compatible(s, t)]
    if not ways or not all(map(is_code, (*sources, *targets))):
        raise InputError(
            f"{folder} would translate {', '.join(sources)} into {', '.join(targets)}: give codes "
            "of two languages, such as --from fr --to en"
        )
    return tuple(ways)


def _read_language(folder: Path, key: str, option: str) -> str:
    found = read_json(folder / TOKENIZER_CONFIG).get(key)
    if isinstance(found, str) and is_code(found):
        return shorten_code(found)
    raise InputError(
        f"{folder / TOKENIZER_CONFIG} has {key} = {found!r}, which is no code of a language: say "
        f"which it is with {option}"
    )


def build_tokenizer(folder: Path, layout: Layout) -> bytes:
    """Return the file of the tokenizer."""
    models = _read_model(folder / SOURCE_MODEL), _read_model(folder / TARGET_MODEL)
    pieces = layout.vocabulary.pieces
    if layout.vocabulary.is_ours:
        if models[0] == models[1] and _is_own_model(models[0], pieces):
            return models[0]
        tags, learned = pieces[FIRST_TAG:FIRST_PIECE], pieces[FIRST_PIECE:]
    else:
        # The rows of special pieces and tags come first; a row without a piece is a free slot.
        tags = [pieces[row] for row in layout.rows[FIRST_TAG:FIRST_PIECE] if row is not None]
        learned = [pieces[row] for row in layout.rows[FIRST_PIECE:] if row is not None]
    return MarianTokenizer.build(models, tags, learned)


def _read_model(path: Path) -> bytes:
    """Return a SentencePiece model, which must be complete."""
    data = path.read_bytes()
    try:
        check_complete(data)
        load_processor(data)
    except BrokenFileError as error:
        problem = f"this SentencePiece model cannot be used: {error}"
        raise DataError(path, problem, remedy=AGAIN) from error
    return data


def _is_own_model(data: bytes, pieces: Sequence[str]) -> bool:
    """Tell whether a SentencePiece model is a tokenizer of ours, with this vocabulary."""
    try:
        own = read_model(data).pieces
    except BrokenFileError:
        return False
    return own[FIRST_PIECE:] == tuple(pieces[FIRST_PIECE:])
