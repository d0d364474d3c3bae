"""The random attack of storage.md on the real code, and on the real code with one guard taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any

import pytest
from bson.objectid import ObjectId

from convostore.store import appending, manifest, sealing, splicing
from convostore.store.asynchronous import _reading, _removing, _sealing, _splicing
from convostore.store.asynchronous._backend import AsyncBackend
from support.attack import Schedule, arena
from support.referee import Wrong
from support.scale import scaled
from support.servers import Server

pytestmark = pytest.mark.fault

Patch = pytest.MonkeyPatch

EVENTS = (
    *("append", "replayed", "edit", "save", "update", "rebased", "ConflictError", "created", "deleted"),
    *("sealed", "merged", "log sealed", "edit of sealed messages", "save of sealed messages"),
    *(
        "steer",
        "take",
        "fenced",
        "collected",
        "read",
        "read a page",
        "lost",
        "cut",
        "late",
        "dead before",
        "dead after",
    ),
)
MOST = 150
"""Schedules within which a missing guard must show; most show in the first ten."""


@pytest.fixture(scope="module")
def database(replica_set: Server) -> Iterator[str]:
    """One for all tests: every schedule has a conversation of its own and takes it away."""
    name = token_hex(8)
    yield name
    with replica_set.client() as client:
        client.drop_database(name)


@pytest.mark.soak
async def test_no_schedule_leads_to_a_wrong_read_a_hole_or_a_double(
    replica_set: Server, database: str, monkeypatch: Patch
) -> None:
    schedules = scaled(2_000, at_least=20)
    seen: dict[str, int] = {}
    async with arena(replica_set.uri(), database, monkeypatch) as attacked:
        for seed in range(schedules):
            try:
                happened = await Schedule(attacked, seed).run()
            except Exception as error:
                pytest.fail(f"schedule {seed} of {schedules}: {error!r}")
            for what, times in happened.items():
                seen[what] = seen.get(what, 0) + times
    print(f"{schedules} schedules: {dict(sorted(seen.items()))}")
    idle = [what for what in EVENTS if seen.get(what, 0) < schedules // 40]
    assert not idle, f"the attack hardly ever did {idle}: {seen}"


def cut_without_structure(patch: Patch) -> None:
    """A seal cuts what it read although somebody edited or sealed it meanwhile."""
    real = sealing.message_cut

    def cut(*arguments: Any) -> Any:
        query, update = real(*arguments)
        return {name: value for name, value in query.items() if name != "structure"}, update

    patch.setattr(sealing, "message_cut", cut)


def cut_all_but_the_newest(patch: Patch) -> None:
    """A seal cuts to so many messages, not by so many: those appended meanwhile push others out."""
    real = sealing.message_cut

    def cut(owner: Any, head: Any, moved: int, items: Any) -> Any:
        query, _ = real(owner, head, moved, items)
        kept = head["embedded_count"] - moved
        return query, {
            "$push": {"messages": {"$each": [], "$slice": -kept}, "segments": {"$each": list(items)}},
            "$set": {"embedded_count": kept},
            "$inc": {"structure": 1, "embedded_bytes": -sum(item["b"] for item in items)},
        }

    patch.setattr(sealing, "message_cut", cut)


def segment_ids_by_position(patch: Patch) -> None:
    """A segment's id follows from where it stands, so that another writer's is taken for one's own."""
    real = manifest.segment_document

    def document(segment: Any, **facts: Any) -> Any:
        made = real(segment, **facts)
        place = f"{facts['conversation']:08x}{facts['lineage'] % 2**32:08x}{made['e'][0]['id']:08x}"
        return {**made, "_id": ObjectId(place)}

    patch.setattr(_sealing, "segment_document", document)


