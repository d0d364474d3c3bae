"""Cases X and Q: indexes, expiry, queries, long reads, ids that look like others."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas import Conversation
from convostore.schemas.entries import Source
from convostore.schemas.errors import ConflictError
from convostore.schemas.json_values import JSON, same_json
from convostore.store.indexes import INDEXES
from support import killed_clients
from support.command_log import CommandLog
from support.faces import SyncFace
from support.journeys import PARTS, PLAIN, Clock, Journey, export
from support.scale import SCALE
from support.servers import Server

pytestmark = pytest.mark.parametrize("face", ["sync"], indirect=True)

DAY = 86_400_000
Raw = MongoClient[dict[str, Any]]


def test_X02_optional_identities_never_clash_when_absent(journey: Journey) -> None:
    store, user = journey.store, journey.user
    for _ in range(3):
        store.append(journey.new(PLAIN), PLAIN)
    source = Source("test", "one")
    first = store.create(Conversation(user=user), source=source)
    with pytest.raises(ConflictError) as refused:
        store.create(Conversation(user=user), source=source)
    assert (refused.value.field, refused.value.actual) == ("source", first.id)
    other = store.create(Conversation(user=f"{user} too"), source=source)
    assert store.create(Conversation(user=user), source=Source("other", "one")).id
    store.delete(other.id)


def test_X03_language_is_a_word_like_any_other(
    journey: Journey, raw: Raw, databases: tuple[str, str]
) -> None:
    values: list[JSON] = ["typescript", "en-US", "mn", 5, None, [], {"language": "x"}, "none", "", "english"]
    journey.keeps(*({"role": "user", "content": "x", "language": value} for value in values))
    journey.keeps_extra({"language": "mn", "parts": [{"language": value} for value in values]})
    for name in raw[databases[0]].list_collection_names():
        for index in raw[databases[0]][name].list_indexes():
            assert "text" not in index["key"].values() and "textIndexVersion" not in index


def test_X04_a_conversation_expires_whole_or_not_at_all(journey: Journey, clock: Clock) -> None:
    store, user, start = journey.store, journey.user, clock.now
    long = journey.new(PLAIN, status="completed")
    for _ in range(10):
        clock.advance(3 * DAY)
        store.append(long, {"role": "tool", "content": "x" * 70_000})
    idle = journey.new(PLAIN, status="completed", created_at=start, updated_at=start)
    waiting = journey.new(PLAIN, created_at=start, updated_at=start)
    before = clock.now - 20 * DAY
    assert store.delete_expired(before, user=f"{user}, not", by="updated") == 0
    assert store.delete_expired(before, user=user, by="updated") == 1, "the one that is not in use"
    assert len(store.get(long).messages) == 11 and store.get(waiting).messages == [PLAIN]
    assert store.delete_expired(before, user=user) == 1, "by its creation the long one goes too, with all"
    assert [head.id for head in store.scan(user=user)] == [waiting]
    left = {name: len(documents) for name, documents in journey.stored().items()}
    assert left == {**dict.fromkeys(PARTS, 0), "conversations": 1}
    assert idle != waiting


@pytest.mark.fault
def test_X07_eight_processes_set_up_at_once(
    journey: Journey, replica_set: Server, raw: Raw, database_name: str
) -> None:
    killed_clients.in_processes(8, killed_clients.set_up, replica_set.uri(), database_name)
    own = SyncFace(replica_set.uri())
    store = own.open(database_name)
    assert not store.setup(), "nothing is left to do"
    assert store.count(user="user 7") == 1
    own.close()
    for name, wanted in INDEXES.items():
        made = {index["name"] for index in raw[database_name][name].list_indexes()}
        assert made == {"_id_", *(index["name"] for index in wanted)}


def test_X08_text_of_any_length_and_script_is_indexed(journey: Journey) -> None:
    labels = ["x" * 5000, "\u4f60" * 50_000, "\u0645\u0631\u062d\u0628\u0627", "STRASSE", "stra\u00dfe"]
    labels += ["I\u0307stanbul", "istanbul", "\u00c9", "E\u0301", " a", "a ", "A", "a"]
    ids = [journey.new({"role": "user", "content": label}, label=label) for label in labels]
    for id, label in zip(ids, labels, strict=True):
        found = journey.store.find(user=journey.user, label=label)
        assert [head.id for head in found] == [id], "compared letter by letter, nothing folded"


def test_Q01_every_list_is_an_index_and_no_sort(
    journey: Journey, replica_set: Server, raw: Raw, databases: tuple[str, str]
) -> None:
    for number in range(30):
        journey.new(PLAIN, label=f"l{number % 3}", thread=f"t{number % 5}")
    log = CommandLog()
    own = SyncFace(replica_set.uri(), event_listeners=[log])
    store, user = own.open(databases[0]), journey.user
    choices: list[list[dict[str, Any]]] = [
        [{}, {"thread": "t1"}],
        [{}, {"status": "submitted"}, {"status": ["submitted", "idle", "failed"]}],
        [{}, {"label": "l1"}],
        [{}, {"since": 0}, {"since": 5, "until": 2**52}, {"until": 2**52}],
    ]
    first = store.find(user=user, limit=2)
    for chosen in itertools.product(*choices):
        conditions = {name: value for one in chosen for name, value in one.items()}
        store.find(user=user, limit=5, **conditions)
        store.find(user=user, limit=5, cursor=first.cursor, **conditions)
        list(store.scan(user=user, **conditions))
    long = journey.new(*[PLAIN] * 20)
    store.get(long)
    store.messages(long, limit=2, before=5)
    store.batch_get([long], user=user)
    store.head(long)
    own.close()
    database, seen = raw[databases[0]], 0
    for sent in log.sent:
        if sent.name != "find":
            continue
        asked = {
            name: value
            for name, value in sent.command.items()
            if name in ("find", "filter", "sort", "projection", "limit")
        }
        plan = database.command("explain", asked, verbosity="queryPlanner")["queryPlanner"]["winningPlan"]
        stages = {stage for stage, _ in _stages(plan)}
        assert "COLLSCAN" not in stages and "SORT" not in stages, (asked, plan)
        seen += 1
    assert seen > 100


def _stages(plan: Any) -> list[tuple[str, Any]]:
    if isinstance(plan, list):
        return [found for part in plan for found in _stages(part)]
    if not isinstance(plan, dict):
        return []
    own = [(plan["stage"], plan)] if isinstance(plan.get("stage"), str) else []
    return own + [found for part in plan.values() for found in _stages(part)]


def test_Q02_a_slow_consumer_loses_and_doubles_nothing(journey: Journey, raw: Raw) -> None:
    store, ids = journey.store, []
    for number in range(230):
        ids.append(journey.new(PLAIN, label=str(number)))
    long = journey.new(*({"role": "user", "content": str(number)} for number in range(1200)))

    def interrupt() -> None:
        # What a pause of over 30 minutes does: the server's sessions, and the cursors in them, are gone.
        raw.admin.command("killAllSessions", [])

    seen = []
    for number, head in enumerate(store.scan(user=journey.user)):
        if number % 100 == 99:
            interrupt()
        seen.append(head.id)
    assert seen == [*ids, long]
    entries = []
    for number, entry in enumerate(store.entries(long)):
        if number % 400 == 399:
            interrupt()
        entries.append(entry.id)
    assert entries == list(range(1200))
    whole = export(store, journey.user)
    pieces: list[bytes] = []

    def write(piece: bytes) -> None:
        if len(pieces) % 50 == 49:
            interrupt()
        pieces.append(piece)

    store.export_conversations(write, user=journey.user)
    assert b"".join(pieces) == whole


@pytest.mark.fault
def test_Q03_an_export_takes_no_memory_for_what_it_writes(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    size = max(16_000, round(200_000 * SCALE))
    for start in range(0, size, 4000):
        journey.store.append(
            journey.new(status="completed"),
            [{"role": "user", "content": f"{start + number} ".ljust(5000, "x")} for number in range(4000)],
        )
    assert (
        killed_clients.grown_by(killed_clients.export, replica_set.uri(), databases[0], journey.user) < 55
    ), "MB, where the export has 80 MB and more"


def test_Q06_ids_are_opaque_and_find_only_themselves(journey: Journey) -> None:
    store = journey.store
    texts = [
        "507f1f77bcf86cd799439011",
        "1",
        "01",
        "1.0",
        "a/b?c#d",
        "a b",
        "a b ",
        " a b",
        "\u00c9",
        "E\u0301",
    ]
    texts += ["null", "true", "$ne", "a.b", "A", "a", "*", "%", "\u200b", "x" * 256]
    made = {text: store.create(Conversation(user=f"Q06 {text}"[:256], thread=text)).id for text in texts}
    for text, id in made.items():
        user = f"Q06 {text}"[:256]
        assert [head.id for head in store.find(user=user)] == [id]
        assert [head.id for head in store.find(user=user, thread=text)] == [id]
        assert same_json([store.get(id, user=user).thread], [text])
        assert not store.batch_get([id], user=journey.user)
        store.delete(id, user=user)
