"""A TCP proxy in front of a mongod that loses, on demand, single requests or their replies.

It reads the wire protocol message by message, so a rule can name a command, a comment and an occurrence.
Connect with ``directConnection=true`` (``server.uri(port=proxy.port)``), or the driver goes round it.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

import bson
from bson.raw_bson import RawBSONDocument

from support.command_log import HOUSEKEEPING

_HEADER = struct.Struct("<iiii")
_OP_MSG = 2013
_PATIENCE_SECONDS = 60.0

Effect = Literal["cut", "hold", "lose"]


@dataclass
class Rule:
    """What happens to requests that match, see :class:`Proxy`; ``met`` counts those it happened to."""

    effect: Effect
    command: str | None
    comment: str | None
    skip: int
    times: int
    then: Callable[[], None]
    met: int = 0
    _seen: int = 0
    _held: list[tuple[socket.socket, bytes]] = field(default_factory=list)
    _answers: queue.Queue[dict[str, Any]] = field(default_factory=queue.Queue)

    def takes(self, request: Mapping[str, Any]) -> bool:
        """Whether this request is one to be met; every call counts as an occurrence."""
        name = next(iter(request))
        if name in HOUSEKEEPING or (self.command is not None and name != self.command):
            return False
        if self.comment is not None and self.comment not in str(request.get("comment", "")):
            return False
        self._seen += 1
        if not self.skip < self._seen <= self.skip + self.times:
            return False
        self.met += 1
        return True

    def deliver_held(self) -> list[dict[str, Any]]:
        """Deliver what was held back, over the connections it came from; what the server answers."""
        answers = []
        while self._held:
            server, message = self._held.pop(0)
            server.sendall(message)
            answers.append(self._answers.get(timeout=_PATIENCE_SECONDS))
            _hang_up(server)
        return answers


class Proxy:
    """Forwards between its ``port`` and the port ``target``; a context manager.

    A rule applies to requests named ``command`` (to any but the driver's housekeeping when it is None) whose
    ``comment`` contains the text given; the first ``skip`` of them pass, the next ``times`` are met. ``then``
    is called, the client still waiting, just before a request is dropped or just after a reply that will be.
    ``passed`` are the names of the commands that were delivered.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.passed: list[str] = []
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def cut(self, command: str | None = None, **options: Any) -> Rule:
        """Close the connection instead of delivering the request: it never ran."""
        return self._add("cut", command, **options)

    def lose_reply(self, command: str | None = None, **options: Any) -> Rule:
        """Deliver the request, wait for the answer, and close the connection instead of passing it on."""
        return self._add("lose", command, **options)

    def hold(self, command: str | None = None, **options: Any) -> Rule:
        """Close the client's connection and keep the request for :meth:`Rule.deliver_held`, as a late one."""
        return self._add("hold", command, **options)

    def clear(self) -> None:
        """Take all rules away."""
        with self._lock:
            self._rules.clear()

    def __enter__(self) -> Proxy:
        self._spawn(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _hang_up(self._listener)
        with self._lock:
            for one in self._sockets:
                _hang_up(one)
        for thread in self._threads:
            thread.join(_PATIENCE_SECONDS)
            assert not thread.is_alive(), "a thread of the proxy does not end"
        self._listener.close()

    def _add(
        self,
        effect: Effect,
        command: str | None,
        *,
        comment: str | None = None,
        skip: int = 0,
        times: int = 1,
        then: Callable[[], None] = lambda: None,
    ) -> Rule:
        rule = Rule(effect, command, comment, skip, times, then)
        with self._lock:
            self._rules.append(rule)
        return rule

    def _rule_for(self, request: Mapping[str, Any]) -> Rule | None:
        with self._lock:
            rule = next((rule for rule in self._rules if rule.takes(request)), None)
            name = next(iter(request))
            if name not in HOUSEKEEPING and (rule is None or rule.effect == "lose"):
                self.passed.append(name)
            return rule

    def _spawn(self, run: Callable[..., None], *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._spawn(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        """One connection: requests in this thread, replies in another, until either side hangs up."""
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        with self._lock:
            self._sockets |= {client, server}
        marked: dict[int, Rule] = {}
        replies = self._spawn(self._pass_replies, server, client, marked)
        kept = False
        with contextlib.suppress(OSError):
            kept = self._pass_requests(client, server, marked)
        _hang_up(client)
        if not kept:
            _hang_up(server)
        replies.join()
        with self._lock:
            self._sockets -= {client, server}
        client.close()
        server.close()

    def _pass_requests(self, client: socket.socket, server: socket.socket, marked: dict[int, Rule]) -> bool:
        """Deliver until the client hangs up or a rule ends it; whether the server's side stays open."""
        for message in _messages(client):
            _, request_id, _, operation = _HEADER.unpack_from(message)
            rule = self._rule_for(_body(message)) if operation == _OP_MSG else None
            if rule is None:
                server.sendall(message)
                continue
            if rule.effect == "lose":
                marked[request_id] = rule
                server.sendall(message)
                continue
            rule.then()
            if rule.effect == "hold":
                marked[request_id] = rule
                rule._held.append((server, message))
            return rule.effect == "hold"
        return False

    def _pass_replies(self, server: socket.socket, client: socket.socket, marked: dict[int, Rule]) -> None:
        with contextlib.suppress(OSError):
            for message in _messages(server):
                rule = marked.pop(_HEADER.unpack_from(message)[2], None)
                if rule is None:
                    client.sendall(message)
                elif rule.effect == "hold":
                    rule._answers.put(bson.decode(_body(message).raw))
                else:
                    rule.then()
                    break
        _hang_up(client)


def _hang_up(connection: socket.socket) -> None:
    """End both directions; a thread that reads from the connection wakes up."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _messages(connection: socket.socket) -> Iterator[bytes]:
    while message := _read_message(connection):
        yield message


def _read_message(connection: socket.socket) -> bytes:
    """One whole message with its header; nothing at the end of the stream."""
    head = _read(connection, _HEADER.size)
    if not head:
        return b""
    length = _HEADER.unpack(head)[0]
    return head + _read(connection, length - _HEADER.size)


def _read(connection: socket.socket, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _body(message: bytes) -> RawBSONDocument:
    """The command document of an OP_MSG: its first section, which drivers and servers make the body."""
    at = _HEADER.size + 4
    assert message[at] == 0, "the first section is not the body"
    size = struct.unpack_from("<i", message, at + 1)[0]
    return RawBSONDocument(message[at + 1 : at + 1 + size])
