"""Every block of the README does what it shows."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from convostore.schemas.prices import PriceTable
from support.shared import shared

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
TIME = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\+00:00")


def of_kind(kind: str) -> list[str]:
    return [text for found, text in BLOCKS if found == kind]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path


def environment(folder: Path) -> dict[str, str]:
    programs = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "CONVOSTORE_URI": f"embedded:{folder / 'engine'}",
        "PATH": os.pathsep.join([programs, os.environ.get("PATH", "")]),
        "COLUMNS": "80",
    }


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {kind for kind, _ in BLOCKS} == {"", "console", "python", "toml"}


@pytest.mark.parametrize("block", of_kind("toml"), ids=lambda text: text.splitlines()[0][:40])
def test_toml_blocks_are_price_tables(block: str) -> None:
    table = PriceTable.read(io.BytesIO(block.encode()), name="prices.toml")
    february = 1_769_904_000_000
    price = table.price("gpt-4o", february)
    assert price is not None and price.cost(1_000_000, 100_000, 0) == Decimal("3.50")


@pytest.mark.parametrize("block", of_kind("python"), ids=lambda text: text.splitlines()[0][:40])
def test_python_blocks_run(block: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    if "print(" in block:
        assert done.stdout.strip()


@pytest.mark.parametrize(
    "session",
    [
        pytest.param(session, marks=[pytest.mark.shared] if "airline.jsonl" in session else [])
        for session in of_kind("console")
    ],
    ids=lambda session: session.splitlines()[1][2:40],
)
def test_the_session_shown_is_what_the_command_line_prints(session: str, folder: Path) -> None:
    if "airline.jsonl" in session:
        shutil.copyfile(shared("data/airline_agent_runs.openai.jsonl"), folder / "airline.jsonl")
    variables = environment(folder)
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, flags=re.MULTILINE):
        if command.startswith("export "):
            name, value = command.removeprefix("export ").split("=", 1)
            variables[name] = value
            continue
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert TIME.sub("TIME", done.stdout).split() == TIME.sub("TIME", expected).split()


def test_every_picture_shown_lies_in_the_tree_and_is_small() -> None:
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 2
    for name in pictures:
        content = (ROOT / name).read_bytes()
        assert content.startswith(b"\x89PNG") and len(content) < 120_000
        assert Path(name).stem in (ROOT / "scripts" / "pictures.py").read_text("utf-8")


def test_the_two_commands_are_what_continuous_integration_runs() -> None:
    commands = of_kind("")[0].split("\n")[:2]
    script = (ROOT / "scripts" / "ci.py").read_text("utf-8")
    for command in commands:
        assert command.startswith("python3 scripts/try.py ")
        assert command.split()[-1] in script
    assert "try.py" in script


def test_the_licence_named_is_the_one_that_lies_beside() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")[:200]
