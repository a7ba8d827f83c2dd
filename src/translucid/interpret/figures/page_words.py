"""The words of the page: what happens in each part of the network, in the order it happens."""

from __future__ import annotations

from typing import NamedTuple

from translucid.config import ModelConfig


class Words(NamedTuple):
    """A section of the page: its title, what happens there, and the panels that show it.

    `left_out` is said where a light trace has none of its numbers. Where networks differ, `text`
    has {places} or {norm} in it, for `told` to fill in.
    """

    anchor: str
    title: str
    text: str
    panels: tuple[str, ...]
    left_out: str = ""


_LIGHT = "This trace is a light one: record it with the level full to see the numbers here."

SECTIONS: tuple[Words, ...] = (
    Words(
        "words",
        "Words become tokens",
        "A vocabulary of pieces cuts the sentence. A dot before a piece says that it continues a "
        "word. The encoder reads the source with its end symbol; the decoder reads the start "
        "symbol and then what has been written so far.",
        (),
    ),
    Words(
        "embeddings",
        "Tokens become vectors, vectors get places",
        "Each token is looked up in a table of vectors. Attention by itself does not know who "
        "stands where{places}",
        ("embeddings", "positions", "position-curves", "position-similarity"),
        _LIGHT,
    ),
    Words(
        "attention",
        "Self-attention in six steps",
        "Every token asks a question (its query), offers a label (its key) and a content (its "
        "value). Query times key says how well they fit; softmax makes shares of the fits; the "
        "shares of the contents are added up. Here is one token of one head, with all its numbers.",
        ("attention-steps",),
        _LIGHT,
    ),
    Words(
        "heads",
        "Many heads look at different things",
        "Each head has queries, keys and values of its own, so one can follow the neighbour while "
        "another looks for the noun. Click a small matrix to see that head large.",
        ("encoder",),
    ),
    Words(
        "residuals",
        "Add & Norm",
        "What a sublayer finds is added to what was there{norm} So the network corrects its "
        "vectors step by step instead of replacing them.",
        ("residuals",),
        _LIGHT,
    ),
    Words(
        "feed-forward",
        "Feed-forward",
        "After looking around, each token is worked on by itself: a wide layer of units, of which "
        "only some are set off, then back to the width of the stream.",
        ("feed-forward",),
        _LIGHT,
    ),
    Words(
        "encoder-stack",
        "The encoder as a whole",
        "Layer upon layer mixes the tokens. Multiplying the attention of all layers gives an idea "
        "of how much of each word is in each position at the end.",
        ("rollout encoder",),
    ),
    Words(
        "decoder",
        "The decoder looks back at itself",
        "The decoder writes one token at a time, so no position may see the future: its weights "
        "there are exactly 0. The first column, the start symbol, is where a head rests that has "
        "nothing to look for.",
        ("decoder",),
    ),
    Words(
        "cross",
        "Cross-attention: the translation looks at the source",
        "Here the queries are the decoder's and the keys and values the encoder's. Some heads "
        "follow the words so closely that an alignment can be read off them.",
        ("cross", "arcs", "alignment"),
    ),
    Words(
        "logits",
        "Logits: layer by layer towards a word",
        "The last vector is compared with the vector of every token of the vocabulary. Doing the "
        "same with earlier layers shows when the network makes up its mind.",
        ("lens", "decoder-lens"),
        "Needs the network itself, which a trace file does not have.",
    ),
    Words(
        "softmax",
        "Softmax: from scores to probabilities",
        "Logits become shares of 1. A temperature below 1 sharpens them, above 1 flattens them.",
        ("steps", "softmax"),
    ),
    Words(
        "search",
        "Search: which words to keep",
        "The likeliest next word is not always part of the likeliest sentence, so several "
        "beginnings are followed side by side. Longer sentences have lower probabilities, so the "
        "ends are compared after division by a length penalty. A cache keeps what does not change "
        "from step to step.",
        ("beam", "cache"),
    ),
    Words(
        "learning",
        "How it learned",
        "Looking at the same sentence with the checkpoints of the run shows when a head found its "
        "job, and when the translation came right.",
        ("curve", "film"),
    ),
)

_WAVES = (
    ", so a vector that depends on the position is added: slow and fast waves, whose mixture is "
    "different at every place, and similar for neighbours."
)
_PLACES = {
    "learned": ", so a vector that was learned for each position is added.",
    "rotary": (
        ", so in self-attention queries and keys are turned, the further the later they stand: "
        "their product then depends on the distance."
    ),
    "relative": (
        ", so in self-attention every score gets a bias, learned for the distance of its two "
        "tokens."
    ),
    "none": ", and nothing tells it in this network but the mask of the decoder.",
}
_NORMS = {
    "post": ", and the sum is brought to a standard size.",
    "pre": ". What it reads is brought to a standard size before, the sum is left as it is.",
}


def told(words: Words, config: ModelConfig) -> str:
    """Return what happens in a part of this very network."""
    places = _PLACES.get(config.positions, _WAVES)
    return words.text.format(places=places, norm=_NORMS[config.norm])
