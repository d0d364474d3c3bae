"""Break the library in twelve named places, one at a time, and see whether the suite notices.

Each mutant replaces one text by another in a copy of the tree, on an import path of its own, and runs the
part of the suite that is about it: numbered contracts on a server of this run, and tests. Prints a table. The
exit code is 1 when a mutant survives, 2 when a text to replace is not there exactly once or the copy fails
without a mutant.

    python scripts/mutate.py                 # all twelve
    python scripts/mutate.py rebase cursor   # some, by name
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("schemas", "store", "cli", "tests", "scripts", "pyproject.toml")
PATIENCE_SECONDS = 300


@dataclass(frozen=True)
class Mutant:
    """One place, broken: ``text`` stands exactly once in each of ``files`` and becomes ``broken``."""

    name: str
    files: tuple[str, ...]
    text: str
    broken: str
    contracts: tuple[str, ...] = ()
    """Numbers of contracts (``python -m convostore.store.conformance --list``)."""
    tests: tuple[str, ...] = ()
    """Arguments for pytest."""


MUTANTS = (
    Mutant(
        "version guard",
        ("store/splicing.py",),
        '        query["version"] = head["version"]\n',
        "        pass\n",
        contracts=("C108", "C111", "C112", "C387"),
        tests=("tests/contract/test_stale_plans.py",),
    ),
    Mutant(
        "key check",
        ("store/appending.py",),
        'query["log.k"] = {"$ne": asked.keys[0]}',
        'query["log.k"] = {"$ne": None}',
        contracts=("C041", "C042", "C389"),
        tests=("tests/contract/test_late_originals.py",),
    ),
    Mutant(
        "user filter",
        ("store/asynchronous/_face.py", "store/synchronous/_face.py"),
        '            query["user"] = owner\n',
        "            pass\n",
        contracts=("C321", "C323"),
    ),
    Mutant(
        "seal order",
        ("store/sealing.py",),
        '{"$concatArrays": ["$segments", list(items)]}',
        '{"$concatArrays": [list(items), "$segments"]}',
        contracts=("C061", "C064"),
    ),
    Mutant(
        "literal wrapping",
        ("store/appending.py",),
        '"messages": {"$each": [entry.stored for entry in asked.entries]}',
        '"messages": [entry.stored for entry in asked.entries]',
        contracts=("C021", "C022"),
    ),
    Mutant(
        "cancelled rule",
        ("store/statuses.py",),
        "Status.CANCELLED: frozenset(),",
        "Status.CANCELLED: frozenset({Status.WORKING}),",
        contracts=("C161", "C162", "C163", "C164"),
    ),
    Mutant(
        "rebase",
        ("store/saving.py",),
        "moved = len(theirs.items) - theirs.removed",
        "moved = 0",
        contracts=("C111", "C112"),
    ),
    Mutant(
        "manifest cut",
        ("store/sealing.py",),
        '"lineage": head["lineage"], "structure": head["structure"]}\n    return query, [\n',
        '"lineage": head["lineage"]}\n    return query, [\n',
        tests=("tests/contract/test_stale_plans.py",),
    ),
    Mutant(
        "saturation",
        ("store/appending.py",),
        "encode_u64(min(stored + count, U64_MAX))",
        "encode_u64((stored + count) % (U64_MAX + 1))",
        contracts=("C303",),
    ),
    Mutant(
        "period",
        ("schemas/conversations.py",),
        "    return created_at // 3_600_000\n",
        "    return (created_at + 1_800_000) // 3_600_000\n",
        contracts=("C001", "C241"),
        tests=("tests/unit/test_conversations.py",),
    ),
    Mutant(
        "cursor",
        ("store/finding.py",),
        '{"$lt": encode_u64(decode_cursor(cursor))}',
        '{"$lte": encode_u64(decode_cursor(cursor))}',
        contracts=("C202", "C204"),
    ),
    Mutant(
        "take",
        ("store/queues.py",),
        '"taken": {"$exists": False}, ',
        "",
        contracts=("C144", "C145", "C147", "C385"),
    ),
)


class Unusable(Exception):
    """The run cannot tell anything."""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: what failed first, or nothing, and how long that took."""

    mutant: Mutant
    killer: str | None
    seconds: float


