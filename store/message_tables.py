"""Rows of messages as Parquet, by pyarrow (extra ``analytics``), a group of rows at a time."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final

from convostore.schemas.errors import UnavailableError
from convostore.schemas.formats.message_rows import PART, ROW

__all__ = ["MessageTable"]

GROUP_BYTES: Final = 2 << 20
"""About how many bytes of messages make a group of rows; a larger message is one by itself."""

GROUP_ROWS: Final = 20_000

_BATCH_ROWS, _BATCH_BYTES = 200, 512 << 10
"""How many rows wait as Python's objects, which take several times the memory of columns."""


_LONG = frozenset({"text", "thoughts", "message", "parts"})
_SHORT = [
    *(name for name in ROW if name not in _LONG),
    *(f"parts.list.element.{name}" for name in ("kind", "name", "is_error", "mime_type")),
]
"""Columns whose values repeat, and are worth a least and a greatest in each group. Those of long texts would
only fill the end of the file, which is held until it is written.
"""


class MessageTable:
    """A Parquet file of messages, given to ``write`` as it grows; it is whole when the context is left."""

    def __init__(self, write: Callable[[bytes], Any]) -> None:
        """Begin the file.

        Raises:
            UnavailableError: pyarrow is not installed.

        """
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            raise UnavailableError(
                'Parquet needs pyarrow: pip install "convostore[analytics]"', capability="parquet"
            ) from error
        self._schema = _schema(pyarrow)
        self._pyarrow = pyarrow
        self._writer = parquet.ParquetWriter(
            _Sink(write), self._schema, compression="zstd", use_dictionary=_SHORT, write_statistics=_SHORT
        )
        self._rows: list[Mapping[str, Any]] = []
        self._batches: list[Any] = []
        self._size = self._count = self._loose = 0

    def __enter__(self) -> MessageTable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._flush()
        self._writer.close()

    def add(self, row: Mapping[str, Any]) -> None:
        """Put in one more row."""
        self._rows.append(row)
        self._size += len(row["message"])
        self._loose += len(row["message"])
        self._count += 1
        if self._size >= GROUP_BYTES or self._count >= GROUP_ROWS:
            self._flush()
        elif len(self._rows) >= _BATCH_ROWS or self._loose >= _BATCH_BYTES:
            self._gather()

    def _gather(self) -> None:
        if self._rows:
            self._batches.append(self._pyarrow.RecordBatch.from_pylist(self._rows, schema=self._schema))
            self._rows, self._loose = [], 0

    def _flush(self) -> None:
        """Write all that waits as one group."""
        self._gather()
        if self._batches:
            table = self._pyarrow.Table.from_batches(self._batches)
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._batches = []
        self._size = self._count = 0


def _schema(pyarrow: Any) -> Any:
    kinds = {
        "u64": pyarrow.uint64(),
        "text": pyarrow.string(),
        "flag": pyarrow.bool_(),
        "bytes": pyarrow.binary(),
        "time": pyarrow.timestamp("ms", "UTC"),
    }
    kinds["parts"] = pyarrow.list_(pyarrow.struct([(name, kinds[kind]) for name, kind in PART.items()]))
    return pyarrow.schema([(name, kinds[kind]) for name, kind in ROW.items()])


class _Sink(io.RawIOBase):
    """What pyarrow writes to."""

    def __init__(self, write: Callable[[bytes], Any]) -> None:
        self._put = write
        self._place = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def write(self, data: Any) -> int:
        given = bytes(data)
        self._put(given)
        self._place += len(given)
        return len(given)
