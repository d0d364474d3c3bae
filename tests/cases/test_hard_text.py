"""Hard inputs: text that UTF-8 cannot hold, that looks empty, or that gets cut elsewhere."""

from __future__ import annotations

import pytest

from convostore.schemas import Conversation
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import same_json
from support.hard_inputs import Row
from support.journeys import PLAIN, Journey, export

pytestmark = pytest.mark.shared


def test_HI_051_lone_high_surrogate(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    journey.keeps_extra(row.value)


def test_HI_052_lone_low_surrogate_in_args(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_053_surrogate_in_key(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    journey.keeps_extra(row.value)


def test_HI_054_surrogateescape_bytes(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_055_surrogate_in_title_and_ids(row: Row, journey: Journey) -> None:
    title, id_text = row.value[0]["title"], row.value[1]["session"]
    store, id = journey.store, journey.new(PLAIN)
    with journey.nothing_written():
        for call in (
            lambda: store.update(id, label=title),
            lambda: store.update(id, thread=title),
            lambda: store.update(id, failed_reason=title),
            lambda: store.set_status(id, "failed", reason=title),
            lambda: store.stop(id, reason=title),
            lambda: store.steer(id, title),
            lambda: store.follow_up(id, title),
            lambda: store.steer(id, "go on", key=title),
            lambda: store.append(id, PLAIN, key=title),
            lambda: store.append(id, PLAIN, keys=[title]),
            lambda: store.append(id, PLAIN, dialect=title),
            lambda: store.append(id, PLAIN, author={"kind": "agent", "from": title}),
            lambda: store.continue_from(id, label=title),
            lambda: store.find(user=journey.user, label=title),
            lambda: store.get(id, user=id_text),
            lambda: store.get(id_text),
            lambda: store.append(id_text, row.value[1]["message"]),
        ):
            with pytest.raises(InvalidRecordError):
                call()
    with pytest.raises(ValueError, match="surrogate"):
        Conversation(user=id_text)
    journey.keeps_extra({"title": title})
    assert store.get(id).messages == [PLAIN]


def test_HI_056_split_pair_over_deltas(row: Row, journey: Journey) -> None:
    id = journey.new(PLAIN)
    streamed = journey.store.append(id, {"role": "assistant", "content": row.value[0]}, unfinished=True).ids[
        0
    ]
    assert same_json(journey.store.get(id).messages[1]["content"], row.value[0])
    journey.store.edit(id, streamed, {"role": "assistant", "content": "".join(row.value)}, finished=True)
    assert same_json(journey.store.get(id).messages[1]["content"], "a\U0001f600b")
    journey.keeps(*({"role": "assistant", "content": delta} for delta in row.value))


def test_HI_057_escaped_emoji_in_arguments(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)


def test_HI_058_title_cut_points(row: Row, journey: Journey) -> None:
    ids = [journey.new(PLAIN, label=title, extra={"title": title}) for title in row.value]
    for id, title in zip(ids, row.value, strict=True):
        record = journey.store.get(id)
        assert same_json([record.label, record.extra["title"]], [title, title]), "nothing cuts a title"
        assert [head.id for head in journey.store.find(user=journey.user, label=title)] == [id]
        assert journey.store.update(id, label=title + "\u20ac").label == title + "\u20ac"


def test_HI_061_nul_in_text(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    id = journey.new(PLAIN, label="a\0b")
    assert [head.id for head in journey.store.find(user=journey.user, label="a\0b")] == [id]
    assert not journey.store.find(user=journey.user, label="a").items


def test_HI_062_odd_spaces_and_newlines(row: Row, journey: Journey) -> None:
    journey.keeps(row.value)
    written = export(journey.store, journey.user)
    assert written.count(b"\n") == len(written.decode().splitlines()), "one record, one line"


def test_HI_063_empty_and_blank_texts(row: Row, journey: Journey) -> None:
    messages = [step["message"] for step in row.value if step["do"] == "append"]
    searched = [step["text"] for step in row.value if step["do"] == "search"]
    id = journey.new()
    for message in messages:
        journey.store.append(id, message)
    assert same_json(journey.store.get(id).messages, messages)
    for text in searched:
        assert journey.store.find(user=journey.user, label=text).items == ()
        with pytest.raises(InvalidRecordError, match="blank"):
            journey.store.steer(id, text)
    journey.keeps(*messages)
