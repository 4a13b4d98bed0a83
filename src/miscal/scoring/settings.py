"""What a run's numbers depend on, written down before the first batch and compared when the run is taken up again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile, MismatchError
from miscal.scoring.questions import Item

FORMAT = 1


def items_hash(items: Sequence[Item]) -> str:
    """Return one sha256 over everything the items say: ids, prompts, candidates, right answers, metadata."""
    digest = hashlib.sha256()
    for item in items:
        record = [item.row, item.id, item.prompt, item.candidates, item.gold, item.rule, item.text, item.choices]
        digest.update(json.dumps([*record, dict(item.metadata), item.problem], default=str).encode("utf-8", "replace"))
    return digest.hexdigest()


def describe_run(
    model: Mapping[str, Any],
    items: Sequence[Item],
    *,
    task: Mapping[str, Any],
    batch_tokens: int,
    embeddings_dtype: str = "float32",
) -> dict[str, Any]:
    """Return the settings of a run.

    Parameters
    ----------
    model : mapping
        What the model says of itself (``describe``).
    items : sequence of Item
    task : mapping
        Name, revision, form, prompt, seed and limit.
    batch_tokens : int
    embeddings_dtype : {"float32", "float16"}, default "float32"
        Precision of the hidden states on disk, as asked for.

    Returns
    -------
    dict
        JSON values only.
    """
    return {
        "format": FORMAT,
        "miscal": version("miscal"),
        **{f"model.{name}" if name != "model" else name: value for name, value in model.items()},
        **{f"task.{name}" if name != "task" else name: value for name, value in task.items()},
        "n_rows": len(items),
        "data_sha256": items_hash(items),
        "batch_tokens": batch_tokens,
        "embeddings_dtype": embeddings_dtype,
    }


def refuse_changed(before: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    """Compare the settings of a folder with those of the run that wants to go on in it.

    Raises
    ------
    MismatchError
        Naming every differing key with both values.
    """
    # folders of earlier versions do not say so: they hold float32, computed the head in the model's precision, and
    # took the first rows of a limit
    old = {"embeddings_dtype": "float32", "model.head_dtype": before.get("model.dtype"), "task.sample": None}
    before = {**{key: value for key, value in old.items() if key in now}, **before}
    differing = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if differing:
        shown = "; ".join(f"{key} was {_short(before.get(key))} and is {_short(now.get(key))}" for key in differing)
        raise MismatchError(
            f"folder {folder}: was begun with other settings ({shown}); score into a new folder, or give the old "
            "settings"
        )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."


def read_settings(path: Path) -> dict[str, Any] | None:
    """Read settings written before; None if there are none.

    Raises
    ------
    CorruptFile
        If they cannot be read.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CorruptFile(f"{path}: cannot be read ({error}); score into a new folder") from error
    if not isinstance(found, dict):
        raise CorruptFile(f"{path} was not written by miscal score; score into a new folder")
    return found
