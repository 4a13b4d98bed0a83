"""Choose the hidden state of a language model that becomes x: its layer and its tokens."""

from __future__ import annotations

from dataclasses import dataclass

from miscal.base.errors import InputError

LAST, MEAN, MIDDLE = "last", "mean", "middle"


@dataclass(frozen=True)
class Layer:
    """A choice of hidden state.

    Attributes
    ----------
    block : int or None
        Transformer block, from 1, whose output is taken; None for the input of the output layer, after the final norm.
    mean : bool
        Whether the tokens of the prompt are averaged; otherwise the last one is taken.
    """

    block: int | None = None
    mean: bool = False

    def describe(self, n_blocks: int) -> str:
        """Say what is taken, for a manifest.

        >>> Layer(12).describe(24)
        'output of block 12 of 24 at the last prompt token'
        """
        what = "input of the output layer (after the final norm)"
        what = what if self.block is None else f"output of block {self.block} of {n_blocks}"
        return what + (", mean over the prompt's tokens" if self.mean else " at the last prompt token")


def check_layer(layer: str | int) -> None:
    """Refuse what names no layer of any model."""
    if layer not in (LAST, MIDDLE, MEAN) and _number(layer) < 1:
        raise InputError(f"layer must be last, middle, mean, or the number of a block, from 1; got {layer!r}")


def layer_of(layer: str | int, n_blocks: int) -> Layer:
    """Choose the hidden state of a model.

    Parameters
    ----------
    layer : {"last", "middle", "mean"} or int
        "last": the input of the output layer at the last token of the prompt. "middle": the output of the block
        in the middle, there. "mean": the input of the output layer, averaged over all tokens of the prompt, special
        ones included. A number: the output of that block, from 1, at the last token.
    n_blocks : int
        Transformer blocks of the model.

    >>> layer_of("middle", 25), layer_of("3", 25).block
    (Layer(block=13, mean=False), 3)
    """
    check_layer(layer)
    if layer == LAST:
        return Layer()
    if layer == MEAN:
        return Layer(mean=True)
    block = (n_blocks + 1) // 2 if layer == MIDDLE else _number(layer)
    if block > n_blocks:
        raise InputError(f"layer must be at most {n_blocks}, the number of blocks of the model; got {layer}")
    return Layer(block)


def _number(layer: str | int) -> int:
    """Read a whole number; 0 where it is none."""
    text = str(layer)
    return int(text) if text.isascii() and text.isdigit() else 0
