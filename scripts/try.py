#!/usr/bin/env python3
"""Try Convostore from a clone: ``python3 scripts/try.py demo`` or ``python3 scripts/try.py test``.

Outside a virtual environment it makes ``.venv`` in the clone and uses that, inside one it uses that one; it
installs what the command needs, runs it and ends with its exit code. Further arguments go to the command.
Needs Python 3.10 or newer and nothing else.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What is installed for each command, and what is run in the environment's folder of programs.
COMMANDS = {
    "demo": (".[embedded]", ["convostore", "demo"]),
    "test": (".[test]", ["python", "-m", "pytest"]),
}


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 10):  # noqa: UP036 (whoever runs this has installed nothing yet)
        return refuse(f"Convostore needs Python 3.10 or newer; this is {sys.version.split()[0]}")
    if not arguments or arguments[0] not in COMMANDS:
        print(__doc__, file=sys.stderr)
        return 2
    requirement, command = COMMANDS[arguments[0]]
    inside = sys.prefix != sys.base_prefix
    environment = Path(sys.prefix) if inside else ROOT / ".venv"
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    python = str(programs / "python")
    if not inside and not has_pip(python):
        if importlib.util.find_spec("ensurepip") is None:
            return refuse("this Python cannot make a virtual environment: apt-get install python3-venv")
        print(f"making {environment}", file=sys.stderr)
        if run([sys.executable, "-m", "venv", "--clear", str(environment)]):
            return refuse(f"no virtual environment in {environment}; on Debian: apt-get install python3-venv")
    if not has_pip(python) and run([python, "-m", "ensurepip"]):
        return refuse(f"{environment} has no pip and Python cannot install it")
    print(f"installing {requirement} into {environment}", file=sys.stderr)
    if run([python, "-m", "pip", "install", "--quiet", "--editable", requirement]):
        return refuse("the installation failed; what pip said is above")
    return run([str(programs / command[0]), *command[1:], *arguments[1:]])


def has_pip(python: str) -> bool:
    """Whether there is a Python at that path, and pip in it."""
    try:
        quiet = subprocess.DEVNULL
        return subprocess.call([python, "-m", "pip", "--version"], stdout=quiet, stderr=quiet) == 0
    except OSError:
        return False


def run(command: list[str]) -> int:
    """The exit code of the command, run in the clone; Ctrl-C is for it to answer."""
    with subprocess.Popen(command, cwd=ROOT) as process:
        while True:
            try:
                code = process.wait()
                return code if code >= 0 else 128 - code
            except KeyboardInterrupt:
                pass


def refuse(reason: str) -> int:
    print(f"try.py: {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
