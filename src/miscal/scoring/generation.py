"""What a model is asked to write, and what it wrote: no model is needed to say it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from miscal.scoring.engine import LanguageModel


@dataclass(frozen=True, slots=True)
class Generation:
    """One text that a model wrote.

    Attributes
    ----------
    text : str
        The first line that is not blank, without white space around it.
    log_probs : tuple of float
        Log-probability of each token that was written, at temperature 1 whatever the text was sampled at. The token
        that ended it is among them.
    ended : bool
        Whether the model ended the text; otherwise it was cut at the largest number of tokens.
    """

    text: str
    log_probs: tuple[float, ...]
    ended: bool


@dataclass(frozen=True, slots=True)
class Generated:
    """What was written for one batch, in its order.

    Attributes
    ----------
    texts : tuple of tuple of Generation
        Per row, one for each of its streams.
    hidden : ndarray of float32, shape (n_rows, width)
        Hidden state at the last position of the context.
    """

    texts: tuple[tuple[Generation, ...], ...]
    hidden: np.ndarray


Stream = np.ndarray | None
"""What a text is drawn by: numbers in [0, 1), one for each token, or None for the most probable token each time."""


class WritingModel(LanguageModel, Protocol):
    """A language model that also writes."""

    def generate(
        self,
        contexts: Sequence[Sequence[int]],
        streams: Sequence[Sequence[Stream]],
        *,
        temperature: float,
        longest: int,
    ) -> Generated:
        """Write one text for every stream of every context, of at most `longest` tokens each."""


def uniforms(seed: int, row_id: str, sample: int, n: int) -> np.ndarray:
    """Return the numbers that a sample is drawn by.

    They are bits of a hash, so they depend neither on the batch, the order of the rows or an interruption nor on a
    library version.

    Parameters
    ----------
    seed : int
    row_id : str
        Of the question.
    sample : int
        Number of the sample, from 0.
    n : int
        Numbers to return.

    Returns
    -------
    ndarray of float64, shape (n,)
        In [0, 1).

    Examples
    --------
    >>> bool((uniforms(0, "q1", 3, 8)[:4] == uniforms(0, "q1", 3, 4)).all())
    True
    """
    stream = hashlib.shake_256(f"{seed}:{sample}:{row_id}".encode("utf-8", "replace")).digest(8 * n)
    return (np.frombuffer(stream, dtype="<u8") >> 11) / 2.0**53


def answer_line(text: str) -> str:
    r"""Return the first line that is not blank, without white space around it.

    >>> answer_line("\n Paris \nQuestion:")
    'Paris'
    """
    return text.strip().partition("\n")[0].rstrip()
