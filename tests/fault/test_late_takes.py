"""Takes whose reply is lost, or whose command arrives late: nothing is taken that nobody was told of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pymongo import MongoClient, common

from convostore.schemas.conversations import Conversation
from convostore.store import ConversationStore
from support.proxy import Proxy
from support.servers import Server

pytestmark = pytest.mark.fault


@dataclass
class Setting:
    """A conversation, a store that reaches it through the proxy and one that goes there directly."""

    proxy: Proxy
    store: ConversationStore
    quiet: ConversationStore
    id: int


@pytest.fixture
def setting(server: Server, database_name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setting]:
    monkeypatch.setattr(common, "MIN_HEARTBEAT_INTERVAL", 0.005)
    with (
        Proxy(server.port) as proxy,
        MongoClient[dict[str, Any]](server.uri(port=proxy.port, serverMonitoringMode="poll")) as client,
        MongoClient[dict[str, Any]](server.uri(direct=True)) as direct,
    ):
        quiet = ConversationStore(direct[database_name])
        quiet.setup()
        id = quiet.create(Conversation(user="alice")).id
        yield Setting(proxy, ConversationStore(client[database_name]), quiet, id)


def use_up(setting: Setting) -> tuple[str, ...]:
    """Take what is queued and store what it became."""
    took = setting.quiet.take(setting.id)
    setting.quiet.append(setting.id, {"role": "user", "content": "became"}, took=took.receipt)
    return took.steering


@pytest.mark.parametrize("lease_ms", [0, 60_000])
def test_a_take_that_arrives_late_takes_nothing(setting: Setting, lease_ms: int) -> None:
    quiet, id = setting.quiet, setting.id
    quiet.steer(id, "first")
    held = setting.proxy.hold("findAndModify", comment="take")
    took = setting.store.take(id, lease_ms=lease_ms)
    assert took.steering == ("first",) and held.met == 1
    if lease_ms:
        quiet.append(id, {"role": "user", "content": "became"}, took=took.receipt)
    quiet.steer(id, "second")
    assert use_up(setting) == ("second",)
    quiet.steer(id, "third")
    (answer,) = held.deliver_held()
    assert answer["ok"] and answer["value"] is None
    assert quiet.take(id).steering == ("third",)


def test_a_take_whose_lease_lapsed_before_its_repeat_takes_again(setting: Setting) -> None:
    """The first try was applied, nobody was told, others took and gave back: the texts are free."""
    quiet, id = setting.quiet, setting.id
    quiet.steer(id, "first")

    def lapse() -> None:
        lease = quiet.head(id)
        assert lease.steering_messages == ("first",)
        late = ConversationStore(quiet._backend.database, clock=lambda: 2**45)  # type: ignore[union-attr]
        took = late.take(id)
        late.give_back(id, took.receipt or "")

    setting.proxy.lose_reply("findAndModify", comment="take", then=lapse)
    took = setting.store.take(id, key="its key")
    assert took.steering == ("first",)
    assert quiet.append(id, {"role": "user", "content": "became"}, took=took.receipt).ids == (0,)


@pytest.mark.parametrize("lost", [0, 1])
def test_texts_taken_for_good_are_told_although_another_takes_meanwhile(setting: Setting, lost: int) -> None:
    """Either of the two commands loses its reply."""
    quiet, id = setting.quiet, setting.id
    quiet.steer(id, "first")
    others: list[str] = []

    def take_too() -> None:
        others.extend(quiet.take(id, lease_ms=0).steering)

    setting.proxy.lose_reply("findAndModify", comment="take", skip=lost, then=take_too)
    took = setting.store.take(id, lease_ms=0)
    assert (took.steering, took.lease_until) == (("first",), None)
    assert not others and not quiet.take(id)
