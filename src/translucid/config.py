"""Settings: frozen, complete and validated, with every fault of one input reported together.

:class:`Config` is the base of every settings object of the project; :class:`ModelConfig` holds the
hyper-parameters of the network (the paper's section 3 and table 3), :class:`GenerationConfig` what
else a model directory says of a model. People write TOML; checkpoints hold JSON.
"""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from translucid.errors import ConfigError, InputError, RenamedWarning, nearest
from translucid.registry import Registry


class Flag(NamedTuple):
    """How the command line spells a setting, where that does not follow from its name."""

    spelling: str


class Rule(NamedTuple):
    """A constraint over several fields: it is judged only where each of them is sound by itself."""

    fields: tuple[str, ...]
    fault: Callable[[Mapping[str, Any]], str | None]


class Config(BaseModel):
    """Base of all settings: frozen, no unknown keys, and one error that lists every fault."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
    rules: ClassVar[tuple[Rule, ...]] = ()
    renamed: ClassVar[Mapping[str, str]] = {}  # keys of earlier versions, and what they are now

    def __init__(self, /, **values: Any) -> None:
        for old in self.renamed.keys() & values.keys():
            warnings.warn(f"{old} is now called {self.renamed[old]}", RenamedWarning, stacklevel=2)
        values = self.upgrade(values)
        faults: list[str] = []
        unsound: set[str] = set()
        try:
            super().__init__(**values)
        except ValidationError as error:
            details = [d for d in error.errors() if d["type"] != "default_factory_not_called"]
            unsound = {str(d["loc"][0]) for d in details}
            faults = [_describe(type(self), d) for d in details]
        fields = type(self).model_fields.items()
        plain = {k: f.default for k, f in fields if not f.is_required() and not f.default_factory}
        sound = {k: v for k, v in {**plain, **values}.items() if k not in unsound}
        for rule in self.rules:
            if sound.keys() >= set(rule.fields) and (fault := rule.fault(sound)):
                faults.append(fault)
        if faults:
            raise ConfigError(type(self).__name__, faults)

    @classmethod
    def upgrade(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings that an earlier version wrote, under the keys of this one."""
        return {
            key if (new := cls.renamed.get(key, key)) in values else new: value
            for key, value in values.items()
        }

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read settings from a ``.toml`` or ``.json`` file."""
        try:
            text = path.read_text(encoding="utf-8")
            values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except (json.JSONDecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            kind = "JSON" if path.suffix == ".json" else "TOML"
            raise ConfigError(f"{path}", [f"not valid {kind}: {error}"]) from error
        if not isinstance(values, dict):
            raise ConfigError(f"{path}", [f"must hold a table of settings, not {values!r}"])
        return cls(**(cls.upgrade(values) if path.suffix == ".json" else values))

    def to_json(self) -> str:
        """Return the complete settings as readable JSON, the form that checkpoints hold."""
        return self.model_dump_json(indent=2) + "\n"

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some settings changed, validated again."""
        return type(self)(**{**self.model_dump(), **changes})


def _describe(cls: type[Config], detail: Any) -> str:
    """Turn one of pydantic's findings into a sentence with the value and what is allowed."""
    key, value = ".".join(str(part) for part in detail["loc"]), detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            return f"unknown key {key!r} (value {value!r}); {nearest(key, cls.model_fields)}"
        case "missing":
            return f"{key} is missing: {cls.model_fields[key].description}"
        case "literal_error":
            return f"{key} = {value!r}: must be one of {detail['ctx']['expected']}"
        case _:
            message = str(detail["msg"]).removeprefix("Input ")
            return f"{key} = {value!r}: {message}"


Positions = Literal[
    "sinusoidal",
    "sinusoidal-halves",
    "sinusoidal-timescales",
    "learned",
    "rotary",
    "relative",
    "none",
]
# Parts of the network that settings name; `translucid.model` has the built-in ones.
POSITIONS: Registry[Callable[[Any, bool], Any]] = Registry(
    "positions", "translucid.model.register_positions", get_args(Positions)
)
KERNELS: Registry[Callable[..., Any]] = Registry(
    "attention", "translucid.model.register_kernel", ("auto", "eager", "sdpa")
)
NormOrder = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "silu", "swiglu"]
Tying = Literal["all", "decoder", "none"]

