"""Choose the devices that hold the weights of a model."""

from __future__ import annotations

import os
from typing import Any

import torch

from miscal.base.errors import ResourceError
from miscal.base.extras import need

FILL = 0.85
"""Share of a device's free memory that weights may take; the rest is for what a batch computes."""


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
