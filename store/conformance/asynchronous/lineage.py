"""Contracts on lineage: a conversation that continues another."""

from __future__ import annotations

from convostore.schemas.errors import NotFoundError
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, refused, same
from convostore.store.conformance.samples import said, series

group = Group("lineage", 181, ("lineage",))


@group.contract(0)
async def a_child_names_its_parent_and_the_parent_its_child(bench: AsyncBench) -> None:
    """The child has the parent's user and thread, ends its ancestors with the parent; the link is set."""
    parent = await bench.create(said("a"), thread="t")
    child = await bench.store.continue_from(parent.id, messages=[said("b")], label="next", extra={"x": 1})
    equal((child.user, child.thread, child.label), ("alice", "t", "next"), "the child's members")
    equal(child.ancestors, [parent.id], "its ancestors")
    found = await bench.store.get(child.id)
    same(found.messages, [said("b")], "its messages")
    equal((await bench.store.head(parent.id)).child, child.id, "the parent's child")


@group.contract(1)
async def ancestors_run_from_the_root_to_the_parent(bench: AsyncBench) -> None:
    """Along a chain each conversation names all before it in order."""
    ids = [(await bench.create()).id]
    for _ in range(3):
        ids.append((await bench.store.continue_from(ids[-1])).id)
    equal((await bench.store.get(ids[-1])).ancestors, ids[:-1], "the ancestors")


@group.contract(2)
async def the_first_child_stays_the_child(bench: AsyncBench) -> None:
    """A second continuation is a conversation of its own and does not replace the link."""
    parent = await bench.create()
    first = await bench.store.continue_from(parent.id)
    second = await bench.store.continue_from(parent.id)
    head = await bench.store.head(parent.id)
    equal((head.child, head.version), (first.id, 2), "the parent")
    equal(second.ancestors, [parent.id], "the second's ancestors")


@group.contract(3)
async def a_record_in_hand_can_be_continued(bench: AsyncBench) -> None:
    """The parent may be given as the record; a thread of its own may be given too."""
    parent = await bench.create(*series(20), thread="t")
    child = await bench.store.continue_from(parent, thread=None)
    equal((child.ancestors, child.thread), ([parent.id], None), "the child")
    other = await bench.store.continue_from(parent, thread="u")
    equal((await bench.store.get(other.id)).thread, "u", "the other's thread")
    same((await bench.store.get(parent.id)).messages, series(20), "the parent's messages")


@group.contract(4)
async def nothing_cannot_be_continued(bench: AsyncBench) -> None:
    """A parent that is not there is not found, and no child is made."""
    with refused(NotFoundError, "a parent that is not there"):
        await bench.store.continue_from(987_654)
    equal(await bench.store.count(user="alice"), 0, "the number of conversations")


@group.contract(5, "delete")
async def the_child_of_a_deleted_parent_stays(bench: AsyncBench) -> None:
    """Deleting a parent leaves the child with its ancestors as they were."""
    parent = await bench.create(said("a"))
    child = await bench.store.continue_from(parent.id, messages=[said("b")])
    await bench.store.delete(parent.id)
    found = await bench.store.get(child.id)
    equal(found.ancestors, [parent.id], "the ancestors")
    same(found.messages, [said("b")], "the messages")
