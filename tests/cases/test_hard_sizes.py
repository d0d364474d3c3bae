"""Hard inputs: what is larger than a document of MongoDB, or deeper. Nothing here has a ceiling of 16 MB."""

from __future__ import annotations

from typing import Any

import pytest

from convostore.schemas import Conversation
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON, same_json
from support.command_log import CommandLog
from support.faces import Face, SyncFace
from support.hard_inputs import Row
from support.journeys import PLAIN, Journey, check_lines, export
from support.scale import SCALE
from support.servers import Server

pytestmark = pytest.mark.shared


@pytest.fixture
def roomy(face: Face, journey: Journey, databases: tuple[str, str]) -> Journey:
    """The journey with stores of ordinary bounds."""
    journey.store = face.open(databases[0], timeout=300)
    journey.target = face.open(databases[1], timeout=300)
    return journey


def part_of(row: Row, face: Face, at_least: int) -> list[JSON]:
    """The row's messages: all of them once, on the synchronous face; so many by the scale on the other."""
    messages: list[JSON] = row.value
    if isinstance(face, SyncFace):
        return messages
    return messages[: max(at_least, round(len(messages) * SCALE))]


def goes_there_and_back(journey: Journey, messages: list[JSON]) -> int:
    """All in one append; read whole, by pages at both ends and in the middle, and edited."""
    store, id = journey.store, journey.new()
    assert store.append(id, messages).ids == tuple(range(len(messages)))
    assert store.get(id).messages == messages
    for place in sorted({0, len(messages) // 2, len(messages) - 1}):
        for message in (PLAIN, messages[place]):
            store.edit(id, place, message)
            assert message_at(store, id, place) == message
    store.append(id, PLAIN)
    assert store.head(id).message_count == len(messages) + 1
    assert store.delta(id, len(messages) - 1).messages == [messages[-1], PLAIN]
    return id


def message_at(store: Any, id: int, place: int) -> JSON:
    """The message at that place, read by a page of its own."""
    page = store.messages(id, limit=1, **({"after": place - 1} if place else {"before": 1}))
    return page.items[0].message


def goes_out_and_in(journey: Journey, messages: list[JSON]) -> None:
    """Some of them through the canonical format."""
    id = journey.new(*messages)
    written = export(journey.store, journey.user)
    check_lines(written)
    journey.target.import_conversations(written)
    assert journey.target.get(id).messages == messages
    assert export(journey.target, journey.user) == written


def test_HI_001_many_messages(row: Row, roomy: Journey, face: Face, replica_set: Server) -> None:
    small = roomy.new(*row.value[:100])
    large = goes_there_and_back(roomy, part_of(row, face, 1000))
    # The last page costs the same whatever the length: as many commands, as many documents.
    assert roomy.store.messages(large).cursor is not None
    log = CommandLog()
    watched = type(face)(replica_set.uri(), event_listeners=[log])  # type: ignore[call-arg]
    store, costs = watched.open(roomy.database), []
    for id in (small, large):
        store.messages(id)
        log.clear()
        assert len(store.messages(id)) == 50
        costs.append(log.names)
    watched.close()
    assert costs[0] == costs[1] == ["find"]
    roomy.store.delete(large)
    roomy.store.delete(small)
    goes_out_and_in(roomy, row.value[:500])


def test_HI_002_inline_image_over_limit(row: Row, roomy: Journey, face: Face) -> None:
    id = roomy.new(PLAIN)
    roomy.store.append(id, [row.value, PLAIN])
    assert roomy.store.get(id).messages == [PLAIN, row.value, PLAIN]
    roomy.store.edit(id, 0, row.value)
    assert roomy.store.messages(id, limit=3).items[0].message == row.value
    roomy.store.edit(id, 0, PLAIN)
    assert roomy.store.head(id).message_bytes < 2000, "large messages lie apart"
    roomy.store.delete(id)
    if isinstance(face, SyncFace):
        goes_out_and_in(roomy, [row.value])


def test_HI_003_just_under_limit_plus_metadata(row: Row, roomy: Journey) -> None:
    goes_there_and_back(roomy, [PLAIN, row.value, PLAIN])


def test_HI_004_exactly_16MiB_text(row: Row, roomy: Journey) -> None:
    goes_there_and_back(roomy, [PLAIN, row.value, PLAIN])


def test_HI_005_batch_with_one_oversize(row: Row, roomy: Journey) -> None:
    # Too large for a document, not for a message: all three are stored.
    goes_there_and_back(roomy, row.value)


def test_HI_007_batch_150k(row: Row, roomy: Journey, face: Face) -> None:
    messages = row.value[: max(20_000 if isinstance(face, SyncFace) else 5000, round(150_000 * SCALE))]
    store, id = roomy.store, roomy.new()
    assert store.append(id, messages).ids == tuple(range(len(messages)))
    assert store.get(id).messages == messages
    first = store.append(id, messages[:3000], key="batch")
    assert store.append(id, messages[:3000], key="batch").ids == first.ids, "a repeat adds nothing"
    assert store.head(id).message_count == len(messages) + 3000
    store.delete(id)


def test_HI_008_batch_8x9MB(row: Row, roomy: Journey, face: Face) -> None:
    id = goes_there_and_back(roomy, part_of(row, face, 3))
    roomy.store.delete(id)


def test_HI_010_session_120MB(row: Row, roomy: Journey, face: Face) -> None:
    messages = part_of(row, face, 40)
    store, id = roomy.store, roomy.new()
    store.append(id, messages)
    assert store.get(id).messages == messages
    places = [entry.id for entry in store.entries(id)]
    assert places == list(range(len(messages)))
    assert [entry.message for entry in store.messages(id, limit=3, before=20)] == messages[17:20]
    store.delete(id)
    goes_out_and_in(roomy, messages[:4])


def test_HI_011_utf8_size_not_length(row: Row, roomy: Journey) -> None:
    goes_there_and_back(roomy, [row.value])


def test_HI_037_depth_100(row: Row, journey: Journey) -> None:
    journey.keeps(row.value, {"role": "tool", "tool_call_id": "c", "content": row.value})
    journey.keeps_extra(row.value)


def test_HI_038_depth_178_to_181(row: Row, journey: Journey) -> None:
    journey.keeps(*({"role": "tool", "tool_call_id": "c", "content": payload} for payload in row.value))
    journey.keeps_extra(row.value)


def test_HI_039_depth_2000(row: Row, journey: Journey) -> None:
    journey.refuses({"role": "tool", "tool_call_id": "c", "content": row.value}, ".content")
    journey.refuses_extra(row.value)
    id = journey.new(PLAIN)
    for call in (
        lambda: journey.store.append(id, row.value),
        lambda: journey.store.create(Conversation(user=journey.user), unknown={"deep": row.value}),
    ):
        with pytest.raises(InvalidRecordError, match="deep"):
            call()
    assert same_json(journey.store.get(id).messages, [PLAIN])
