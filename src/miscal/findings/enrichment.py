"""Find the values of metadata, the words and pairs of words that are more common in a part than elsewhere.

Metadata never enter the cut, so these tests are fair: given the counts, membership and value are independent under
the null, and Fisher's exact test applies.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Part, Share, Text
from miscal.evidence.settings import SIGNIFICANCE

MISSING, EMPTY = "(missing)", "(empty)"
Z_INTERVAL = 1.959964
"""Normal quantile of the 95 % interval of an odds ratio. A convention; all that follow are not tuned."""

MOST_ITEMS = 6
"""Values of metadata that are shown of a regime."""
LEAST_COUNT = 5
"""Rows that a value needs in a regime to be shown, and hence in all to be tested."""
NUMERIC_VALUES = 12
"""A column of numbers with more distinct values is cut at its quartiles."""
IDENTIFIER_SHARE = 0.5
"""A column with more distinct values than this share of its rows is an identifier and explains nothing."""
LABEL_LENGTH = 40
"""Characters of a value that are shown."""

TEXT_LENGTH = 2_000
"""Characters of a text that keywords are counted in."""
MOST_KEYWORDS = 8
"""Keywords of a regime."""
LEAST_TEXTS = 5
"""Texts of all that a keyword needs to be counted at all (memory against rare words)."""
LEAST_ROWS, LEAST_SHARE = 3, 0.02
"""Rows of a regime that a keyword needs, and their share of it: typical words against rare ones."""


@dataclass(frozen=True)
class Column:
    """One metadata column as codes.

    `name`: name of the column. `labels`: what each code means: ``= law``, or ``> 210`` for a quartile of numbers.
    `codes`, int (n,): code of every row.
    """

    name: str
    labels: tuple[str, ...]
    codes: np.ndarray


class Enriched(Part):
    """A metadata value that is more common among the rows of a part than among the other rows.

    `value`: the value as it follows the name of the column: ``= law``, or a range of numbers such as ``> 210``.
    `n`: rows of the part with the value (train and validation rows).
    `share`: their share of the part, in [0, 1].
    `share_overall`: share of the value among all rows, in (0, 1].
    `lift`: ``share / share_overall``: how many times as common as overall.
    `odds_ratio`: odds of the value inside the part over the odds outside, half a row added to every cell (Haldane,
        Anscombe).
    `interval`: 95 % interval of the odds ratio (Woolf).
    `p_value`: One-sided (commoner) Fisher exact test, adjusted by Benjamini and Hochberg over all values of all parts,
        of every column; values of fewer than five rows in all are not tested.
    """

    column: Text
    value: Text
    n: NonNegativeInt
    share: Share
    share_overall: Share
    lift: FiniteFloat
    odds_ratio: FiniteFloat
    interval: tuple[FiniteFloat, FiniteFloat]
    p_value: Share

    @property
    def words(self) -> str:
        """``"subject = law"``."""
        return f"{self.column} {self.value}"


def clean_label(value: Any, length: int = LABEL_LENGTH) -> str:
    r"""Return a value as one short line of text, of `length` characters at most.

    Examples
    --------
    >>> clean_label("a\n b"), clean_label(2.0), clean_label(None)
    ('a b', '2', '(missing)')
    """
    if value is None or value != value:  # NaN and NaT are unequal to themselves
        return MISSING
    if isinstance(value, float | np.floating):
        value = f"{value:g}"
    # cut before it is split, so that a long document costs no more than a short one
    text = " ".join(str(value)[: 4 * length].split()) or EMPTY
    return text if len(text) <= length else text[: length - 1] + "…"


def written_date(value: Any) -> str:
    """Return a date as text, to the second; a midnight is left out.

    Examples
    --------
    >>> written_date(np.datetime64("2021-03-01", "us")), written_date(np.datetime64("2021-03-01T12:30:00"))
    ('2021-03-01', '2021-03-01T12:30:00')
    """
    return str(np.datetime64(value, "s")).removesuffix("T00:00:00")


def written_time(time: np.datetime64 | np.float64) -> str:
    """Return a value of the column of time as text, a date or a number.

    >>> written_time(np.datetime64("2021-03-01", "us")), written_time(np.float64(2021.5))
    ('2021-03-01', '2021.5')
    """
    return written_date(time) if isinstance(time, np.datetime64) else f"{time:.10g}"


def encode(name: str, values: Any) -> Column | None:
    """Turn a metadata column into codes.

    `name`: name of the column. `values`, (n,): values of any kind; None and NaN count as a value of their own. Returns
    none if the column says nothing about groups of rows: a single value, or identifiers (more than half of the rows
    have a value of their own; fractions are not identifiers).

    Examples
    --------
    >>> encode("subject", ["law", "law", "math"] * 5).labels
    ('= law', '= math')
    >>> encode("id", [f"q{i}" for i in range(20)]) is None
    True
    """
    values = np.asarray(values)
    name = clean_label(name, LABEL_LENGTH)
    if values.dtype.kind == "M":
        return _encode_dates(name, values)
    if values.dtype.kind == "f" or (values.dtype.kind in "iu" and len(np.unique(values)) > NUMERIC_VALUES):
        return _encode_numbers(name, values)
    labels = np.array([clean_label(value, LABEL_LENGTH) for value in values.tolist()], dtype=object)
    distinct, codes = np.unique(labels.astype(str), return_inverse=True)
    if len(distinct) < 2 or len(distinct) > IDENTIFIER_SHARE * len(values):
        return None
    return Column(name, tuple(f"= {label}" for label in distinct), codes)


def _encode_numbers(name: str, values: np.ndarray) -> Column | None:
    finite = np.isfinite(values.astype(float))
    known = np.unique(values[finite])
    whole = bool(np.all(known == np.round(known)))
    if len(known) < 2 or (whole and len(known) > IDENTIFIER_SHARE * len(values)):
        return None
    if len(known) <= NUMERIC_VALUES:
        cuts, labels = known[:-1], [f"= {value:g}" for value in known]
    else:
        # a quartile that many rows share is met once
        # "lower": a cut is a value that occurs, so labels quote the data
        cuts = np.unique(np.quantile(values[finite], (0.25, 0.5, 0.75), method="lower"))
        between = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(cuts)]
        labels = [f"≤ {cuts[0]:.4g}", *between, f"> {cuts[-1]:.4g}"]
    codes = np.where(finite, np.searchsorted(cuts, np.where(finite, values, cuts[0]), side="left"), len(labels))
    return Column(name, (*labels, f"= {MISSING}"), codes)


def _encode_dates(name: str, values: np.ndarray) -> Column | None:
    """Few dates one by one, many in quarters of the rows."""
    known = ~np.isnat(values)
    distinct = np.unique(values[known])
    if len(distinct) < 2:
        return None
    if len(distinct) <= NUMERIC_VALUES:
        starts, labels = distinct, [f"= {written_date(value)}" for value in distinct]
    else:
        quarters = np.quantile(values[known].astype(np.int64), (0.25, 0.5, 0.75), method="lower").astype(values.dtype)
        later = np.unique(quarters[quarters > distinct[0]])
        starts = np.r_[distinct[:1], later if len(later) else distinct[1:2]]
        # the last value of each span that begins at one of the starts
        lasts = distinct[np.r_[np.searchsorted(distinct, starts[1:]) - 1, len(distinct) - 1]]
        first, last = ([written_date(value) for value in ends] for ends in (starts, lasts))
        between = [f"between {low} and {high}" for low, high in zip(first[1:-1], last[1:-1], strict=True)]
        labels = [f"before {first[1]}", *between, f"after {last[-2]}"]
    codes = np.where(known, np.searchsorted(starts, np.where(known, values, starts[0]), side="right") - 1, len(labels))
    return Column(name, (*labels, f"= {MISSING}"), codes)


def enrich(columns: Sequence[Column], parts: Sequence[np.ndarray]) -> list[tuple[Enriched, ...]]:
    """Find the metadata values that are more common in each part than among the other rows.

    `columns`: metadata. `parts`: which rows are in each, bool (n,). Returns per part at most six values with
    adjusted p at most 0.05, those that tell most first: by ``share * log(lift)``, the value's term in the
    divergence of the part from all rows. Each has at least five rows in the part.

    Examples
    --------
    >>> column = encode("subject", ["law"] * 30 + ["math"] * 70)
    >>> [[item]] = enrich([column], [np.arange(100) < 30])
    >>> item.value, item.share, round(item.lift, 2)
    ('= law', 1.0, 3.33)
    """
    from scipy.stats import false_discovery_control

    tested = [
        (column, index, code, *numbers)
        for column in columns
        for index, inside in enumerate(parts)
        for code, *numbers in _tested_values(column, inside)
    ]
    adjusted = false_discovery_control([p_value for *_, p_value in tested]) if tested else ()
    kept: list[list[Enriched]] = [[] for _ in parts]
    for (column, index, code, hits, total, _), p_value in zip(tested, adjusted, strict=True):
        if p_value <= SIGNIFICANCE:
            n, size = len(parts[index]), int(parts[index].sum())
            ratio, interval = odds_ratio(hits, size - hits, total - hits, n - size - total + hits)
            share, overall = hits / size, total / n
            item = Enriched(
                column=column.name,
                value=column.labels[code],
                n=hits,
                share=share,
                share_overall=overall,
                lift=share / overall,
                odds_ratio=ratio,
                interval=interval,
                p_value=float(p_value),
            )
            kept[index].append(item)
    telling = lambda item: (-item.share * np.log(item.lift), item.column, item.value)  # noqa: E731
    return [tuple(sorted(items, key=telling)[:MOST_ITEMS]) for items in kept]


def _tested_values(column: Column, inside: np.ndarray) -> Iterable[tuple[int, int, int, float]]:
    """Test every value that could be shown: its code, its rows inside and in all, and its p-value.

    What enters the correction for multiple tests is chosen by the total alone, which says nothing about membership. A
    value that is common enough but has fewer than five rows in the part gets p-value 1. Leaving it out would
    correct the others for too few tests, because its rows in the part would have decided that it is left out.
    """
    total = np.bincount(column.codes, minlength=len(column.labels))
    codes = np.flatnonzero(total >= LEAST_COUNT)
    total, hits = total[codes], np.bincount(column.codes[inside], minlength=len(column.labels))[codes]
    p_values, enough = np.ones(len(codes)), hits >= LEAST_COUNT
    p_values[enough] = _fisher(hits[enough], total[enough], int(inside.sum()), len(inside))
    return zip(codes.tolist(), hits.tolist(), total.tolist(), p_values.tolist(), strict=True)


def _fisher(hits: np.ndarray, total: np.ndarray, size: int, n: int) -> np.ndarray:
    """One-sided p-values; a tail takes up to a millisecond, and of many values many have the same counts."""
    from scipy.stats import hypergeom

    # total and hits in one whole number
    pairs, which = np.unique(total * (n + 1) + hits, return_inverse=True)
    # P(as many hits or more), hence the 1 less
    return np.minimum(hypergeom.sf(pairs % (n + 1) - 1, n, pairs // (n + 1), size), 1.0)[which]


def odds_ratio(a: int, b: int, c: int, d: int) -> tuple[float, tuple[float, float]]:
    """Odds ratio ``ad / bc`` of a two-by-two table and its 95 % interval.

    Half a row is added to every cell (Haldane 1956, Anscombe 1956); the interval is Woolf's (1955), on the log scale.

    `a, b, c, d`: rows with and without the value inside, with and without it outside.

    Examples
    --------
    >>> ratio, (low, high) = odds_ratio(10, 10, 10, 10)
    >>> ratio, round(low, 2), round(high, 2)
    (1.0, 0.3, 3.35)
    """
    cells = np.array([a, b, c, d]) + 0.5
    log_ratio = float(np.log(cells) @ [1, -1, -1, 1])
    half = Z_INTERVAL * float(np.sqrt((1.0 / cells).sum()))
    low, ratio, high = np.exp([log_ratio - half, log_ratio, log_ratio + half]).tolist()
    return ratio, (low, high)


# Words of two characters or more that begin with a letter, with apostrophes and hyphens inside.
_WORD = r"(?u)\b[^\W\d_][\w'-]*\w\b"
# What the pattern above leaves of contractions; scikit-learn's stop words have the contractions, not these.
_REMNANTS = (
    *("did", "does", "doing", "don", "didn", "doesn", "isn", "aren", "wasn", "weren"),
    *("won", "wouldn", "couldn", "shouldn", "ll", "ve"),
)


def keywords(texts: Sequence[str], parts: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
    r"""Words and pairs of words that set the texts of each part apart: class-based TF-IDF.

    The weight of a term in a part is ``s log(s / s_all)**2``, where s is the share of the part's rows that contain the
    term and s_all its share of all rows: frequency times inverse frequency as in TF-IDF, with the part as the
    document (Grootendorst, "BERTopic", 2022), counted in rows so that one long text cannot fill the list, the
    logarithm squared so that common words somewhat commoner here do not lead it. A term must be commoner in the part
    than elsewhere by Fisher's exact test at 0.05 over the number of terms.

    `texts`: texts. `parts`: which rows are in each, bool (n,). Returns per part at most eight terms in lower case,
    the weightiest first; empty where nothing sets it apart.

    Examples
    --------
    >>> texts = ["the court and the jury"] * 30 + ["an atom of carbon"] * 30
    >>> law, chemistry = keywords(texts, [np.arange(60) < 30, np.arange(60) >= 30])
    >>> law, chemistry
    (('court jury',), ('atom carbon',))
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    counter = CountVectorizer(
        binary=True,
        ngram_range=(1, 2),
        stop_words=sorted(ENGLISH_STOP_WORDS.union(_REMNANTS)),
        token_pattern=_WORD,
        # of fewer than 50 texts, a tenth of them is enough
        min_df=min(LEAST_TEXTS, max(1, len(texts) // 10)),
        dtype=np.int32,
    )
    try:
        # rows by terms, 0 or 1
        counts = counter.fit_transform([text[:TEXT_LENGTH] for text in texts]).tocsr()
    except ValueError:  # scikit-learn's way to say that no word is left
        return [()] * len(parts)
    terms = counter.get_feature_names_out()
    return [_top_terms(counts, terms, inside) for inside in parts]


def _top_terms(counts, terms: np.ndarray, inside: np.ndarray) -> tuple[str, ...]:
    from scipy.stats import hypergeom

    n, size = len(inside), int(inside.sum())
    total = np.asarray(counts.sum(axis=0)).ravel()
    hits = np.asarray(counts[inside].sum(axis=0)).ravel()
    least = max(LEAST_ROWS, LEAST_SHARE * size)
    # the share inside exceeds the share overall: hits / size > total / n, in whole numbers
    often = np.flatnonzero((hits >= least) & (hits * n > total * size))
    p_values = hypergeom.sf(hits[often] - 1, n, total[often], size)
    # Bonferroni over all terms that were counted, the rare ones included
    often = often[p_values <= SIGNIFICANCE / len(terms)]
    share = hits[often] / size
    weight = share * np.log(share * n / total[often]) ** 2
    ranked = often[np.lexsort((terms[often].astype(str), -weight))]
    return _distinct_terms(terms[ranked], MOST_KEYWORDS)


def _distinct_terms(ranked: np.ndarray, most: int) -> tuple[str, ...]:
    """Of terms that share a word keep the first, or the pair that stands close behind its word."""
    kept: list[str] = []
    for term in ranked[: 3 * most]:
        words = set(term.split())
        clash = [old for old in kept if words & set(old.split())]
        if not clash:
            kept.append(term)
        elif len(clash) == 1 and set(clash[0].split()) < words:
            kept[kept.index(clash[0])] = term
    return tuple(kept[:most])
