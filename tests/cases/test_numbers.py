"""Cases N: numbers at the bounds of what databases, JSON and other languages hold."""

from __future__ import annotations

import math
import random
import struct

import pytest

from convostore.schemas import Conversation, Usage
from convostore.schemas.errors import InvalidRecordError, NotFoundError, QueryError
from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.resources import Resource
from convostore.store import ALL_USERS
from support.faces import Face
from support.journeys import PLAIN, Journey, check_lines, export

one_face = pytest.mark.parametrize("face", ["sync"], indirect=True)

U64 = 2**64 - 1
AROUND = [
    sign * (2**bits + more) for bits in (31, 32, 53, 63, 64, 100) for more in (-1, 0, 1) for sign in (1, -1)
]
LONGEST = 10**4298


@one_face
def test_N01_integers_of_any_size(journey: Journey) -> None:
    journey.keeps(*({"role": "tool", "content": {"n": number}} for number in (AROUND, [LONGEST, -LONGEST])))
    journey.keeps_extra(AROUND)
    for number in (10**4300, -(10**4300), 10**20_000):
        journey.refuses({"role": "tool", "content": [number]}, ".content[0]")
    resource = Resource(name="r", size=U64, metadata={"n": AROUND})
    stored = journey.store.resources.add(resource, user=journey.user)
    assert same_json(journey.store.resources.get(stored.id, user=journey.user).metadata["n"], AROUND)
    assert stored.size == U64


@pytest.mark.parametrize("near", [2**63 - 1, 2**63, U64 - 1])
def test_N02_ids_at_the_end_of_the_range(journey: Journey, face: Face, near: int) -> None:
    store, user = journey.store, journey.user
    id = near if face.name == "sync" else near - 10  # both faces write to one database
    made = store.create(Conversation(id=id, user=user, messages=[PLAIN], child=U64, ancestors=[U64, id]))
    low = journey.new(PLAIN)
    assert made.id == id and low < 2**53, "such an id does not lift the counter"
    for number in range(8):
        store.append(id, {"role": "user", "content": str(number)}, key=str(number))
    store.append(id, {"role": "tool", "content": "x" * 100_000})
    assert store.append(id, {"role": "user", "content": "3"}, key="3").replayed
    store.edit(id, 0, {"role": "user", "content": "edited"})
    store.steer(id, "now")
    taken = store.take(id)
    store.append(id, PLAIN, took=taken.receipt)
    record = store.get(id)
    assert (record.id, record.child, record.ancestors) == (id, U64, [U64, id])
    assert record.messages[0]["content"] == "edited" and len(record.messages) == 11
    record.label = "end"
    store.save(record)
    assert [one.id for one in store.batch_get([id, low, U64 - 7], user=user)] == [low, id]
    first = store.find(user=user, limit=1)
    assert [head.id for head in first] == [id]
    assert [head.id for head in store.find(user=user, limit=1, cursor=first.cursor)] == [low]
    assert [head.id for head in store.scan(user=user)] == [low, id]
    assert store.continue_from(id).ancestors == [U64, id, id]
    assert not store.check(user=user).findings
    journey._exported()
    assert store.delete(id).segments > 0
    with pytest.raises(NotFoundError):
        store.get(id)
    assert not store.check(user=user).findings


@one_face
def test_N02_numbers_that_are_no_id(journey: Journey) -> None:
    store, id = journey.store, journey.new(PLAIN)
    for number in (-1, U64 + 1, 10**40, 1.0, True, float("nan"), "1", b"1", None, [1], {"$gt": 0}):
        for call in (
            lambda n=number: store.get(n),
            lambda n=number: store.delete(n),
            lambda n=number: store.batch_get([id, n], user=journey.user),
            lambda n=number: store.resources.get(n, user=journey.user),
            lambda n=number: (
                store.create(Conversation(user=journey.user)) and store.update(id, child=n)
                if n is not None
                else store.get(n)
            ),
        ):
            with pytest.raises(InvalidRecordError):
                call()
        for call in (
            lambda n=number: store.messages(id, limit=n),
            lambda n=number: store.find(user=ALL_USERS, limit=n),
            lambda n=number: store.delta(id, n),
        ):
            if number is True or type(number) is not int or number < 1 or number > 5000:
                with pytest.raises(QueryError):
                    call()


