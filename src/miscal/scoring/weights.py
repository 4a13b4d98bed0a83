"""The weights of a model: which devices hold them, and whether a checkpoint has all of them and no others.

What a checkpoint lacks is left at random numbers by transformers, with a warning; the answers then change with the seed
of torch. Tensors without a place in the model mean that another model was saved than the configuration says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from miscal.base.arrays import SHOWN
from miscal.base.errors import FileError, ResourceError
from miscal.base.extras import need

FILL = 0.85
"""Share of a device's free memory that weights may take; the rest is for what a batch computes."""

_NOT_OF_TEXT = re.compile(r"(^|\.)(vision\w*|visual|audio\w*|image_newline|multi_?modal_projector|mm_projector)(\.|$)")
"""Parts of multimodal checkpoints that no text reaches."""

_BUFFERS = re.compile(r"(^|\.)(rotary_emb\.(\w+_)?inv_freq|position_ids|rope_freqs\.weight|rope_factors_\w+\.weight)$")
"""Numbers that older checkpoints and GGUF files hold, and that a model works out from its configuration."""


def spread_over(n_bytes: int, device: torch.device, model: str) -> dict[int | str, int] | None:
    """Say how much memory each device has for a model that is larger than a GPU; None for one that is not.

    Parameters
    ----------
    n_bytes : int
        Of the weights, in the precision they will have.
    device : torch.device
        A GPU by its number stands for itself, "cuda" for all GPUs; what does not fit there waits in main memory.
    model : str
        Its name, for messages.

    Returns
    -------
    dict of int or str to int, or None
        Bytes by number of the GPU and for "cpu", as transformers takes them (``max_memory``).
    """
    if device.type != "cuda":
        return None
    gpus = list(range(torch.cuda.device_count())) if device.index is None else [device.index]
    room: dict[int | str, int] = {gpu: int(FILL * torch.cuda.mem_get_info(gpu)[0]) for gpu in gpus}
    if n_bytes <= room[gpus[0]]:
        return None
    need("llm", f"model {model}, which is larger than a GPU and is spread over several devices,", "accelerate")
    import psutil

    room["cpu"] = int(FILL * psutil.virtual_memory().available)
    if n_bytes > sum(room.values()):
        raise ResourceError(
            f"model {model}: its weights take {n_bytes / 1e9:,.1f} GB, but GPUs and main memory have room for "
            f"{sum(room.values()) / 1e9:,.1f} GB together: use a machine with more, a smaller model or --dtype bfloat16"
        )
    return room


def weight_bytes(build: Any, config: Any, dtype: torch.dtype, **options: Any) -> int:
    """Count the bytes of a model's weights without making them.

    Parameters
    ----------
    build : type
        Auto class of transformers.
    **options
        Of ``from_config``.
    """
    with torch.device("meta"):
        network = build.from_config(config, dtype=dtype, **options)
    return sum(parameter.nbytes for parameter in network.parameters())


def visible_gpus() -> tuple[str, ...]:
    """Name the GPUs that torch sees here, as ``CUDA_VISIBLE_DEVICES`` names them."""
    count = torch.cuda.device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return tuple(named.split(",") if named else map(str, range(count)))[:count]


def refuse_incomplete(report: Mapping[str, Any], model: str) -> None:
    """Refuse a checkpoint that was not loaded as it stands.

    Parameters
    ----------
    report : mapping
        What transformers says of a loading (``output_loading_info``); tensors that the configuration ties to others
        are not missing there.
    model : str
        Its name, for the message.

    >>> refuse_incomplete({"missing_keys": {"lm_head.weight"}}, "m")
    Traceback (most recent call last):
    miscal.base.errors.FileError: model m: its checkpoint lacks 1 tensor that its configuration asks for \
(lm_head.weight), whose numbers would be random: get the whole checkpoint, or fix config.json
    """
    missing = _counting(report.get("missing_keys", ()))
    if missing:
        raise FileError(
            f"model {model}: its checkpoint lacks {_named(missing)} that its configuration asks for "
            f"({_list(missing)}), whose numbers would be random: get the whole checkpoint, or fix config.json"
        )
    shapes = {key: (tuple(there), tuple(asked)) for key, there, asked in report.get("mismatched_keys", ())}
    mismatched = _counting(shapes)
    if mismatched:
        there, asked = shapes[mismatched[0]]
        raise FileError(
            f"model {model}: {_named(mismatched)} of its checkpoint do not have the shape that its configuration asks "
            f"for; the first, {mismatched[0]}, has {there} instead of {asked}: get the whole checkpoint, or fix "
            "config.json"
        )
    refuse_unused(report.get("unexpected_keys", ()), model)


def refuse_unused(names: Collection[str], model: str) -> None:
    """Refuse a checkpoint with tensors that have no place in the model."""
    unused = [name for name in _counting(names) if not _BUFFERS.search(name)]
    if unused:
        raise FileError(
            f"model {model}: its checkpoint holds {_named(unused)} that its configuration has no place for "
            f"({_list(unused)}), so that another model would be computed than was saved: get the config.json that "
            "belongs to it"
        )


def refuse_unused_gguf(path: Path, network: torch.nn.Module, model: str) -> None:
    """Refuse a GGUF file with more tensors than the model has, some of which transformers would leave out in silence.

    A file with experts is not counted, because it stacks them.
    """
    import gguf

    names = [tensor.name for tensor in gguf.GGUFReader(path).tensors if not _BUFFERS.search(tensor.name)]
    held = network.state_dict()
    parameters = dict(network.named_parameters(remove_duplicate=False))
    n_places = len(dict(network.named_parameters())) + sum(name not in parameters for name in held)
    if len(names) > n_places and not any("_exps" in name for name in names):
        raise FileError(
            f"model {model}: the file holds {len(names):,} tensors, but the model that it describes has places for "
            f"{n_places:,}, so that some would be left out: give a file of a model that transformers reads whole"
        )


def _counting(names: Collection[str]) -> list[str]:
    return sorted(name for name in names if not _NOT_OF_TEXT.search(name))


def _named(names: Collection[str]) -> str:
    return f"{len(names):,} tensor{'s' if len(names) > 1 else ''}"


def _list(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