def broken(mutant: Mutant, root: Path) -> dict[Path, str]:
    """The files of the mutant under ``root`` with the place broken.

    Raises:
        Unusable: the text is not there exactly once.

    """
    changed = {}
    for name in mutant.files:
        source = (root / name).read_text("utf-8")
        count = source.count(mutant.text)
        if count != 1:
            raise Unusable(f"{mutant.name}: {name} has the text {count} times, not once: {mutant.text!r}")
        changed[root / name] = source.replace(mutant.text, mutant.broken)
    return changed


@contextmanager
def in_place(changed: dict[Path, str]) -> Iterator[None]:
    """The files with these contents, until the end of the block."""
    before = {file: file.read_text("utf-8") for file in changed}
    try:
        for file, text in changed.items():
            file.write_text(text, "utf-8")
        yield
    finally:
        for file, text in before.items():
            file.write_text(text, "utf-8")


def first_failure(mutant: Mutant, root: Path, uri: str) -> str | None:
    """What of the mutant's part of the suite fails first on the tree at ``root``; None when all passes."""
    if mutant.contracts:
        only = [argument for contract in mutant.contracts for argument in ("--only", contract)]
        output = _failed(["-m", "convostore.store.conformance", uri, *only], root)
        if output is not None:
            return _line(output, "FAILED", "a contract")
    if mutant.tests:
        output = _failed(["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests], root)
        if output is not None:
            return _line(output, "FAILED", "a test")
    return None


def _failed(arguments: Sequence[str], root: Path) -> str | None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(root / "scripts" / "types"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, *arguments]
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"FAILED nothing, but did not end within {PATIENCE_SECONDS} s"
    return None if done.returncode == 0 else done.stdout + done.stderr


def _line(output: str, mark: str, otherwise: str) -> str:
    lines = [line.strip() for line in output.splitlines() if mark in line]
    return lines[0] if lines else f"{otherwise}: {output.strip().splitlines()[-1:]}"


def table(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as lines below each other."""
    rows = [("mutant", "file", "verdict", "seconds", "by")]
    rows += [
        (
            verdict.mutant.name,
            verdict.mutant.files[0],
            "survived" if verdict.killer is None else "killed",
            f"{verdict.seconds:.0f}",
            (verdict.killer or "")[:100],
        )
        for verdict in verdicts
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def tried(mutants: Sequence[Mutant], root: Path, uri: str) -> list[Verdict]:
    """The verdict on each mutant, the tree at ``root`` being whole before and after.

    Raises:
        Unusable: a text is not there exactly once, or the whole tree fails.

    """
    changes = {mutant.name: broken(mutant, root) for mutant in mutants}
    whole = Mutant(
        "none",
        (),
        "",
        "",
        tuple(sorted({contract for mutant in mutants for contract in mutant.contracts})),
        tuple(sorted({test for mutant in mutants for test in mutant.tests})),
    )
    failure = first_failure(whole, root, uri)
    if failure is not None:
        raise Unusable(f"without a mutant the suite fails already: {failure}")
    verdicts = []
    for mutant in mutants:
        start = time.monotonic()
        with in_place(changes[mutant.name]):
            killer = first_failure(mutant, root, uri)
        verdicts.append(Verdict(mutant, killer, time.monotonic() - start))
        print(f"{mutant.name}: {'survived' if killer is None else 'killed'}", file=sys.stderr)
    return verdicts


def main(names: Sequence[str]) -> int:
    """Try the mutants of these names, or all; the exit code."""
    known = {mutant.name: mutant for mutant in MUTANTS}
    unknown = sorted(set(names) - known.keys())
    if unknown:
        print(f"no mutant is called {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT / "tests"))
    from support.servers import Server

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        root.mkdir()
        for name in COPIED:
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
                shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=ignored)
            else:
                shutil.copy2(ROOT / name, root / name)
        server = Server(Path(folder) / "server", replica_set="mutants").start()
        try:
            verdicts = tried([known[name] for name in names or known], root, server.uri("mutants"))
        except Unusable as error:
            print(f"mutate: {error}", file=sys.stderr)
            return 2
        finally:
            server.remove()
    print(table(verdicts))
    return 1 if any(verdict.killer is None for verdict in verdicts) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