EngineName = Literal["auto", "ctranslate2", "pytorch"]
Precision = Literal["int8", "float32"]  # of the weights of ctranslate2
ExportTarget = Literal["ctranslate2", "huggingface", "argos"]  # tools that models are written for

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]


def _heads_divide(values: Mapping[str, Any]) -> str | None:
    d_model, heads = values["d_model"], values["heads"]
    without = [name for name in ("d_k", "d_v") if values.get(name) is None]
    if without and d_model % heads:
        return (
            f"d_model = {d_model} cannot be divided by heads = {heads}: choose heads that divide "
            f"it, or give {' and '.join(without)}"
        )
    return None


def _sinusoids_need_pairs(values: Mapping[str, Any]) -> str | None:
    positions, d_model = values["positions"], values["d_model"]
    if positions.startswith("sinusoidal") and d_model % 2:
        return f"d_model = {d_model} is odd: {positions} positions need pairs of sine and cosine"
    if positions == "sinusoidal-timescales" and d_model < 4:
        return f"d_model = {d_model}: sinusoidal-timescales positions need at least 4"
    return None


def _rotary_needs_pairs(values: Mapping[str, Any]) -> str | None:
    if values["positions"] != "rotary":
        return None
    d_k = values.get("d_k") or values["d_model"] // values["heads"]
    return f"d_k = {d_k} is odd: rotary positions turn pairs of dimensions" if d_k % 2 else None


def _tying_needs_one_vocabulary(values: Mapping[str, Any]) -> str | None:
    source, target = values["source_vocab_size"], values["target_vocab_size"]
    if values["tying"] == "all" and source < target:
        return (
            f"tying = 'all' shares one matrix, which source_vocab_size = {source} makes too small "
            f"for target_vocab_size = {target}: make them equal, or tie 'decoder' or 'none'"
        )
    return None


def _padding_is_a_token(values: Mapping[str, Any]) -> str | None:
    smallest = min(values["source_vocab_size"], values["target_vocab_size"])
    if values["padding_id"] >= smallest:
        return (
            f"padding_id = {values['padding_id']} is outside the vocabulary of {smallest} tokens: "
            f"0 to {smallest - 1} are allowed"
        )
    return None


def _buckets_are_fewer_than_distances(values: Mapping[str, Any]) -> str | None:
    buckets, distance = values["relative_buckets"], values["relative_distance"]
    if buckets % 4:
        return (
            f"relative_buckets = {buckets}: must be a multiple of 4 "
            "(half per direction, and half of those exact)"
        )
    if distance <= buckets // 2:
        return f"relative_distance = {distance}: must be more than {buckets // 2}, half the buckets"
    return None


