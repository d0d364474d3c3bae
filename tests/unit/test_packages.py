"""What is shipped, what is public, and who may import whom."""

from __future__ import annotations

import importlib
import inspect
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest

from support.tree import PARTS, ROOT, imports, module_files, module_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PUBLIC = ("convostore.schemas", "convostore.store", "convostore.store.engine", "convostore.store.conformance")


def setuptools_table() -> dict[str, Any]:
    configuration: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    table: dict[str, Any] = configuration["tool"]["setuptools"]
    return table


def test_every_folder_with_an_init_is_listed_as_a_package() -> None:
    folders = {module_name(path) for path in module_files() if path.name == "__init__.py"}
    assert sorted(setuptools_table()["packages"]) == sorted(folders)


def test_every_folder_with_modules_has_an_init() -> None:
    assert {path.parent for path in module_files() if not (path.parent / "__init__.py").exists()} == set()


def test_the_three_parts_say_that_they_are_typed() -> None:
    assert [part for part in PARTS if not (ROOT / part / "py.typed").exists()] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from a copy of the sources, since a stale ``build`` folder ships deleted modules."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for part in PARTS:
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", folder, source], check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_module_and_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
    expected = {f"convostore/{path.relative_to(ROOT).as_posix()}" for path in module_files()}
    assert {name for name in names if name.endswith(".py")} == expected
    assert {f"convostore/{part}/py.typed" for part in PARTS} <= names
    templates = {f"convostore/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob("cli/**/*.html")}
    assert templates and templates <= names
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_every_module_of_the_wheel_can_be_imported(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path)
    names = [module_name(path) for path in module_files() if path.name != "__main__.py"]
    # Without ``site``, so that the editable installation of the tree is not seen.
    program = (
        f"import importlib, sys\nsys.path += [{str(tmp_path)!r}, {sysconfig.get_path('purelib')!r}]\n"
        f"for name in {names!r}:\n"
        f"    assert importlib.import_module(name).__file__.startswith({str(tmp_path)!r}), name\n"
    )
    ran = subprocess.run([sys.executable, "-S", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_exported_and_documented(name: str) -> None:
    package = importlib.import_module(name)
    exported = list(package.__all__)
    assert exported, f"{name} exports nothing"
    assert [one for one in exported if not hasattr(package, one)] == []
    things = {one: getattr(package, one) for one in exported}
    described = {one: thing for one, thing in things.items() if inspect.isclass(thing) or callable(thing)}
    assert [one for one, thing in described.items() if not (thing.__doc__ or "").strip()] == []


def test_the_store_exports_the_whole_tree_of_errors() -> None:
    errors, store = map(importlib.import_module, ("convostore.schemas.errors", "convostore.store"))
    assert set(errors.__all__) - set(store.__all__) == set()


FORBIDDEN = {
    "schemas": ("pymongo", "bson", "gridfs", "motor", "mongomock", "convostore.store", "convostore.cli"),
    "store": ("typer", "rich", "click", "convostore.cli", "pytest"),
    "cli": ("pymongo", "bson", "gridfs", "motor"),
}


@pytest.mark.parametrize("part", PARTS)
def test_imports_go_in_one_direction(part: str) -> None:
    wrong = [
        f"{module_name(path)} imports {name}"
        for path in module_files()
        if path.is_relative_to(ROOT / part)
        for name in imports(path)
        if any(f"{name}.".startswith(f"{forbidden}.") for forbidden in FORBIDDEN[part])
    ]
    assert wrong == []


def test_imports_are_absolute() -> None:
    wrong = [
        f"{module_name(path)} imports {name}"
        for path in module_files()
        for name in imports(path)
        if name.startswith(".") or name.split(".")[0] in PARTS
    ]
    assert wrong == []


def test_the_command_line_uses_public_names_only() -> None:
    wrong = [
        f"{module_name(path)} imports {name}"
        for path in module_files()
        if path.is_relative_to(ROOT / "cli")
        for name in imports(path)
        if name.startswith(("convostore.store.", "convostore.schemas."))
        and any(step.startswith("_") and step != "__future__" for step in name.split("."))
    ]
    assert wrong == []


def test_only_the_pace_of_the_asynchronous_face_knows_asyncio() -> None:
    users = {
        path.name
        for path in (ROOT / "store" / "asynchronous").rglob("*.py")
        if any(f"{name}.".startswith("asyncio.") for name in imports(path))
    }
    assert users == {"_pace.py"}
