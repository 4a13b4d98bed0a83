"""Weights of a model and the devices that hold them; forward passes: log-probabilities and hidden states.

What a checkpoint lacks is left at random numbers by transformers, with a warning; the answers then change with the seed
of torch. Tensors without a place in the model mean that another model was saved than the configuration says.

The output layer is called on the needed positions only: a hook on its input picks them, so that whatever a model does
to its logits afterwards (soft caps, scales) is its own code, and the hidden state kept is the very input of the output
layer, after the final norm where there is one. It computes in float32 whatever the precision of the model.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from miscal.base.arrays import SHOWN
from miscal.base.errors import FileError, ResourceError
from miscal.base.process import need
from miscal.scoring.engine import Encoded, Evaluated

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
    miscal.base.errors.FileError: model m: its checkpoint lacks 1 tensor that its configuration asks for, \
whose numbers would be random (lm_head.weight): get the whole checkpoint and the config.json that belongs to it
    """
    shapes = {
        name: f"{name}: {tuple(there)} instead of {tuple(asked)}"
        for name, there, asked in report.get("mismatched_keys", ())
    }
    unused = [name for name in report.get("unexpected_keys", ()) if not _BUFFERS.search(name)]
    for names, fault in (
        (report.get("missing_keys", ()), "lacks {} that its configuration asks for, whose numbers would be random"),
        (shapes, "holds {} of another shape than its configuration asks for"),
        (unused, "holds {} that its configuration has no place for, so that another model would be computed"),
    ):
        if kept := sorted(name for name in names if not _NOT_OF_TEXT.search(name)):
            counted = f"{len(kept):,} tensor{'s' if len(kept) > 1 else ''}"
            shown = [*(shapes.get(name, name) for name in kept[:SHOWN]), *(["..."] if len(kept) > SHOWN else [])]
            raise FileError(
                f"model {model}: its checkpoint {fault.format(counted)} ({', '.join(shown)}): get the whole checkpoint "
                "and the config.json that belongs to it"
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


NORM_ROWS = 64
"""Rows of logits widened to float32 at a time: all of them would take the memory of the logits three times over."""

HEAD_ROWS = 16_384
"""Rows of an output layer's weights widened to float32 at a time: all of them would take twice their own memory."""


def compute_in_float32(head: torch.nn.Module) -> None:
    """Let a linear output layer multiply in float32, whatever the precision of its weights and of its input.

    Logits of bfloat16 have three digits, so that candidates that are nearly as probable as each other come out equal.
    A layer of another kind (quantised, say) is left as it is.
    """
    if type(head).forward is torch.nn.Linear.forward:
        # accelerate, where it has spread a model over devices, has put its own forward around the layer's
        name = "_old_forward" if hasattr(head, "_old_forward") else "forward"
        setattr(head, name, partial(_linear_in_float32, head))


def _linear_in_float32(head: torch.nn.Linear, states: torch.Tensor) -> torch.Tensor:
    states = states.float()
    logits = states.new_empty(*states.shape[:-1], head.weight.shape[0])
    for start in range(0, len(head.weight), HEAD_ROWS):
        rows = slice(start, start + HEAD_ROWS)
        bias = None if head.bias is None else head.bias[rows].float()
        logits[..., rows] = torch.nn.functional.linear(states, head.weight[rows].float(), bias)
    return logits


class Picker:
    """A model that computes its output layer at chosen positions alone, and remembers the input of this layer there.

    Token ids are put on `device`. The output layer computes in float32 from now on.
    """

    def __init__(self, model: torch.nn.Module, device: torch.device) -> None:
        self.model, self.device = model, device
        self._where: tuple[torch.Tensor, torch.Tensor] | None = None
        self.hidden: torch.Tensor | None = None
        head = model.get_output_embeddings()
        compute_in_float32(head)
        head.register_forward_pre_hook(self._narrow)

    def _narrow(self, module: torch.nn.Module, args: tuple) -> tuple | None:
        if self._where is None:
            return None
        # of a model that is spread, parts are on several devices
        self.hidden = args[0][tuple(place.to(args[0].device) for place in self._where)]
        return (self.hidden[:, None], *args[1:])

    def run(self, rows: torch.Tensor, columns: torch.Tensor, **inputs: object) -> tuple:
        """Run the model; return its output and the logits (n_positions, vocabulary) of the positions asked for."""
        self._where = rows, columns
        try:
            output = self.model(**inputs, return_dict=True)
        finally:
            self._where = None
        return output, output.logits[:, 0]


def log_softmax_at(logits: torch.Tensor, rows: Sequence[int], ids: Sequence[int]) -> torch.Tensor:
    """Return log p of token ``ids[j]`` under the logits of row ``rows[j]``, in float32."""
    norm = torch.cat([torch.logsumexp(part.float(), dim=-1) for part in logits.split(NORM_ROWS)])
    index, columns = (torch.as_tensor(part, dtype=torch.long, device=logits.device) for part in (rows, ids))
    return logits[index, columns].float() - norm[index]


def padded(sequences: Sequence[Sequence[int]], side: str, device: torch.device) -> torch.Tensor:
    """Put sequences of ids into one table, filled up on the "left" or "right" side by 0, which nothing real sees."""
    ids = [torch.tensor(one) for one in sequences]
    return torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_side=side).to(device)


