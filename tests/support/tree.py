"""The source tree as text: which modules there are and what they import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("schemas", "store", "cli")


def module_files() -> list[Path]:
    """Every module of the three parts."""
    return sorted(path for part in PARTS for path in (ROOT / part).rglob("*.py"))


def module_name(path: Path) -> str:
    """The import name of a module, ``__init__`` left out."""
    names = ["convostore", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imports(path: Path) -> Iterator[str]:
    """The full names that a module imports, wherever in it; a relative import begins with a dot."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            yield from (f"{source}.{alias.name}" for alias in node.names)
