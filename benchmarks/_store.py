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

from miscal.base.errors import CorruptFile

Key = tuple
VERSION = "miscal"
"""Name under which a line notes the version."""


class Store:
    """Records by key in one file, which is made at the first record; the last record of a key counts.

    `fields` are the names in a record that make up its key. A last line without its end, which a killed run leaves, is
    removed.
    """

    def __init__(self, path: Path, fields: tuple[str, ...]) -> None:
        self.path, self.fields = path, fields
        self.records: dict[Key, dict[str, Any]] = {}
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        try:
            for record in map(json.loads, whole.splitlines()):
                self.records[self.key(record)] = record
        except (ValueError, KeyError, TypeError):
            raise CorruptFile(f"{path} has a damaged line: remove the file and run again") from None
        if len(whole) < len(content):
            os.truncate(path, len(whole))

    def key(self, record: dict[str, Any]) -> Key:
        """Return the key of a record."""
        return tuple(record[name] for name in self.fields)

    def of(self, keys: Iterable[Key]) -> list[dict[str, Any]]:
        """Return the records of the keys that are there, in their order."""
        return [self.records[key] for key in keys if key in self.records]

    def other_versions(self) -> list[str]:
        """Return the versions of miscal, other than this one, that computed records kept here."""
        versions = {record.get(VERSION, "unknown") for record in self.records.values()}
        return sorted(versions - {metadata.version("miscal")})

    def fill(
        self, keys: Iterable[Key], work: Callable[..., dict[str, Any]], n_jobs: int,
        progress: Callable[[int, int, dict[str, Any]], None],
    ) -> None:  # fmt: skip
        """Compute the records that are missing, by ``work(*key)``, and keep each as soon as it is there."""
        missing = [key for key in dict.fromkeys(keys) if key not in self.records]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        parallel = joblib.Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
        for done, record in enumerate(parallel(joblib.delayed(work)(*key) for key in missing), 1):
            line = json.dumps({**record, VERSION: metadata.version("miscal")}, allow_nan=False)
            with self.path.open("a") as stream:
                stream.write(line + "\n")
            self.records[self.key(record)] = json.loads(line)
            progress(done, len(missing), record)
