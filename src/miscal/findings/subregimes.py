"""Subregimes: coherent, named parts of the over and under regimes, each tested by outcomes that it does not rest on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import NonNegativeInt

from miscal.base.document import MeasureAgainstNull, Number, Part, Probability, Share, Text
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import average
from miscal.data.triples import Triples
from miscal.findings.enrichment import Enriched, encode, enrich
from miscal.findings.judging import SIGNS, Confirmed, judge
from miscal.findings.naming import Keywords, feature_rules, keywords, metadata_clause, mixture, part_names
from miscal.findings.parts import canonical_order, cut_parts, nearest, place_rows
from miscal.findings.settings import SETTINGS

PARENTS = ("over", "under")
"""Regimes that are cut into parts, in the order of the table."""

_KEY_VALUES = 1 << 28


class Subregime(Part):
    """A coherent, named part of a regime.

    It is cut and named on some rows by their honest field, and tested by the outcomes of rows that the field had not
    seen: both may be all rows where every value comes from a fit that left the row's own outcome out.

    `name`: unique among the subregimes; from metadata, keywords, features, or the regime and a number.
    `parent`: ``"over"`` or ``"under"``.
    `field`: the field that its regime was cut on: ``"total"``, or ``"hidden"``, where ``"over"`` means right less often
        than rows of equal confidence.
    `n`: rows that test it.
    `share`: their share of all rows that test, in [0, 1].
    `accuracy, confidence`: means over the rows that test it, in [0, 1]; None where there are none.
    `residual, visible, hidden`: over the rows that test it, means of ``y - f`` (negative: over-confident), of ``E[y |
        f] - f`` and of ``y - E[y | f]``, with 95 % intervals and raw two-sided p-values. The first is the sum of the
        others.
    `p_value`: that of its own field (`residual` or `hidden`), adjusted by Holm over all subregimes of that field; 1
        where there are no rows.
    `confirmed`: whether `p_value` is at most 0.05 and the mean has the sign of the parent.
    `confirmed_parts`: the same for the total, visible and hidden field, each adjusted in a family of its own.
    `n_fit`: rows that it was cut on.
    `delta`: mean honest total field over the rows that it was cut on, in [-1, 1].
    `keywords`: terms that set its texts apart, the weightiest first.
    `metadata`: metadata values more common in it than elsewhere, the most telling first.
    `exemplars`: typical rows: row numbers of at most five of the rows it was cut on that are nearest its centre, with
        distinct texts (where possible texts that begin differently).
    `telling`: row numbers of at most five of the rows that test it, with distinct texts: the surest that were wrong
        where over, the least sure that were right where under.
    """

    name: Text
    parent: str
    field: str = "total"
    n: NonNegativeInt
    share: Share
    accuracy: Number
    confidence: Number
    residual: MeasureAgainstNull
    visible: MeasureAgainstNull | None = None
    hidden: MeasureAgainstNull | None = None
    p_value: Probability
    confirmed: bool
    confirmed_parts: Confirmed = Confirmed()
    n_fit: NonNegativeInt
    delta: Number
    keywords: tuple[Text, ...]
    metadata: tuple[Enriched, ...]
    exemplars: tuple[NonNegativeInt, ...]
    telling: tuple[NonNegativeInt, ...] = ()


@dataclass(frozen=True)
class Subregimes:
    """All subregimes of a run.

    `table`: those of the over regime first, the strongest mean field first. Unconfirmed ones stay in it. `name`, object
    (n,): name of every row's subregime, None for rows of none.
    """

    table: tuple[Subregime, ...]
    name: np.ndarray


def find_subregimes(
    triples: Triples,
    rows: LabelledRows,
    coordinates: np.ndarray,
    regime: np.ndarray,
    *,
    cut_on: np.ndarray,
    tested: np.ndarray,
    by: Literal["total", "hidden"] = "total",
    random_state: int | np.random.Generator = 0,
) -> Subregimes:
    """Cut the over and under regimes into coherent, named parts and test each on outcomes that the field had not seen.

    Rows of a regime are cut by k-means into as many clusters as would be found again in other rows, and clusters that
    run into each other are one part unless their fields differ (:func:`miscal.findings.parts.cut_parts`). Rows that are
    not cut on go to the nearest centre of their own regime. Outcomes take no part in it, nor do metadata and texts.
    The mean residual of each part, its visible and its hidden part are tested two-sided
    (:func:`miscal.findings.judging.judge`), each with Holm's adjustment over all parts of both regimes.

    `triples`: all rows. The leading components of `X` (where it has columns) stand beside the coordinates, so that
    parts also have a common subject. At most 30 names of the encoder give names such as ``"age > 60"``; texts give
    keywords and distinct exemplars; metadata are what a name should rather use first. `rows`: the same rows with
    `delta`, `hidden` and `row`, honest on every row. Outcomes and E[y | f] are used of tested rows alone. Weights count
    in what is said of a part; parts are cut without them. `coordinates`, (n, k): learned coordinates: inputs that are
    miscalibrated alike lie close. A row's must not depend on its own outcome if the row is both cut on and tested: the
    honest fields themselves, say. `regime`, object (n,): ``"over"``, ``"good"``, ``"under"``, or None where there is
    none, as :func:`miscal.estimators.estimate.regimes_of` gives it of the field that `by` names. `cut_on`, bool (n,):
    rows that parts are cut and named on: at least one. `tested`, bool (n,): rows whose outcomes test the parts. `by`:
    the field that `regime` was cut on: neighbouring parts are joined where it is alike, and `confirmed` is by it.
    Returns the table, and the name of every row's subregime.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1], 500)
    >>> x = group[:, None] * 20.0 + rng.normal(size=(1000, 2))
    >>> test, y, f = rng.random(1000) < 0.2, (rng.random(1000) < 0.5).astype(float), np.full(1000, 0.9)
    >>> triples = Triples(np.zeros((1000, 0)), f, y, metadata={"subject": np.array(["law", "math"])[group]})
    >>> rows = LabelledRows(y, f, np.full(1000, 0.5), np.full(1000, -0.4), np.zeros(1000), triples.row)
    >>> found = find_subregimes(triples, rows, x, np.full(1000, "over"), cut_on=~test, tested=test)
    >>> sorted(part.name for part in found.table)
    ['subject = law', 'subject = math']
    >>> all(part.confirmed and part.residual.value < 0 for part in found.table)
    True
    >>> any(part.confirmed_parts.hidden for part in found.table)
    False
    """
    coordinates = coordinates.astype(np.float32, copy=False)
    features = triples.places if triples.X.shape[1] else None
    # from here on rows are in canonical order; `at` leads back to the caller's
    # columns of very large inputs are far apart on disk, and needed for ties only
    keys = features if features is not None and features.size <= _KEY_VALUES else None
    at = canonical_order(coordinates, keys, rows.row)
    rows, regime = rows.take(at), regime[at]
    test, fit = np.flatnonzero(tested[at]), np.flatnonzero(cut_on[at])
    rng = np.random.default_rng(random_state)
    positions = place_rows(coordinates, features, at[fit], rng)[at]
    field = rows.hidden if by == "hidden" else rows.delta
    part, parents = _cut_regimes(positions, field, regime, fit, rng)
    described = _describe(triples, at[fit], part[fit], parents, by, rng)
    text = None if triples.text is None else np.array(triples.text, dtype=object)[at]
    judged = judge(
        rows.take(test), [part[test] == index for index in range(len(parents))], [SIGNS[parent] for parent in parents]
    )
    table = []
    for index, (parent, found) in enumerate(zip(parents, judged, strict=True)):
        inside, seen = part[test] == index, fit[part[fit] == index]
        own, learned = rows.take(test[inside]), rows.take(seen)
        table.append(
            Subregime(
                **described[index],
                parent=parent,
                field=by,
                n=len(own),
                share=average(inside, None if rows.weight is None else rows.weight[test]),
                accuracy=average(own.correct, own.weight) if len(own) else None,
                confidence=average(own.confidence, own.weight) if len(own) else None,
                residual=found.residual,
                visible=found.visible,
                hidden=found.hidden,
                p_value=found.p_values[by],
                confirmed=getattr(found.confirmed, by),
                confirmed_parts=found.confirmed,
                n_fit=len(learned),
                delta=average(learned.delta, learned.weight),
                exemplars=_exemplars(learned, positions[seen], None if text is None else text[seen]),
                telling=_telling(own, None if text is None else text[test[inside]], by, parent),
            )
        )
    name_of_row = np.full(len(at), None, dtype=object)
    # part -1, of rows without one, picks the last entry: None
    name_of_row[at] = np.array([*(one.name for one in table), None], dtype=object)[part]
    return Subregimes(tuple(table), name_of_row)


def _cut_regimes(
    positions: np.ndarray, field: np.ndarray, regime: np.ndarray, fit: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, list[str]]:
    """Cut each regime by its rows to cut on; the part of every row (-1: none), and the regime of each part.

    Any other row belongs to the part of the nearest centre of its own regime.
    """
    size = max(SETTINGS.min_rows, int(np.ceil(SETTINGS.min_share * len(fit))))
    part, parents = np.full(len(regime), -1), []
    for parent in PARENTS:
        chosen = fit[regime[fit] == parent]
        centres, part_of_centre = cut_parts(positions[chosen], field[chosen], rng, min_rows=size)
        if len(centres):
            inside = regime == parent
            # parts are counted through both regimes
            part[inside] = part_of_centre[nearest(positions[inside], centres)] + len(parents)
        parents += [parent] * len(np.unique(part_of_centre))
    return part, parents


def _describe(
    triples: Triples, at: np.ndarray, part: np.ndarray, parents: list[str], by: str, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Name every part, with keywords and metadata, by the rows that it was cut on: their places, and their parts."""
    n_parts = len(parents)
    encoded = [encode(name, values[at]) for name, values in triples.metadata.items()]
    columns = [column for column in encoded if column is not None]
    enriched = enrich(columns, part, n_parts)
    some = np.sort(rng.permutation(len(at))[: SETTINGS.max_texts])
    terms, rules = [Keywords()] * n_parts, [""] * n_parts
    if triples.text is not None:
        terms = keywords([triples.text[i] for i in at[some]], part[some], n_parts)
    names = (getattr(triples.encoder, "names", None) or ())[: triples.layout.places]
    if 0 < len(names) <= SETTINGS.max_named_features:
        rules = feature_rules(triples.places[at[some]], names, part[some], n_parts)
    order = [column.name for column in columns]
    inside = [part == index for index in range(n_parts)]
    clauses = [metadata_clause(items, float(some.mean()), order) for items, some in zip(enriched, inside, strict=True)]
    mixtures = [mixture(columns, items, some) for items, some in zip(enriched, inside, strict=True)]
    names = part_names(clauses, terms, rules, mixtures, parents, by, triples.kind)
    return [
        {"name": name, "keywords": words.terms, "metadata": items}
        for name, words, items in zip(names, terms, enriched, strict=True)
    ]


