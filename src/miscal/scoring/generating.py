"""Let a causal language model write: greedy texts and samples that share the cache of their prompt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from miscal.scoring.engine import Generated, Generation, Stream, answer_line
from miscal.scoring.forward import NORM_ROWS, Picker, read_prompts


@dataclass(slots=True)
class _Text:
    """One text on its way."""

    stream: Stream
    ids: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    ended: bool = False


@torch.inference_mode()
def write(
    model: torch.nn.Module,
    picker: Picker,
    contexts: Sequence[Sequence[int]],
    streams: Sequence[Sequence[Stream]],
    *,
    temperature: float,
    longest: int,
    ends: Collection[int],
    decode: Callable[[Sequence[int]], str],
    fill: int,
    device: torch.device,
) -> Generated:
    """Write a text of at most `longest` tokens for every stream of every context.

    A text ends at a token of `ends`, or with the first line that is not blank. Each prompt is computed once; the texts
    follow on copies of its cache, and those that have ended are dropped. `decode` leaves special tokens out.
    """
    rows = [[_Text(stream) for stream in each] for each in streams]
    cache, logits, hidden, mask, lengths = read_prompts(model, picker, contexts, fill, device)
    alive = [text for each in rows for text in each]
    kept = torch.tensor([row for row, each in enumerate(rows) for _ in each], device=device)
    for step in range(longest):
        # copies of the prompts at first, and from then on the texts that have not ended
        cache.batch_select_indices(kept.cpu())
        mask, lengths, logits = mask[kept], lengths[kept], logits[kept.to(logits.device)]
        if step:
            mask = torch.cat([mask, torch.ones_like(mask[:, :1])], dim=1)
            inputs = {
                "input_ids": torch.tensor([[text.ids[-1]] for text in alive], device=device),
                "attention_mask": mask,
                "position_ids": lengths[:, None] + step - 1,
            }
            every = torch.arange(len(alive), device=device)
            where = (every, torch.zeros_like(every))
            _, logits = picker.run(model, *where, past_key_values=cache, use_cache=True, **inputs)
        tokens, log_probs = _chosen(logits, [text.stream for text in alive], step, temperature)
        for text, token, log_prob in zip(alive, tokens, log_probs, strict=True):
            text.ids.append(token)
            text.log_probs.append(log_prob)
            text.ended = token in ends or "\n" in decode(text.ids).lstrip()
        kept = torch.tensor([at for at, text in enumerate(alive) if not text.ended], device=device)
        alive = [text for text in alive if not text.ended]
        if not alive:
            break
    texts = tuple(
        tuple(Generation(answer_line(decode(text.ids)), tuple(text.log_probs), text.ended) for text in each)
        for each in rows
    )
    return Generated(texts, hidden.float().cpu().numpy())


def _chosen(
    logits: torch.Tensor, streams: Sequence[Stream], step: int, temperature: float
) -> tuple[list[int], list[float]]:
    """Choose the next token of every text; return the tokens and their log-probabilities at temperature 1.

    A sample takes the token at which the cumulated probabilities, in the order of the vocabulary, pass its number. They
    are added up in double precision: what rounding differs between batches moves a token once in millions of steps.
    """
    tokens, log_probs = [], []
    wide = torch.float32 if logits.device.type == "mps" else torch.float64  # which has no doubles
    for start in range(0, len(logits), NORM_ROWS):
        part, own = logits[start : start + NORM_ROWS].float(), streams[start : start + NORM_ROWS]
        chosen = part.argmax(-1)
        drawn = [at for at, stream in enumerate(own) if stream is not None]
        if drawn:
            numbers = torch.tensor(np.array([own[at][step] for at in drawn]), dtype=wide, device=part.device)
            sums = torch.softmax(part[drawn].to(wide) / temperature, -1).cumsum(-1)
            # the first token whose sum is above the number, so that none of probability 0 is drawn
            found = torch.searchsorted(sums, (numbers * sums[:, -1])[:, None], right=True)[:, 0]
            chosen[drawn] = found.clamp(max=part.shape[-1] - 1)
        tokens += chosen.tolist()
        log_probs += (part.gather(1, chosen[:, None])[:, 0] - part.logsumexp(-1)).tolist()
    return tokens, log_probs