@one_face
def test_N03_unsigned_members_keep_their_whole_range(journey: Journey) -> None:
    store = journey.store
    for number in (2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, U64):
        usage = Usage(input_tokens=number, output_tokens=number, cached_tokens=number, requests=number)
        record = Conversation(
            user=journey.user,
            messages=[PLAIN],
            usage=usage,
            child=number,
            ancestors=[number, 0],
            created_at=number,
            updated_at=number,
            resources=[Resource(_id=number, name="r", size=number)],
        )
        id = store.create(record).id
        found = store.get(id)
        assert same_json(found.to_json_object(), record.to_json_object())
        store.append(id, PLAIN, usage=usage)
        after = store.head(id)
        assert after.usage == Usage(**{name: min(2 * number, U64) for name in usage.to_json()})
        assert after.updated_at == max(number, journey.store.head(id).updated_at) >= number
        found = store.get(id)
        found.usage = Usage(input_tokens=U64)
        store.save(found)
        assert store.head(id).usage == Usage(input_tokens=U64)
    assert [head.created_at for head in store.find(user=journey.user, since=2**63)] == [U64, 2**63]
    assert store.count(user=journey.user, until=2**63) == 4
    assert not store.check(user=journey.user).broken
    journey._exported()


@one_face
def test_N05_exports_survive_readers_of_doubles(journey: Journey) -> None:
    numbers = [2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 718293645546372819]
    journey.keeps({"role": "tool", "content": numbers})
    written = export(journey.store, journey.user).decode()
    for number in numbers:
        safe = abs(number) <= 2**53
        assert (f'"$int":"{number}"' in written) is not safe


@one_face
def test_N06_no_number_becomes_null_or_invalid(journey: Journey) -> None:
    odd = {"nan": float("nan"), "inf": [math.inf, -math.inf], "in": {"deep": {"x": float("nan")}}}
    journey.keeps({"role": "tool", "content": odd}, odd)
    journey.keeps_extra(odd)
    id = journey.new(odd, resources=[Resource(name="r", metadata=odd)])
    assert same_json(journey.store.get(id).resources[0].metadata, odd)
    check_lines(export(journey.store, journey.user))
    journey._exported()


@one_face
def test_N09_every_float_keeps_its_bits(journey: Journey) -> None:
    seeded = random.Random(9)
    floats: list[JSON] = [struct.unpack("<d", seeded.randbytes(8))[0] for _ in range(300)]
    floats += [0.0, -0.0, 1.0, -1.0, 5e-324, 2.0**63, 2.0**64, 1e16, 1e22, 1e400, 0.1 + 0.2]
    journey.keeps({"role": "tool", "content": floats})
    text = '{"a":9223372036854775808,"b":-9223372036854775809,"c":1e999,"d":1e-400,"g":-0.0,"h":1E5}'
    journey.keeps({"role": "tool", "content": text})


@one_face
def test_N10_bool_int_and_float_are_three_things(journey: Journey) -> None:
    store, id = journey.store, journey.new({"v": 1})
    for before, value in ((1, True), (True, 1.0), (1.0, 1), (1, 0), (0, False), (False, -0.0), (-0.0, 0.0)):
        assert not store.edit(id, 0, {"v": before}).changed
        assert store.edit(id, 0, {"v": value}).changed == ("messages",)
        assert same_json(store.get(id).messages, [{"v": value}])
        record = store.get(id)
        record.extra = {"v": value}
        assert store.save(record).changed == ("extra",)
        assert same_json(store.update(id, merge={"v": value}).extra, {"v": value})
    store.append(id, {"v": 1}, key="k")
    assert store.append(id, {"v": 1}, key="k").replayed
    with pytest.raises(Exception, match="other content"):
        store.append(id, {"v": True}, key="k")
