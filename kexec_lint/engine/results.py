"""Results of earlier runs in an sqlite file. Losing it costs time only: every failure reads as an empty cache."""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, used INTEGER, value TEXT) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS quiet (key TEXT PRIMARY KEY, used INTEGER, value TEXT) WITHOUT ROWID",
)
_SUM = 8  # digits of a check sum
_KEEP_SECONDS = 30 * 24 * 3600


class Cache:
    """Key → text. Opened for one run; safe with other processes, which wait or go without."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self._folder = Path(folder) if folder else None
        self._connection: sqlite3.Connection | None = None
        self._opened = folder is None

    def get(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the values of those keys that are there and whole."""
        return self._get("results", list(keys))

    def quiet(self, paths: list[str]) -> dict[str, str]:
        """Return the states in which files were read in vain, by path."""
        return self._get("quiet", paths)

    def _get(self, table: str, wanted: list[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        connection = self._open()
        if connection is None:
            return found
        try:
            for start in range(0, len(wanted), 500):
                part = wanted[start : start + 500]
                marks = ",".join("?" * len(part))
                rows = connection.execute(f"SELECT key, value FROM {table} WHERE key IN ({marks})", part)
                found.update((key, text[_SUM:]) for key, text in rows if text == _sealed(key, text[_SUM:]))
        except TypeError:  # a number or bytes where a text was
            self._drop(sqlite3.DatabaseError())
        except sqlite3.Error as error:
            self._drop(error)
        return found

    def put(self, values: dict[str, str], used: Iterable[str] | None = None) -> None:
        """Store values. With the other keys that were of use, at the end of a run, forget what was not for a month."""
        self._put("results", values, used)

    def put_quiet(self, states: dict[str, str]) -> None:
        """Store the states in which files were read in vain, by path; forget those of a month ago."""
        self._put("quiet", states, ())

    def _put(self, table: str, values: dict[str, str], used: Iterable[str] | None) -> None:
        connection = self._open()
        if connection is None:
            return
        now = int(time.time())
        try:
            with connection:
                connection.executemany(
                    f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)",
                    [(key, now, _sealed(key, value)) for key, value in values.items()],
                )
                if used is not None:
                    marks = [(now, key) for key in used]
                    connection.executemany(f"UPDATE {table} SET used = ? WHERE key = ?", marks)
                    connection.execute(f"DELETE FROM {table} WHERE used < ?", (now - _KEEP_SECONDS,))
        except sqlite3.Error as error:
            self._drop(error)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection | None:
        if not self._opened:
            self._opened = True
            assert self._folder is not None
            file = self._folder / "results.sqlite"
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._connection = self._connect(file)
            except sqlite3.Error as error:
                self._connection = self._afresh(file) if _damaged(error) else None
            except OSError:
                pass
        return self._connection

    @staticmethod
    def _connect(file: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(file, timeout=5.0)
        try:
            # A rollback journal, not a write-ahead log: processes that start together then wait for one another,
            # and a cache in a folder that cannot be written can still be read.
            connection.execute("PRAGMA synchronous=OFF")
            for table in _SCHEMA:
                connection.execute(table)
            for name in ("results", "quiet"):
                connection.execute(f"SELECT key, used, value FROM {name} LIMIT 1")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _afresh(self, file: Path) -> sqlite3.Connection | None:
        """Replace a file that is not the database we knew."""
        try:
            file.unlink(missing_ok=True)
            return self._connect(file)
        except (OSError, sqlite3.Error):
            return None

    def _drop(self, error: sqlite3.Error) -> None:
        """Stop using a database that failed in the middle; replace it if it is damaged."""
        connection, self._connection = self._connection, None
        if connection is not None and self._folder is not None:
            connection.close()
            if _damaged(error):
                self._connection = self._afresh(self._folder / "results.sqlite")


def _sealed(key: str, value: str) -> str:
    """Return a value behind its check sum: the database itself does not notice a byte that another program changed."""
    return f"{zlib.crc32(f'{key}{value}'.encode('utf-8', 'surrogatepass')):08x}{value}"


def _damaged(error: sqlite3.Error) -> bool:
    """Return whether the file is at fault, rather than its folder, the disk or another process that holds it."""
    return not isinstance(error, sqlite3.OperationalError) or "no such" in str(error)