def evaluate(picker: Picker, batch: Sequence[Encoded]) -> Evaluated:
    """Score a batch: one pass, and a second one over the cached prompts where candidates have several tokens."""
    single = all(len(ids) == 1 for row in batch for ids in row.added)
    with torch.inference_mode():
        first, hidden = (_one_pass if single else _two_passes)(picker, batch)
    return Evaluated(tuple(first), hidden.float().cpu().numpy())


def _split(flat: np.ndarray, batch: Sequence[Encoded]) -> list[np.ndarray]:
    ends = np.cumsum([len(row.added) for row in batch])[:-1]
    return np.split(flat.astype(np.float64), ends)


def _first_tokens(batch: Sequence[Encoded]) -> tuple[list[int], list[int]]:
    rows = [row for row, item in enumerate(batch) for _ in item.added]
    return rows, [ids[0] for item in batch for ids in item.added]


def read_prompts(
    picker: Picker, contexts: Sequence[Sequence[int]]
) -> tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute prompts, padded on the left, so that the cache of each ends at the same place and its texts follow on.

    Returns the cache, the logits (n, vocabulary) and hidden states of the last tokens, the mask (n, width) of the
    prompts' tokens, and their lengths (n,).
    """
    ids = padded(contexts, "left", picker.device)
    lengths = torch.tensor([len(context) for context in contexts], device=picker.device)
    n, width = ids.shape
    mask = (torch.arange(width, device=picker.device) >= width - lengths[:, None]).long()
    rows, last = torch.arange(n, device=picker.device), torch.full((n,), width - 1, device=picker.device)
    inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}
    output, logits = picker.run(rows, last, use_cache=True, **inputs)
    return output.past_key_values, logits, picker.hidden, mask, lengths


def _one_pass(picker: Picker, batch: Sequence[Encoded]) -> tuple[list[np.ndarray], torch.Tensor]:
    """Pad on the right, where a causal model never looks: no mask is needed and attention takes its fastest path."""
    ids = padded([row.context for row in batch], "right", picker.device)
    rows = torch.arange(len(batch), device=picker.device)
    last = torch.tensor([len(row.context) - 1 for row in batch], device=picker.device)
    _, logits = picker.run(rows, last, input_ids=ids, use_cache=False)
    hidden = picker.hidden
    return _split(log_softmax_at(logits, *_first_tokens(batch)).cpu().numpy(), batch), hidden


def _two_passes(picker: Picker, batch: Sequence[Encoded]) -> tuple[list[np.ndarray], torch.Tensor]:
    cache, logits, hidden, mask, lengths = read_prompts(picker, [row.context for row in batch])
    total = log_softmax_at(logits, *_first_tokens(batch)).cpu().numpy().astype(np.float64)
    # candidates of more than one token: flat position -> (row, ids)
    owner, ids = _first_tokens(batch)[0], [ids for item in batch for ids in item.added]
    longer = {at: (owner[at], ids[at]) for at in range(len(ids)) if len(ids[at]) > 1}
    cache.batch_select_indices(torch.tensor([row for row, _ in longer.values()]))  # layers may be on several devices
    total[list(longer)] += _rest(picker, list(longer.values()), cache, mask, lengths)
    return _split(total, batch), hidden


def _rest(
    picker: Picker,
    longer: Sequence[tuple[int, tuple[int, ...]]],
    cache: Any,
    mask: torch.Tensor,
    lengths: torch.Tensor,
) -> np.ndarray:
    """Sum the log-probabilities of the second and later tokens, reading the cached prompts."""
    owner = torch.tensor([row for row, _ in longer], device=mask.device)
    tokens = padded([ids[:-1] for _, ids in longer], "right", mask.device)
    steps = torch.arange(tokens.shape[1], device=mask.device)
    at = [(j, k) for j, (_, ids) in enumerate(longer) for k in range(len(ids) - 1)]
    rows, columns = (torch.tensor(part, device=mask.device) for part in zip(*at, strict=True))
    _, logits = picker.run(
        rows,
        columns,
        input_ids=tokens,
        attention_mask=torch.cat([mask[owner], torch.ones_like(tokens)], dim=1),
        position_ids=lengths[owner, None] + steps,
        past_key_values=cache,
        use_cache=True,
    )
    targets = [longer[j][1][k + 1] for j, k in at]
    values = log_softmax_at(logits, range(len(at)), targets).cpu().numpy().astype(np.float64)
    return np.bincount([j for j, _ in at], weights=values, minlength=len(longer))
