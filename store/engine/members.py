"""What an embedded server needs once it listens: its replica set of one member, and the user who logs in."""

from __future__ import annotations

import contextlib
import time
from typing import Any, TypeAlias

from pymongo import MongoClient
from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError

from convostore.schemas.errors import UnavailableError

__all__ = ["DATABASE", "REPLICA_SET", "USER", "become_primary", "shut_down", "uri_for"]

REPLICA_SET = "convostore"
USER = "convostore"
DATABASE = "convostore"

_AUTHENTICATION_FAILED = 18
_ALREADY_INITIALIZED = 23
_NOT_YET_INITIALIZED = 94
_USER_EXISTS = 51003

Client: TypeAlias = MongoClient[dict[str, Any]]


def uri_for(port: int, secret: str) -> str:
    """The URI that stores connect to; it holds the password."""
    return f"mongodb://{USER}:{secret}@127.0.0.1:{port}/{DATABASE}?authSource=admin&replicaSet={REPLICA_SET}"


def become_primary(port: int, secret: str, *, seconds: float) -> None:
    """Make the server on ``port`` a primary that ``secret`` opens, whatever state a crash has left it in.

    Raises:
        UnavailableError: it is somebody else's server, or it was not ready within ``seconds``.
    """
    deadline = time.monotonic() + seconds
    with _member(port) as anonymous:
        while True:
            with contextlib.suppress(ConnectionFailure):
                if _advance(anonymous, port, secret):
                    return
            if time.monotonic() > deadline:
                raise UnavailableError(f"the server on port {port} was not ready within {seconds:.0f} s")
            time.sleep(0.01)


def shut_down(port: int, secret: str) -> None:
    """Ask the server on ``port`` to end cleanly; returns before it has ended, and says nothing if it has."""
    with _member(port, secret) as member, contextlib.suppress(PyMongoError):
        member.admin.command("shutdown", 1, force=True, timeoutSecs=0)


def _member(port: int, secret: str | None = None) -> Client:
    login: dict[str, Any] = {} if secret is None else {"username": USER, "password": secret}
    return MongoClient("127.0.0.1", port, directConnection=True, serverSelectionTimeoutMS=2_000, **login)


def _advance(anonymous: Client, port: int, secret: str) -> bool:
    """Take the next step towards a primary that the secret opens; whether there is none left."""
    state = anonymous.admin.command("hello")
    name = state.get("setName")
    if name not in (None, REPLICA_SET) or (name is None and not state.get("isreplicaset")):
        raise _not_ours(port)
    if name is not None and not state["isWritablePrimary"]:
        return False
    try:
        # A client of its own for each try: one whose login was refused waits 10 s before the next.
        with _member(port, secret) as member:
            if name is not None:
                member.admin.command("ping")
                return True
            _reconfigure(member, port)
    except OperationFailure as error:
        if error.code != _AUTHENTICATION_FAILED:
            raise
        _set_up(anonymous, port, secret, initiated=name is not None)
    return False


def _reconfigure(member: Client, port: int) -> None:
    """Tell a set that knows itself by another port where it is; it would not find itself by itself, ever."""
    config = member.local.system.replset.find_one()
    if config is None:
        return
    config["members"][0]["host"] = f"127.0.0.1:{port}"
    try:
        member.admin.command("replSetReconfig", config, force=True)
    except OperationFailure as error:
        # It has not read its configuration yet.
        if error.code != _NOT_YET_INITIALIZED:
            raise


def _set_up(anonymous: Client, port: int, secret: str, *, initiated: bool) -> None:
    """Make the set, or its user: the server lets a local client do that as long as it has no user at all."""
    try:
        if initiated:
            anonymous.admin.command("createUser", USER, pwd=secret, roles=["root"])
        else:
            config = {"_id": REPLICA_SET, "members": [{"_id": 0, "host": f"127.0.0.1:{port}"}]}
            anonymous.admin.command("replSetInitiate", config)
    except OperationFailure as error:
        if error.code not in (_ALREADY_INITIALIZED, _USER_EXISTS):
            raise _not_ours(port) from error


def _not_ours(port: int) -> UnavailableError:
    return UnavailableError(
        f"the server on port {port} refuses this folder's secret: another mongod uses the folder; stop it"
    )
