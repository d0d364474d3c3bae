"""Whether a session store keeps its contract (``spec/rig.md`` 7.5), asked of two handles to one storage.

Not checked: that an append survives a power cut, and writers in other processes, which two handles stand for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from convostore.schemas.errors import ConflictError, InvalidRecordError, NotFoundError
from convostore.store.asynchronous.sessions.stores import AsyncSessionStore
from convostore.store.conformance.asynchronous._together import together
from convostore.store.session_checks import SessionCheck, SessionReport

__all__ = ["check_session_store"]

_BAD_LOGS: Final = ("", ".", "..", ".hidden", "a/b", "../a", "a\\b", "a\0b", "a\n", " a", "x" * 300, None)
_BAD_FILES: Final = ("", "/a", "a/", "a//b", "../a", "a/../b", "a/./b", "a\\b", "a\0b", ".a", "b/.a", None)
_ROUNDS: Final = 20

_Check: TypeAlias = Callable[[AsyncSessionStore, AsyncSessionStore], Awaitable[None]]


class _Violated(Exception):
    """A check was not kept; the text is what was found."""


async def check_session_store(one: AsyncSessionStore, two: AsyncSessionStore) -> SessionReport:
    """Check two handles to the same storage, which must be empty, and is again at the end.

    Raises:
        ValueError: it is not empty.

    """
    if not await _is_empty(one):
        raise ValueError("the storage to be checked must be empty")
    report = SessionReport()
    for name, check in _CHECKS.items():
        try:
            await check(one, two)
            violation = None
        except _Violated as found:
            violation = str(found)
        except Exception as error:
            violation = f"{type(error).__name__}: {error}"
        report.checks.append(SessionCheck(name, violation))
        await one.destroy()
    return report


async def _is_empty(store: AsyncSessionStore) -> bool:
    return not list(await store.logs()) and not list(await store.files())


def _expect(kept: bool, found: str) -> None:
    if not kept:
        raise _Violated(found)


async def _raises(kind: type[Exception], call: Callable[[], Awaitable[Any]], what: str) -> None:
    try:
        await call()
    except kind:
        return
    raise _Violated(f"{what} is not {kind.__name__}")


async def _missing(one: AsyncSessionStore, two: AsyncSessionStore) -> None:
    _expect(await _is_empty(one), "an empty storage lists something")
    await _raises(NotFoundError, lambda: one.read_log("none"), "reading a log that is not there")
    await _raises(NotFoundError, lambda: one.read_file("none"), "reading a file that is not there")
    await one.remove_file("none")


async def _length(one: AsyncSessionStore, two: AsyncSessionStore) -> None:
    await _raises(ConflictError, lambda: one.append_log("a", 3, b"x\n"), "appending at 3 to no log")
    await _raises(ConflictError, lambda: one.replace_log("a", 3, b"x\n"), "replacing 3 bytes of no log")
    _expect(list(await one.logs()) == [], "a refused append left a log")
    await one.append_log("a", 0, b"0123456789")
    for length in (0, 9, 11):
        for call in (one.append_log, one.replace_log):
            await _refused(call, length)
    _expect(await one.read_log("a") == b"0123456789", "a refused write changed the log")
    await one.append_log("a", 10, b"\x00\xff\n")
    _expect(await one.read_log("a") == b"0123456789\x00\xff\n", "an append gave other bytes")
    await one.replace_log("a", 13, b"new\n")
    _expect(await one.read_log("a") == b"new\n", "a replacement gave other bytes")
    await one.append_log("a", 4, b"more\n")
    _expect(await one.read_log("a") == b"new\nmore\n", "an append after a replacement gave other bytes")


async def _refused(call: Callable[[str, int, bytes], Awaitable[None]], length: int) -> None:
    await _raises(ConflictError, lambda: call("a", length, b"x"), f"writing at {length} to a log of 10 bytes")


async def _names(one: AsyncSessionStore, two: AsyncSessionStore) -> None:
    for name in _BAD_LOGS:
        await _refuses_log(one, name)
    for name in _BAD_FILES:
        await _refuses_file(one, name)
    _expect(await _is_empty(one), "a refused name was written")


async def _refuses_log(store: AsyncSessionStore, name: Any) -> None:
    what = f"the log name {name!a:.40}"
    await _raises(InvalidRecordError, lambda: store.read_log(name), what)
    await _raises(InvalidRecordError, lambda: store.append_log(name, 0, b"x"), what)
    await _raises(InvalidRecordError, lambda: store.replace_log(name, 0, b"x"), what)


async def _refuses_file(store: AsyncSessionStore, name: Any) -> None:
    what = f"the file name {name!a:.40}"
    await _raises(InvalidRecordError, lambda: store.read_file(name), what)
    await _raises(InvalidRecordError, lambda: store.write_file(name, b"x"), what)
    await _raises(InvalidRecordError, lambda: store.remove_file(name), what)


async def _race(one: AsyncSessionStore, two: AsyncSessionStore) -> None:
    held = b""
    for number in range(_ROUNDS):
        texts = [f"{number} {handle}\n".encode() for handle in ("one", "two")]
        outcomes = await together(
            [_appending(store, len(held), text) for store, text in zip((one, two), texts, strict=True)]
        )
        won = [text for text, outcome in zip(texts, outcomes, strict=True) if outcome is None]
        lost = [outcome for outcome in outcomes if outcome is not None]
        _expect(len(won) == 1, f"of two writers at one length {len(won)} succeeded: {outcomes}")
        _expect(isinstance(lost[0], ConflictError), f"the loser was told {lost[0]!r}")
        held += won[0]
        _expect(await one.read_log("a") == held, "the log is not what the winners wrote")
        _expect(await two.read_log("a") == held, "the other handle reads something else")


def _appending(store: AsyncSessionStore, length: int, data: bytes) -> Callable[[], Awaitable[None]]:
    return lambda: store.append_log("a", length, data)


async def _shared(one: AsyncSessionStore, two: AsyncSessionStore) -> None:
    await one.append_log("a", 0, b"one\n")
    await two.append_log("b", 0, b"two\n")
    await one.write_file("x/y.json", b"{}")
    for store in (one, two):
        _expect(sorted(await store.logs()) == ["a", "b"], "a handle does not list the other's log")
        _expect(await store.read_log("a") + await store.read_log("b") == b"one\ntwo\n", "logs differ")
        _expect(await store.read_file("x/y.json") == b"{}", "files differ")
    await two.append_log("a", 4, b"more\n")
    _expect(await one.read_log("a") == b"one\nmore\n", "a handle does not see the other's append")


async def _files(one: AsyncSessionStore, two: AsyncSessionStore) -> None:
    for name, data in (("meta.json", b""), ("blobs/a.png", bytes(range(256))), ("blobs/b/c", b"c")):
        await one.write_file(name, data)
        _expect(await two.read_file(name) == data, f"the file {name} has other bytes")
    _expect(sorted(await two.files()) == ["blobs/a.png", "blobs/b/c", "meta.json"], "files are not listed")
    await two.write_file("meta.json", b"new")
    _expect(await one.read_file("meta.json") == b"new", "a file was not replaced")
    await one.remove_file("blobs/a.png")
    await _raises(NotFoundError, lambda: two.read_file("blobs/a.png"), "reading a file that was removed")
    await _raises(NotFoundError, lambda: two.read_file("blobs"), "reading a folder")


async def _large(one: AsyncSessionStore, two: AsyncSessionStore) -> None:
    line = b"0123456789abcdef" * 40_000
    for number in range(8):
        await (one, two)[number % 2].append_log("a", number * len(line), line)
    await one.append_log("a", 8 * len(line), b"end\n")
    _expect(await two.read_log("a") == line * 8 + b"end\n", "a log of 5 MB has other bytes")
    await two.write_file("big", line * 8)
    _expect(await one.read_file("big") == line * 8, "a file of 5 MB has other bytes")


async def _destroyed(one: AsyncSessionStore, two: AsyncSessionStore) -> None:
    await one.append_log("a", 0, b"x\n")
    await one.write_file("f", b"x")
    await two.destroy()
    _expect(await _is_empty(one), "something was left")
    await one.append_log("a", 0, b"again\n")
    _expect(await two.read_log("a") == b"again\n", "a session cannot be begun again")
    await one.destroy()
    await one.destroy()


_CHECKS: Final[dict[str, _Check]] = {
    "what is not there is not found": _missing,
    "a write names the length it read": _length,
    "bad names are refused": _names,
    "of two writers one wins": _race,
    "what one handle writes the other reads": _shared,
    "files are written, listed, replaced, removed": _files,
    "large logs and files come back": _large,
    "a destroyed session is gone": _destroyed,
}
