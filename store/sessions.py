"""Saved sessions, ``rig-session/4``: one JSON Lines log an agent, images and other files by name.

>>> import tempfile
>>> from convostore.schemas.transcript import Transcript
>>> store = DirectorySessionStore(tempfile.mkdtemp())
>>> conversation = load(store, "a1")
>>> conversation.push({"role": "user", "content": [{"type": "text", "text": "Name a river."}]})
0
>>> save(store, "a1", conversation)
>>> load(store, "a1") == conversation, Session.read(store).main_agent
(True, 'a1')

The same with asynchronous calls is in ``convostore.store.asynchronous.sessions``; the check of stores of your
own, ``check_session_store``, in ``convostore.store.conformance.asynchronous.sessions``.
"""

from convostore.store.conformance.synchronous.sessions import check_session_store
from convostore.store.session_checks import SessionCheck, SessionReport
from convostore.store.synchronous.sessions import (
    Agent,
    DirectorySessionStore,
    MongoSessionStore,
    Session,
    SessionStore,
    SessionWriter,
    as_of,
    fork,
    history,
    load,
    read_conversation,
    rewrite,
    save,
)

__all__ = [
    "Agent",
    "DirectorySessionStore",
    "MongoSessionStore",
    "Session",
    "SessionCheck",
    "SessionReport",
    "SessionStore",
    "SessionWriter",
    "as_of",
    "check_session_store",
    "fork",
    "history",
    "load",
    "read_conversation",
    "rewrite",
    "save",
]