def _exemplars(rows: LabelledRows, positions: np.ndarray, text: np.ndarray | None) -> tuple[int, ...]:
    """Row numbers of exemplars: rows near the centre whose texts begin differently, then rows whose texts differ.

    Without texts, rows at different positions: equal inputs give one exemplar.
    """
    distance = ((positions - positions.mean(axis=0)) ** 2).sum(axis=1)
    order = np.lexsort((rows.row, distance))[: SETTINGS.exemplar_pool]
    # without texts, numbers of the positions stand in for them: equal inputs count once
    texts = np.unique(positions[order], axis=0, return_inverse=True)[1].ravel() if text is None else text[order]
    return tuple(rows.row[order[_distinct(texts, (SETTINGS.text_start, None))]].tolist())


def _telling(rows: LabelledRows, text: np.ndarray | None, by: str, parent: str) -> tuple[int, ...]:
    """Row numbers of the rows that show best what is wrong with the part: distinct texts, of which none is typical."""
    over = parent == "over"
    wrong = np.flatnonzero(rows.correct == (0.0 if over else 1.0))
    # sure and wrong (or unsure and right) where the field of the part is large: what its rows are, not only how sure
    sure = rows.confidence[wrong] if over else 1.0 - rows.confidence[wrong]
    field = np.maximum((rows.hidden if by == "hidden" else rows.delta)[wrong] * SIGNS[parent], 0.0)
    order = wrong[np.lexsort((rows.row[wrong], -sure, -sure * field))][: SETTINGS.exemplar_pool]
    return tuple(rows.row[order[_distinct(order if text is None else text[order], (None,))]].tolist())


def _distinct(texts: np.ndarray, lengths: Sequence[int | None]) -> list[int]:
    """Choose the first texts that differ in so many first characters, then, if they are too few, in the next number.

    What a person overlooks is no difference: space and case.
    """
    plain = [" ".join(str(text).split()).casefold() for text in texts]
    chosen: list[int] = []
    for length in lengths:
        seen = {plain[at][:length] for at in chosen}
        for at, text in enumerate(plain):
            if text[:length] not in seen and len(chosen) < SETTINGS.n_exemplars:
                seen.add(text[:length])
                chosen.append(at)
    return chosen
