"""The tables of formats name every format that there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from convostore.schemas.formats import FORMATS
from convostore.schemas.formats.writers import EXPORTED, FILE_EACH, WRITERS

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("rig-session",)
"""Formats that are written by ``saved_sessions``."""


def rows(text: str) -> dict[str, list[str]]:
    """The cells behind the first one of each row, by the name in that."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        match = re.match(r"\| `([\w-]+)` \| (.*) \|$", line)
        if match is not None:
            assert match[1] not in found, match[1]
            found[match[1]] = match[2].split(" | ")
    return found


def table(heading: str) -> dict[str, list[str]]:
    text = (ROOT / "schemas" / "formats" / "README.md").read_text("utf-8")
    (part,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return rows(part)


def test_every_format_that_is_read_has_a_row() -> None:
    found = table("Import")
    assert set(found) == {*FORMATS, *FOLDERS}
    assert {len(cells) for cells in found.values()} == {7}


def test_every_format_that_is_written_has_a_row() -> None:
    found = table("Export")
    assert set(found) == {*EXPORTED, *FOLDERS}
    assert {len(cells) for cells in found.values()} == {9}
    assert {name for name, cells in found.items() if cells[0] == "a file each"} == FILE_EACH
    for name, cells in found.items():
        comes_back = name in FORMATS or name in FOLDERS
        assert cells[-1].startswith("no") is not comes_back, name


def test_the_table_of_the_readme_names_them_too() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (part,) = re.findall(r"^\| format \| import \| export \|\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    found = rows(part)
    assert set(found) == {*FORMATS, *EXPORTED, *FOLDERS}
    for name, (into, out) in found.items():
        assert (into != "no") is (name in FORMATS or name in FOLDERS), name
        assert (out != "no") is (name in EXPORTED or name in FOLDERS), name
    assert "schemas/formats/README.md" in text


def test_the_help_of_export_names_them_too() -> None:
    source = (ROOT / "cli" / "transfer.py").read_text("utf-8")
    told = source[source.index("def export(") :]
    for name in (*EXPORTED, *FOLDERS):
        assert name in told, name
    assert set(WRITERS) < set(EXPORTED)
