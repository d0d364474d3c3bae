"""Write the synchronous side from the asynchronous one; ``--check`` only compares. Needs the ``dev`` extra.

Each file goes through unasync (tokens), then through ``WORDS`` and ``PATTERNS`` (whole text, so docstrings,
comments and f-strings too), then through ruff. A file in which something asynchronous is left is refused.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from unasync import Rule, unasync_files

ROOT = Path(__file__).resolve().parent.parent

PAIRS = (
    ("store/asynchronous", "store/synchronous"),
    ("store/conformance/asynchronous", "store/conformance/synchronous"),
    ("tests/contract/asynchronous", "tests/contract/synchronous"),
    ("tests/fault/asynchronous", "tests/fault/synchronous"),
)

# On the generated side, but written by hand; the source of the same name is not translated.
HAND_WRITTEN = frozenset({"store/synchronous/_pace.py", "store/conformance/synchronous/_together.py"})

WORDS = {
    "AsyncConversationStore": "ConversationStore",
    "AsyncUserStore": "UserStore",
    "AsyncResources": "Resources",
    "AsyncAnalytics": "Analytics",
    "AsyncMigrations": "Migrations",
    "AsyncUserResources": "UserResources",
    "AsyncUserAnalytics": "UserAnalytics",
    "AsyncBackend": "Backend",
    "AsyncConnection": "Connection",
    "AsyncWatch": "Watch",
    "AsyncBench": "Bench",
    "AsyncSession": "Session",
    "AsyncSessionStore": "SessionStore",
    "AsyncSessionSource": "SessionSource",
    "AsyncBundledSession": "BundledSession",
    "AsyncDirectorySessionStore": "DirectorySessionStore",
    "AsyncMongoSessionStore": "MongoSessionStore",
    "AsyncSessionWriter": "SessionWriter",
    "AsyncSavedSessions": "SavedSessions",
    "AsyncSource": "Source",
    "AsyncMongoClient": "MongoClient",
    "AsyncDatabase": "Database",
    "AsyncCollection": "Collection",
    "AsyncCursor": "Cursor",
    "AsyncCommandCursor": "CommandCursor",
    "AsyncChangeStream": "ChangeStream",
    "AsyncDatabaseChangeStream": "DatabaseChangeStream",
    "AsyncCollectionChangeStream": "CollectionChangeStream",
    "AsyncClientSession": "ClientSession",
    "AsyncGridFSBucket": "GridFSBucket",
    "AsyncGridIn": "GridIn",
    "AsyncGridOut": "GridOut",
    "AsyncIterable": "Iterable",
    "AsyncIterator": "Iterator",
    "AsyncGenerator": "Generator",
    "AsyncExitStack": "ExitStack",
    "AbstractAsyncContextManager": "AbstractContextManager",
    "asynccontextmanager": "contextmanager",
    "aclosing": "closing",
    "aclose": "close",
    "enter_async_context": "enter_context",
    "push_async_exit": "push",
    "push_async_callback": "callback",
    "aenter": "enter",
    "StopAsyncIteration": "StopIteration",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "aiter": "iter",
    "anext": "next",
    "async_memory_store": "memory_store",
    "async_store": "store",
    "async_database": "database",
    "async_client": "client",
    "asynchronous": "synchronous",
    "Asynchronous": "Synchronous",
    "asynchronously": "synchronously",
}

PATTERNS = (
    (r"\basyncio\.run\((\w+\(.*\))\)", r"\1"),
    (r"\b(?:async|await)\s+", ""),
    (r"\b(pymongo|gridfs)\.synchronous\b", r"\1"),
    (r"\b(an|An) synchronous\b", lambda found: f"{found[1][0]} synchronous"),
)

LEFT_OVER = re.compile(r"\b(?:async|await|asyncio|Awaitable|Coroutine|Async[A-Z]\w*|async_\w+)\b")


class NotTranslatable(Exception):
    """A source uses something that has no synchronous counterpart."""


def translated_sources(pair: tuple[str, str]) -> Iterator[tuple[Path, Path]]:
    """Each source of a pair with the file it becomes, both relative to the root."""
    source_folder, target_folder = pair
    for path in sorted((ROOT / source_folder).rglob("*.py")):
        target = Path(target_folder) / path.relative_to(ROOT / source_folder)
        if target.as_posix() not in HAND_WRITTEN:
            yield path.relative_to(ROOT), target


def without_awaitables(text: str) -> str:
    """``text`` with each ``Awaitable[X]`` replaced by ``X`` and no import of the name."""
    text = re.sub(r"^(from [\w.]+ import .*?)\bAwaitable\b,? ?", r"\1", text, flags=re.MULTILINE)
    while (start := text.find("Awaitable[")) >= 0:
        inner = start + len("Awaitable[")
        depth, end = 1, inner
        while depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        text = text[:start] + text[inner : end - 1] + text[end:]
    return text


def translate(text: str, source: Path) -> str:
    """The whole text of the synchronous file, from what unasync made of ``source``; not yet formatted."""
    names = "|".join(map(re.escape, sorted(WORDS, key=len, reverse=True)))
    text = re.sub(rf"\b(?:{names})\b", lambda found: WORDS[found[0]], text)
    for pattern, replacement in PATTERNS:
        text = re.sub(pattern, replacement, text)
    text = without_awaitables(text)
    for number, line in enumerate(text.splitlines(), 1):
        if left := LEFT_OVER.search(line):
            raise NotTranslatable(f"{source}: {left[0]!r} is left near line {number}: {line.strip()}")
    header = f"# Generated by scripts/generate_sync.py from {source.as_posix()}: do not edit.\n"
    return header + text


def tidy(folder: Path, files: list[Path]) -> None:
    """Sort the imports of ``files``, drop those that became unused, and format."""
    ruff = [sys.executable, "-m", "ruff"]
    options = ["--config", str(ROOT / "pyproject.toml"), "--no-cache", "--quiet"]
    paths = list(map(str, files))
    subprocess.run(
        [*ruff, "check", *options, "--fix-only", "--select", "I,F401", *paths], cwd=folder, check=True
    )
    subprocess.run([*ruff, "format", *options, *paths], cwd=folder, check=True)


def refuse_unknown_names(text: str, source: Path) -> None:
    """Refuse ``AsyncX`` that the table does not know: unasync would invent a ``SyncX`` for it."""
    for name in re.findall(r"\bAsync[A-Z]\w*", text):
        if name not in WORDS:
            raise NotTranslatable(f"{source}: {name} has no synchronous name in WORDS")


def generate() -> dict[Path, str]:
    """The text of every generated file, by its path relative to the root."""
    result: dict[Path, str] = {}
    with tempfile.TemporaryDirectory(prefix="convostore-sync-") as name:
        folder = Path(name)
        for pair in PAIRS:
            rule = Rule(f"{folder / 'from'}/", f"{folder / 'to'}/", WORDS)
            for source, target in translated_sources(pair):
                copy, made = folder / "from" / target, folder / "to" / target
                refuse_unknown_names((ROOT / source).read_text("utf-8"), source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / source, copy)
                unasync_files([str(copy)], [rule])
                made.write_text(translate(made.read_text("utf-8"), source), "utf-8")
                result[target] = ""
        if result:
            tidy(folder, [folder / "to" / target for target in result])
        return {target: (folder / "to" / target).read_text("utf-8") for target in result}


def orphans(generated: dict[Path, str]) -> list[Path]:
    """Files on the generated side that have no source."""
    present = (path.relative_to(ROOT) for _, target in PAIRS for path in (ROOT / target).rglob("*.py"))
    return sorted(path for path in present if path not in generated and path.as_posix() not in HAND_WRITTEN)


def differences(generated: dict[Path, str]) -> list[str]:
    """A line for each file that is missing, stale, edited or orphaned."""
    found = [f"{path} has no source; delete it" for path in orphans(generated)]
    for target, text in generated.items():
        path = ROOT / target
        if not path.exists():
            found.append(f"{target} is missing")
        elif path.read_text("utf-8") != text:
            found.append(f"{target} is stale, or was edited by hand")
    return found


def write(generated: dict[Path, str]) -> None:
    """Bring the generated side up to date; orphans go."""
    for path in orphans(generated):
        (ROOT / path).unlink()
    for target, text in generated.items():
        path = ROOT / target
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when something differs")
    arguments = parser.parse_args()
    try:
        generated = generate()
    except NotTranslatable as error:
        print(error, file=sys.stderr)
        return 1
    if not arguments.check:
        write(generated)
        return 0
    found = differences(generated)
    for line in found:
        print(line, file=sys.stderr)
    if found:
        print("run: python scripts/generate_sync.py", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
