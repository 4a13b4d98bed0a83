"""One resumable store for the scripts: records by key, as lines of JSON, so that a run can be stopped.

Every line notes the version of miscal that computed it, so that numbers of two versions are not mixed unseen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import joblib

from miscal.base.errors import CorruptFile, FileError
from miscal.base.files import disk_errors

Key = tuple
VERSION = "miscal"
"""Name under which a line notes the version."""


class Store:
    """Records by key in one file, which is made at the first record; the last record of a key counts.

    Parameters
    ----------
    path : str or Path
        File of JSON lines.
    fields : tuple of str
        Names in a record that make up its key.

    Raises
    ------
    CorruptFile
        If a line is damaged. A last line without its end, which a killed run leaves, is removed instead.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "results.jsonl"
    >>> Store(path, ("world", "seed")).add({"world": "clusters", "seed": 0, "r": 0.9})
    >>> again = Store(path, ("world", "seed"))
    >>> again["clusters", 0]["r"], ("clusters", 1) in again, again.other_versions()
    (0.9, False, [])
    """

    def __init__(self, path: str | Path, fields: tuple[str, ...]) -> None:
        self.path, self.fields = Path(path), fields
        self.records: dict[Key, dict[str, Any]] = {}
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        try:
            for line in whole.splitlines():
                self._keep(json.loads(line))
        except (ValueError, KeyError, TypeError):
            raise CorruptFile(f"{self.path} has a damaged line: remove the file and run again") from None
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))

    def __contains__(self, key: Key) -> bool:
        return key in self.records

    def __getitem__(self, key: Key) -> dict[str, Any]:
        if key not in self.records:
            raise FileError(f"{self.path} has no result for {' '.join(map(str, key))}: run without printing only")
        return self.records[key]

    def key(self, record: dict[str, Any]) -> Key:
        """Return the key of a record."""
        return tuple(record[name] for name in self.fields)

    def add(self, record: dict[str, Any]) -> None:
        """Keep a record and append it to the file."""
        record = {**record, VERSION: metadata.version("miscal")}
        line = (json.dumps(record, allow_nan=False) + "\n").encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with disk_errors(f"file {self.path}"), self.path.open("ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
        self._keep(json.loads(line))

    def of(self, keys: Iterable[Key]) -> list[dict[str, Any]]:
        """Return the records of the keys that are there, in their order."""
        return [self.records[key] for key in keys if key in self.records]

    def other_versions(self) -> list[str]:
        """Return the versions of miscal, other than this one, that computed records kept here."""
        versions = {record.get(VERSION, "unknown") for record in self.records.values()}
        return sorted(versions - {metadata.version("miscal")})

    def _keep(self, record: dict[str, Any]) -> None:
        self.records[self.key(record)] = record


def fill(
    store: Store,
    keys: Iterable[Key],
    work: Callable[..., dict[str, Any]],
    *,
    n_jobs: int = 1,
    progress: Callable[[int, int, dict[str, Any]], None] = lambda done, missing, record: None,
) -> int:
    """Compute the records that are missing, and keep each as soon as it is there.

    Parameters
    ----------
    store : Store
    keys : iterable of tuple
    work : callable
        ``work(*key)`` returns the record of a key.
    n_jobs : int, default 1
        Processes; with one, everything happens in this process.
    progress : callable, optional
        Called after each record with how many are done, how many were missing, and the record.

    Returns
    -------
    int
        How many were missing.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()) / "results.jsonl", ("n",))
    >>> fill(store, [(1,), (2,)], lambda n: {"n": n, "square": n * n}), fill(store, [(2,)], None)
    (2, 0)
    """
    missing = [key for key in dict.fromkeys(keys) if key not in store]
    parallel = joblib.Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    for done, record in enumerate(parallel(joblib.delayed(work)(*key) for key in missing), 1):
        store.add(record)
        progress(done, len(missing), record)
    return len(missing)