def collector_without_fence(patch: Patch) -> None:
    """The collector looks what is named, and does not keep writers from naming more."""
    real = AsyncBackend.modify

    async def modify(self: AsyncBackend, name: str, query: Any, *rest: Any, comment: str) -> Any:
        if comment != "collect":
            return await real(self, name, query, *rest, comment=comment)
        head = await self.find_one(name, query, comment=comment)
        return head and {**head, "structure": head["structure"] + 1}

    patch.setattr(AsyncBackend, "modify", modify)


def edit_of_the_run_without_version(patch: Patch) -> None:
    """An edit puts the embedded run back as it was read, without what was appended meanwhile."""
    real = splicing.update_for

    def update(*arguments: Any) -> Any:
        query, written = real(*arguments)
        return {name: value for name, value in query.items() if name != "version"}, written

    patch.setattr(splicing, "update_for", update)


def append_without_key_guard(patch: Patch) -> None:
    """A repeated append does not ask whether the first one was stored."""
    real = appending.command

    def command(*arguments: Any) -> Any:
        query, update = real(*arguments)
        return {name: value for name, value in query.items() if name != "log.k"}, update

    patch.setattr(appending, "command", command)
    patch.setattr(appending, "known_keys", lambda *_: appending.Known({}, 0))


def append_blind_to_sealed_keys(patch: Patch) -> None:
    """A repeated append looks for its key in the head alone."""
    real = AsyncBackend.find

    async def find(self: AsyncBackend, name: str, *rest: Any, comment: str, **options: Any) -> Any:
        if (name, comment) == ("changes", "append"):
            return []
        return await real(self, name, *rest, comment=comment, **options)

    patch.setattr(AsyncBackend, "find", find)


def delete_by_conversation(patch: Patch) -> None:
    """A delete takes the parts of the conversation that was made anew under the same id, too."""
    real = AsyncBackend.delete

    async def delete(self: AsyncBackend, name: str, query: Any, *, comment: str) -> int:
        if comment == "delete" and name in _removing.PARTS:
            query = {part: value for part, value in query.items() if part != "lin"}
        return await real(self, name, query, comment=comment)

    patch.setattr(AsyncBackend, "delete", delete)


def swap_that_believes_it_fitted(patch: Patch) -> None:
    """A merge or an edit deletes the old segments although its swap did not fit."""
    real = _sealing.swap
    facts = ("lineage", "version", "structure", "revision", "log_start")

    async def swap(*arguments: Any, **options: Any) -> Any:
        return await real(*arguments, **options) or dict.fromkeys(facts, 0)

    patch.setattr(_sealing, "swap", swap)
    patch.setattr(_splicing, "swap", swap)


def reader_takes_what_is_there(patch: Patch) -> None:
    """A reader goes on without a segment that was replaced since it read the manifest."""
    real = _splicing.read_segments

    async def read(backend: Any, owner: Any, user: str, items: list[Any], *, comment: str) -> Any:
        held = [await real(backend, owner, user, [item], comment=comment) or [] for item in items]
        return [entry for entries in held for entry in entries]

    patch.setattr(_reading, "read_segments", read)


BREAKS = [
    cut_without_structure,
    cut_all_but_the_newest,
    segment_ids_by_position,
    collector_without_fence,
    edit_of_the_run_without_version,
    append_without_key_guard,
    append_blind_to_sealed_keys,
    delete_by_conversation,
    swap_that_believes_it_fitted,
    reader_takes_what_is_there,
]


@pytest.mark.parametrize("break_it", BREAKS, ids=lambda one: one.__name__)
async def test_the_attack_finds_a_missing_guard(
    break_it: Callable[[Patch], None], replica_set: Server, database: str, monkeypatch: Patch
) -> None:
    break_it(monkeypatch)
    async with arena(replica_set.uri(), database, monkeypatch) as attacked:
        for seed in range(0, 3 * MOST, 3):  # those with deletes
            try:
                await Schedule(attacked, seed).run()
            except Wrong as error:
                print(f"found in schedule {seed}: {error!r}"[:300])
                return
    pytest.fail(f"{MOST} schedules did not show it")
