"""A reader that is fuzzed: how its input is drawn, how it is called, and what must be true of what it returns."""

from __future__ import annotations

import json
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from _fuzz_edits import EDITS, edited, json_edits
from miscal.base.errors import InternalError, MiscalError

N = 120


@dataclass
class Target:
    """A reader: how its input is drawn, how it is called with it, and what must be true of what it returns."""

    name: str
    inputs: st.SearchStrategy
    call: Callable[[Any], Any]
    valid: Callable[[Any], bool]
    examples: int = 0
    refused: int = 0
    failures: Counter = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def try_one(self, drawn: Any) -> None:
        """Try one input, and note how it ended."""
        self.examples += 1
        try:
            if not self.valid(self.call(drawn)):
                raise AssertionError("what was returned is not valid")
        except InternalError as error:
            self._failed(error)
        except MiscalError:
            self.refused += 1
        except (Exception, pl.exceptions.PanicException) as error:
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "miscal" in frame.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        key = f"{type(error).__name__} at {place}"
        self.failures[key] += 1
        self.first.setdefault(key, str(error).split("\n")[0][:200])


def rows(seed: int = 0) -> pl.DataFrame:
    """Rows whose confidences are right."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(0.2, 0.8, N)
    return pl.DataFrame(
        {
            "confidence": f,
            "correct": (rng.random(N) < f).astype(int),
            "x_1": rng.normal(size=N),
            "kind": rng.choice(["a", "b"], N),
            "text": [f'what of "{k}", é?' for k in range(N)],
        }
    )


def of_bytes(name: str, path: Path, read: Callable[[], Any], valid: Callable[[Any], bool]) -> Target:
    """Make a target of a file whose bytes are edited."""
    whole = path.read_bytes()

    def call(edits: list) -> Any:
        path.write_bytes(edited(whole, edits))
        return read()

    return Target(name, EDITS, call, valid)


def of_json(name: str, path: Path, read: Callable[[], Any], valid: Callable[[Any], bool]) -> Target:
    """Make a target of a file of JSON, one value or lines, whose values are edited."""
    text = path.read_text(encoding="utf-8")
    lines = path.suffix == ".jsonl"
    value = [json.loads(line) for line in text.splitlines()[:3]] if lines else json.loads(text)

    def call(drawn: Any) -> Any:
        values = drawn if isinstance(drawn, list) and lines else [drawn]
        path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
        return read()

    return Target(name, json_edits(value), call, valid)


FORMS = {"bytes": of_bytes, "values": of_json}
