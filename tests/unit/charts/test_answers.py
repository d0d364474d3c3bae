"""What is checked before a question is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from convostore.cli import answers
from convostore.cli.answers import Output
from convostore.schemas.errors import UnavailableError


@pytest.mark.parametrize("name", ["a.png", "a.SVG"])
def test_kinds_of_pictures_are_known_by_name(name: str) -> None:
    assert Output(plot=Path(name)).wants_shape


@pytest.mark.parametrize("name", ["a.gif", "a", ".png", "a.png.gz"])
def test_other_kinds_are_refused_by_name(name: str) -> None:
    with pytest.raises(typer.BadParameter, match="does not end with"):
        Output(plot=Path(name))
    with pytest.raises(typer.BadParameter, match="does not end with"):
        Output(out=Path(name))


@pytest.mark.parametrize(
    ("given", "package"), [({"plot": Path("a.svg")}, "matplotlib"), ({"out": Path("a.arrow")}, "pyarrow")]
)
def test_what_is_not_installed_is_told_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Path], package: str
) -> None:
    monkeypatch.setattr(answers.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match=rf"need {package}: pip install") as refused:
        Output(**given)
    assert refused.value.capability == package
    Output(out=Path("a.csv"), plot=None)
