"""What the regimes of the total field are made of: values and words that are enriched in them, and typical rows."""

from typing import Any

import numpy as np

from miscal.data.triples import Triples
from miscal.findings.enrichment import encode, enrich
from miscal.findings.judging import SIGNS
from miscal.findings.keywords import keywords
from miscal.findings.settings import SETTINGS


def contents_of(
    triples: Triples, delta: np.ndarray, regime: np.ndarray, inside: np.ndarray, *, seed: int
) -> dict[str, dict[str, Any]]:
    """Say of the over and the under regime what is more common in it than elsewhere, and show rows of it.

    Outcomes take no part. `delta`, (n,): the field. `regime`, object (n,): as
    :func:`miscal.estimators.estimate.regimes_of` gives it. `inside`, bool (n,): the rows that are looked at. `seed`: of
    the texts that are counted, where there are more than 20,000. Returns ``metadata``, ``keywords`` and ``exemplars``
    of each by the name of the regime: at most five rows whose field is nearest its mean, with distinct texts, or
    without texts with distinct inputs.

    Examples
    --------
    >>> law = np.arange(200) % 2 == 0
    >>> triples = Triples(np.zeros((200, 0)), law * 0.4, law * 1.0, metadata={"subject": np.where(law, "law", "art")})
    >>> found = contents_of(triples, np.where(law, -0.2, 0.0), np.where(law, "over", "good"), law | True, seed=0)
    >>> [one.words for one in found["over"]["metadata"]], found["under"]["exemplars"]
    (['subject = law'], ())
    """
    at, names = np.flatnonzero(inside), list(SIGNS)
    part = np.full(len(at), -1)
    for place, name in enumerate(names):
        part[regime[at] == name] = place
    encoded = [encode(name, values[at]) for name, values in triples.metadata.items()]
    enriched = enrich([column for column in encoded if column is not None], part, len(names))
    words: list[tuple[str, ...]] = [()] * len(names)
    if triples.text is not None:
        some = np.sort(np.random.default_rng(seed).permutation(len(at))[: SETTINGS.max_texts])
        words = keywords([triples.text[i] for i in at[some]], part[some], len(names))
    return {
        name: {"metadata": items, "keywords": terms, "exemplars": _exemplars(triples, delta, at[part == place])}
        for place, (name, items, terms) in enumerate(zip(names, enriched, words, strict=True))
    }


def _exemplars(triples: Triples, delta: np.ndarray, at: np.ndarray) -> tuple[int, ...]:
    """Row numbers of typical rows: texts that begin differently, then texts that differ."""
    if not len(at):
        return ()
    order = at[np.lexsort((triples.row[at], np.abs(delta[at] - delta[at].mean())))][: SETTINGS.exemplar_pool]
    if triples.text is None:
        # numbers of the inputs stand for texts: equal ones count once
        plain = list(map(str, np.unique(triples.X[order], axis=0, return_inverse=True)[1].ravel()))
    else:
        # what a person overlooks is no difference: space and case
        plain = [" ".join(str(triples.text[i]).split()).casefold() for i in order]
    chosen: list[int] = []
    for length in (SETTINGS.text_start, None):
        seen = {plain[place][:length] for place in chosen}
        for place, text in enumerate(plain):
            if text[:length] not in seen and len(chosen) < SETTINGS.n_exemplars:
                seen.add(text[:length])
                chosen.append(place)
    return tuple(triples.row[order[chosen]].tolist())
