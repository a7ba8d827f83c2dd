"""Options are generated from config classes; old names still work; files of terms are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

from translucid.cli.line_files import read_terms
from translucid.cli.options import RENAMED, Command, Given, add_settings, choose, with_sample
from translucid.config import Config, Flag
from translucid.errors import DataError, InputError, RenamedWarning


class Oven(Config):
    """Settings of every type that an option can have."""

    renamed: ClassVar[Mapping[str, str]] = {}
    heat: int = Field(180, description="degrees")
    hours: float | None = Field(None, description="how long it bakes")
    shelf: Literal["top", "middle"] = Field("middle", description="where it stands")
    fan: bool = Field(True, description="circulate the air")
    damp: Annotated[bool, Flag("--damp/--keep-dry")] = Field(False, description="add steam")


def oven(*arguments: str) -> str:
    app = typer.Typer(rich_markup_mode=None)

    @app.command(cls=Command)
    @add_settings(Oven, into="settings", help_texts={"heat": "In Celsius."})
    def bake(what: str, settings: Given = {}, loud: bool = False) -> None:  # noqa: B006
        """Bake something."""
        typer.echo(json.dumps([what, settings, loud]))

    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exit_code == 0, result.output
    return result.output


def test_what_is_given_arrives_by_field_name() -> None:
    assert json.loads(oven("bread")) == ["bread", {}, False]
    given = ["--heat", "200", "--hours", "1.5", "--shelf", "top", "--no-fan", "--damp", "--loud"]
    expected = {"heat": 200, "hours": 1.5, "shelf": "top", "fan": False, "damp": True}
    assert json.loads(oven("bread", *given)) == ["bread", expected, True]
    assert json.loads(oven("bread", "--keep-dry"))[1] == {"damp": False}


def test_help_comes_from_the_fields() -> None:
    text = " ".join(oven("--help").split())
    for part in (
        "--heat N In Celsius.",
        "--hours X How long it bakes.",
        "--shelf top|middle Where it stands. [default: middle]",
        "Circulate the air. [default: on]",
        "--keep-dry",
    ):
        assert part in text


def test_options_of_the_first_version_work_with_a_notice() -> None:
    app = typer.Typer()

    @app.command(cls=Command)
    def show(rerank: str = "", rerank_weight: float = 0.0) -> None:
        """Show both."""
        typer.echo(f"{rerank} {rerank_weight}")

    with pytest.warns(RenamedWarning) as warned:
        result = CliRunner().invoke(app, ["--read-back", "m", "--read-back-weight=0.5"])
    assert result.output == "m 0.5\n"
    assert "--read-back is now called --rerank" in [str(one.message) for one in warned]
    assert set(RENAMED) == {"--read-back", "--read-back-weight"}


def test_sample_is_short_for_sampling() -> None:
    assert with_sample({"temperature": 0.5}, sample=True)["method"] == "sampling"
    assert with_sample({"method": "sampling"}, sample=True) == {"method": "sampling"}
    assert with_sample({"beam": 3}, sample=False) == {"beam": 3}
    with pytest.raises(InputError, match="leave one out"):
        with_sample({"method": "beam"}, sample=True)


def test_one_of_a_few_words() -> None:
    with pytest.raises(InputError, match="--format xml: must be text or jsonl"):
        choose("--format", "xml", ("text", "jsonl"))


# Terminology.


def test_terms_are_read(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("chat\tcat\r\n\n chat noir \t black cat\nchat\tcat\n", encoding="utf-8")
    assert read_terms(path) == {"chat": "cat", "chat noir": "black cat"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("chat\tcat\nchien\n", "line 2: 'chien' is not two columns"),
        ("chat\t \n", "line 1: 'chat\\t ' is not two columns"),
        ("a\tb\tc\n", "line 1: 'a\\tb\\tc' is not two columns"),
        (
            "chat\tcat\nchat\ttomcat\n",
            "line 2: 'chat' is translated as 'tomcat' here, but as 'cat' above",
        ),
        ("\n\n", "has no terms"),
    ],
)
def test_terms_that_cannot_be_used(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        read_terms(path)
    assert message in str(caught.value)


def test_a_file_of_terms_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--terms .*: there is no such file"):
        read_terms(tmp_path / "none")