class ModelConfig(Config):
    """The hyper-parameters of the network; the defaults are the paper's base model (table 3)."""

    source_vocab_size: Count = Field(description="source vocabulary size")
    target_vocab_size: Count = Field(
        description="target vocabulary size; with a shared vocabulary, its first entries"
    )
    encoder_layers: Count = Field(6, description="N of the encoder (section 3.1)")
    decoder_layers: Count = Field(6, description="N of the decoder (section 3.1)")
    d_model: Count = Field(512, description="width of the residual stream")
    d_ff: Count = Field(2048, description="inner width of the feed-forward layers (section 3.3)")
    heads: Count = Field(8, description="h, the number of attention heads (section 3.2.2)")
    d_k: Count = Field(
        default_factory=lambda data: max(1, data["d_model"] // data["heads"]),
        description="size of a query and a key in one head; d_model / heads unless given",
    )
    d_v: Count = Field(
        default_factory=lambda data: max(1, data["d_model"] // data["heads"]),
        description="size of a value in one head; d_model / heads unless given",
    )
    norm: NormOrder = Field(
        "post", description="LayerNorm after the residual sum (the paper) or before each sublayer"
    )
    norm_epsilon: float = Field(1e-5, gt=0, description="added to the variance in LayerNorm")
    activation: Activation = Field("relu", description="non-linearity of the feed-forward layers")
    attention_bias: bool = Field(
        False, description="add biases to W^Q, W^K, W^V and W^O; the paper has none"
    )
    output_bias: bool = Field(
        False, description="add a bias to the logit of each token; the paper has none"
    )
    attention: str = Field(
        "auto",
        description="attention kernel: auto, the fastest; eager, equation 1 step by step; sdpa, "
        "PyTorch's; or one given to translucid.model.register_kernel",
    )
    positions: str = Field(
        "sinusoidal",
        description="how the model knows the order of tokens (section 3.5): "
        + ", ".join(POSITIONS.built_in)
        + ", or one given to translucid.model.register_positions",
    )
    max_positions: Count = Field(
        1024,
        description="rows of the learned table; length to which the others are computed ahead",
    )
    relative_buckets: Count = Field(32, description="buckets of distance of relative positions")
    relative_distance: Count = Field(
        128, description="distance from which all relative positions share the last bucket"
    )
    tying: Tying = Field(
        "all", description="which of the two embeddings and the output projection share a matrix"
    )
    padding_id: int = Field(0, ge=0, description="the token that fills up short rows")
    dropout: Share = Field(
        0.1, description="on each sublayer's output and on embedding + position (section 5.4)"
    )
    attention_dropout: Share = Field(0.0, description="on attention weights; the paper has none")
    feed_forward_dropout: Share = Field(
        0.0, description="on the feed-forward layers' inner activations; the paper has none"
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("attention",), lambda values: KERNELS.find_fault(values["attention"])),
        Rule(("positions",), lambda values: POSITIONS.find_fault(values["positions"])),
        Rule(("d_model", "heads"), _heads_divide),
        Rule(("d_model", "positions"), _sinusoids_need_pairs),
        Rule(("d_model", "heads", "positions"), _rotary_needs_pairs),
        Rule(("tying", "source_vocab_size", "target_vocab_size"), _tying_needs_one_vocabulary),
        Rule(("padding_id", "source_vocab_size", "target_vocab_size"), _padding_is_a_token),
        Rule(("relative_buckets", "relative_distance"), _buckets_are_fewer_than_distances),
    )


def read_model_config(path: Path) -> ModelConfig:
    """Read a network's settings from a model directory, or from a ``.json`` or ``.toml`` file."""
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{path}: no config.json there; a model directory has one")
    return ModelConfig.from_file(file)


Direction = Annotated[tuple[str, str], Strict(False)]  # JSON has lists where Python has tuples


class GenerationConfig(Config):
    """The languages of a model, and how it searches by default (section 6.1)."""

    directions: tuple[Direction, ...] = Field(
        strict=False, description="pairs of source and target language that it was trained on"
    )
    tags: dict[str, int] = Field(
        description="token that a source begins with, by target language; empty: none"
    )
    lowercase: bool = Field(
        default=False, description="whether it reads and writes lower case only"
    )
    plain_typography: bool = Field(
        default=False,
        description="whether it reads and writes the apostrophes and quotes of a keyboard only",
    )
    beam: Count = Field(default=4, description="number of hypotheses")
    length_penalty: Annotated[float, Field(ge=0, le=10)] = Field(
        default=0.6, description="α in ((5 + length) / 6)^α, or in length^α"
    )
    length_form: Literal["paper", "plain"] = Field(
        default="paper", description="what is raised to α: (5 + length) / 6, or the length"
    )
    extra_length: Annotated[int, Field(ge=0)] = Field(
        default=50, description="most tokens beyond the length of the source"
    )
    precision: Precision = Field(
        default="float32",
        description="weights of the fast engine: int8 where that was measured to lose nothing",
    )


def read_generation_config(folder: Path) -> GenerationConfig:
    """Read the languages and the search of a model directory."""
    file = folder / "generation_config.json"
    if not file.is_file():
        raise InputError(f"{folder}: no {file.name} there; a model directory has one")
    return GenerationConfig.from_file(file)
