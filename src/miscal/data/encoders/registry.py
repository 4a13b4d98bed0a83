"""The list of encoders, and which of them a column of text gets."""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.base.errors import InputError
from miscal.data.encoders.combined import Combined
from miscal.data.encoders.embeddings import Embeddings
from miscal.data.encoders.features import FeatureColumns
from miscal.data.encoders.protocol import Encoder
from miscal.data.encoders.sentence import TextSentenceTransformer, default_sentence_model
from miscal.data.encoders.tfidf import TextTfidfSvd

ENCODERS: list[type[Encoder]] = [
    Embeddings,
    FeatureColumns,
    Combined,
    TextTfidfSvd,
    TextSentenceTransformer,
]


def text_encoder(column: str = "text", *, model: str | None = None, seed: int = 0) -> Encoder:
    """Choose the encoder for a column of texts.

    Parameters
    ----------
    column : str, default "text"
    model : str, optional
        The name of an encoder of text ("tfidf" is that of kind "text-tfidf"), or a sentence-transformers folder or hub
        id. By default a sentence model if one is on this machine, else TF-IDF.
    seed : int, default 0

    Returns
    -------
    Encoder
        Not yet fitted.

    Examples
    --------
    >>> text_encoder("question", model="tfidf").kind
    'text-tfidf'
    """
    if model is None and default_sentence_model() is None:
        return TextTfidfSvd(column, seed=seed)
    named = _by_kind().get(f"text-{model}")
    if named is not None and named is not TextSentenceTransformer:
        return named(column, seed=seed)
    return TextSentenceTransformer(column, model)


def encoder_from_state(config: dict[str, Any], tensors: dict[str, np.ndarray]) -> Encoder:
    """Rebuild the encoder whose `state()` gave `config` and `tensors`.

    Raises
    ------
    InputError
        If the kind is not known to this version.

    Examples
    --------
    >>> encoder_from_state(*Embeddings(3).state()).n_features
    3
    """
    kinds = _by_kind()
    kind = config.get("kind")
    if kind not in kinds:
        raise InputError(
            f"the saved model makes its inputs in a way that this version of miscal does not know: got kind {kind!r}, "
            f"known are {', '.join(kinds)}. Upgrade miscal, or fit the model again"
        )
    return kinds[kind].from_state(config, tensors)


def _by_kind() -> dict[str, Any]:  # classes; a protocol says nothing of constructors
    return {encoder.kind: encoder for encoder in ENCODERS}
