"""Fetch benchmarks from the Hugging Face hub, one commit of each, or read them from the cache without a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miscal.base.errors import FileError, InputError
from miscal.base.extras import need
from miscal.scoring.model_source import retried


@dataclass(frozen=True, slots=True)
class HubTask:
    """A benchmark on the hub.

    Attributes
    ----------
    dataset : str
    config : str or None
    splits : tuple of str
        Joined in this order.
    folders : tuple of (str, str)
        Folders of the data set that are taken, each with the value that its rows get in the column ``subset``; empty
        where the data set has none. Their splits are joined folder by folder.
    note : str or None
        What of the data set is left out and why, in a sentence.
    """

    dataset: str
    config: str | None
    splits: tuple[str, ...]
    folders: tuple[tuple[str, str], ...] = ()
    note: str | None = None


HUB_TASKS = {
    "mmlu": HubTask("cais/mmlu", "all", ("test",)),
    "mmlu-pro": HubTask("TIGER-Lab/MMLU-Pro", None, ("test",)),
    "medmcqa": HubTask(
        "openlifescienceai/medmcqa",
        None,
        ("train", "validation"),
        note="the test split of MedMCQA is left out, because its right answers are withheld",
    ),
    # 42,537 + 2,312 and 43,835 + 2,354 pairs: a tenth of these 91,038 are the 9,103 test pairs of the paper
    "hh-rlhf": HubTask(
        "Anthropic/hh-rlhf",
        None,
        ("train", "test"),
        (("harmless-base", "harmless"), ("helpful-base", "helpful")),
        "of HH-RLHF, the pairs of harmless-base and helpful-base are asked, as in the paper; the column subset says "
        "which",
    ),
}


def hub_rows(task: HubTask, revision: str | None = None) -> tuple[list[Mapping[str, Any]], str]:
    """Read the rows of a benchmark.

    Parameters
    ----------
    revision : str, optional
        Commit, branch or tag; default: the newest, or without a network the one in the cache.

    Returns
    -------
    rows : list of mapping
    commit : str
        What was read.
    """
    need("datasets", f"task {task.dataset}", "datasets")
    import datasets

    commit, folder = _located(task, revision)
    source, pinned = (task.dataset, {"revision": commit}) if folder is None else (str(folder), {})

    def part(split: str, **inside: str) -> list[Mapping[str, Any]]:
        def load() -> list[Mapping[str, Any]]:
            return list(datasets.load_dataset(source, task.config, split=split, **pinned, **inside))

        return retried(load, f"data set {task.dataset} cannot be {'read from the cache' if folder else 'fetched'}")

    if not task.folders:
        return [row for split in task.splits for row in part(split)], commit
    return [
        {**row, "subset": subset}
        for name, subset in task.folders
        for split in task.splits
        for row in part(split, data_dir=name)
    ], commit


def commit_of(name: str, revision: str | None = None) -> str:
    """Return the commit of a benchmark that :func:`hub_rows` would read now.

    Parameters
    ----------
    name : str
        One of `HUB_TASKS`.
    revision : str, optional
        Commit, branch or tag.
    """
    need("datasets", f"task {name}", "datasets")
    return _located(HUB_TASKS[name], revision)[0]


def _located(task: HubTask, revision: str | None) -> tuple[str, Path | None]:
    """Return the commit, and the folder of the cache that holds it where the hub is not to be asked."""
    from huggingface_hub import HfApi, constants

    if constants.HF_HUB_OFFLINE:
        return _cached(task, revision)
    what = f"data set {task.dataset} cannot be fetched from the hub"
    try:
        return retried(lambda: HfApi().dataset_info(task.dataset, revision=revision).sha, what), None
    except FileError as error:
        try:
            return _cached(task, revision)
        except FileError as missing:
            raise FileError(f"{error}; {missing}") from None


def _cached(task: HubTask, revision: str | None) -> tuple[str, Path]:
    """Find a commit in the cache of the hub: the one asked for, that of its main branch, or the only one."""
    from huggingface_hub import constants

    # the layout is documented: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
    place = Path(constants.HF_HUB_CACHE) / f"datasets--{task.dataset.replace('/', '--')}"
    named = place / "refs" / (revision or "main")
    commit = named.read_text().strip() if named.is_file() else revision
    there = sorted(folder.name for folder in (place / "snapshots").glob("*") if folder.is_dir())
    if commit is None and len(there) > 1:
        raise InputError(
            f"data set {task.dataset}: the cache {place} holds several commits ({', '.join(there)}), and there is no "
            "network to ask for the newest: name one with --task-revision"
        )
    commit = commit or next(iter(there), None)
    if commit not in there:
        raise FileError(
            f"data set {task.dataset}: {revision or 'it'} is not in the cache {place}: fetch it once with a network, "
            "or give --task a file"
        )
    return commit, place / "snapshots" / commit
