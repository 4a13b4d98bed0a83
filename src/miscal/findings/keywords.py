"""Words and pairs of words that set the texts of a regime apart from others."""

from collections.abc import Sequence

import numpy as np

from miscal.findings.settings import SETTINGS

# Words of two characters or more that begin with a letter, with apostrophes and hyphens inside.
_WORD = r"(?u)\b[^\W\d_][\w'-]*\w\b"
# What the pattern above leaves of contractions; scikit-learn's stop words have the contractions, not these.
_REMNANTS = (
    *("did", "does", "doing", "don", "didn", "doesn", "isn", "aren", "wasn", "weren"),
    *("won", "wouldn", "couldn", "shouldn", "ll", "ve"),
)


def keywords(texts: Sequence[str], part: np.ndarray, n_parts: int) -> list[tuple[str, ...]]:
    r"""Words and pairs of words that set the texts of each part apart: class-based TF-IDF.

    The weight of a term in a part is ``s log(s / s_all)**2``, where s is the share of the part's rows that contain the
    term and s_all its share of all rows: frequency times inverse frequency as in TF-IDF, with the part as the
    document (Grootendorst, "BERTopic", 2022), counted in rows so that one long text cannot fill the list, the
    logarithm squared so that common words somewhat commoner here do not lead it. A term must be commoner in the part
    than elsewhere by Fisher's exact test at 0.05 over the number of terms.

    `texts`: texts. `part`, int (n,): part of every row, -1 for rows of none. `n_parts`: number of parts. Returns per
    part at most eight terms in lower case, the weightiest first; empty where nothing sets it apart.

    Examples
    --------
    >>> texts = ["the court and the jury"] * 30 + ["an atom of carbon"] * 30
    >>> law, chemistry = keywords(texts, np.repeat([0, 1], 30), 2)
    >>> law, chemistry
    (('court jury',), ('atom carbon',))
    """
    counts, terms = _count([text[: SETTINGS.text_length] for text in texts], SETTINGS.min_term_texts)
    if not len(terms):
        return [()] * n_parts
    return [_top_terms(counts, terms, part == index) for index in range(n_parts)]


def _count(texts: list[str], least: int) -> tuple:
    """Rows by terms (sparse, 0/1) and the terms."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    counter = CountVectorizer(
        binary=True,
        ngram_range=(1, 2),
        stop_words=sorted(ENGLISH_STOP_WORDS.union(_REMNANTS)),
        token_pattern=_WORD,
        # of fewer than 50 texts, a tenth of them is enough
        min_df=min(least, max(1, len(texts) // 10)),
        dtype=np.int32,
    )
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # scikit-learn's way to say that no word is left
        return None, np.array([], dtype=object)
    return counts.tocsr(), counter.get_feature_names_out()


def _top_terms(counts, terms: np.ndarray, inside: np.ndarray) -> tuple[str, ...]:
    from scipy.stats import hypergeom

    n, size = len(inside), int(inside.sum())
    total = np.asarray(counts.sum(axis=0)).ravel()
    hits = np.asarray(counts[inside].sum(axis=0)).ravel()
    least = max(SETTINGS.min_term_rows, SETTINGS.min_term_share * size)
    # the share inside exceeds the share overall: hits / size > total / n, in whole numbers
    often = np.flatnonzero((hits >= least) & (hits * n > total * size))
    p_values = hypergeom.sf(hits[often] - 1, n, total[often], size)
    # Bonferroni over all terms that were counted, the rare ones included
    often = often[p_values <= SETTINGS.significance / len(terms)]
    share = hits[often] / size
    weight = share * np.log(share * n / total[often]) ** 2
    ranked = often[np.lexsort((terms[often].astype(str), -weight))]
    return _distinct_terms(terms[ranked], SETTINGS.max_keywords)


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
