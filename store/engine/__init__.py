"""The embedded engine: a mongod that the library runs on a folder. Its calls block."""

from convostore.store.engine.embedded import EmbeddedEngine
from convostore.store.engine.finder import Mongod, find_mongod
from convostore.store.engine.uri import default_folder, folder_of, resolve_uri

__all__ = ["EmbeddedEngine", "Mongod", "default_folder", "find_mongod", "folder_of", "resolve_uri"]
