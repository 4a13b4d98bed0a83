"""Names for parts, from what sets them apart from other rows: their metadata, their texts or their features."""

from collections.abc import Sequence

import numpy as np

from miscal.findings.enrichment import Enriched, clean_label
from miscal.findings.settings import FINDINGS_DEFAULTS, FindingsSettings

# Words of two characters or more that begin with a letter, with apostrophes and hyphens inside.
_WORD = r"(?u)\b[^\W\d_][\w'-]*\w\b"
# What the pattern above leaves of contractions; scikit-learn's stop words have the contractions, not these.
_REMNANTS = (
    "did",
    "does",
    "doing",
    "don",
    "didn",
    "doesn",
    "isn",
    "aren",
    "wasn",
    "weren",
    "won",
    "wouldn",
    "couldn",
    "shouldn",
    "ll",
    "ve",
)


def keywords(
    texts: Sequence[str], part: np.ndarray, n_parts: int, settings: FindingsSettings = FINDINGS_DEFAULTS
) -> list[tuple[str, ...]]:
    r"""Words and pairs of words that set the texts of each part apart: class-based TF-IDF.

    The weight of a term in a part is ``s log(s / s_all)**2``, where s is the share of the part's rows that contain the
    term and s_all its share of all rows: frequency times inverse frequency as in TF-IDF, with the part as the
    document (Grootendorst, "BERTopic", 2022), counted in rows so that one long text cannot fill the list, the
    logarithm squared so that common words somewhat commoner here do not lead it. A term must be commoner in the part
    than elsewhere by Fisher's exact test at 0.05 over the number of terms.

    Parameters
    ----------
    texts : sequence of str of length n
        Texts.
    part : ndarray of shape (n,), int
        Part of every row, -1 for rows of none.
    n_parts : int
        Number of parts.
    settings : FindingsSettings, optional
        Significance, length of texts, and how frequent a term must be.

    Returns
    -------
    list of tuple of str
        Per part at most eight terms in lower case, the weightiest first; empty where nothing sets it apart.

    Examples
    --------
    >>> texts = ["the court and the jury"] * 30 + ["an atom of carbon"] * 30
    >>> keywords(texts, np.repeat([0, 1], 30), 2)
    [('court jury',), ('atom carbon',)]
    """
    counts, terms = _count([text[: settings.text_length] for text in texts], settings.min_term_texts)
    if not len(terms):
        return [()] * n_parts
    return [_top_terms(counts, terms, part == index, settings) for index in range(n_parts)]


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


def _top_terms(counts, terms: np.ndarray, inside: np.ndarray, settings: FindingsSettings) -> tuple[str, ...]:
    from scipy.stats import hypergeom

    n, size = len(inside), int(inside.sum())
    total = np.asarray(counts.sum(axis=0)).ravel()
    hits = np.asarray(counts[inside].sum(axis=0)).ravel()
    least = max(settings.min_term_rows, settings.min_term_share * size)
    # the share inside exceeds the share overall: hits / size > total / n, in whole numbers
    often = np.flatnonzero((hits >= least) & (hits * n > total * size))
    p_values = hypergeom.sf(hits[often] - 1, n, total[often], size)
    # Bonferroni over all terms that were counted, the rare ones included
    often = often[p_values <= settings.significance / len(terms)]
    share = hits[often] / size
    weight = share * np.log(share * n / total[often]) ** 2
    ranked = terms[often[np.lexsort((terms[often].astype(str), -weight))]]
    return _distinct_terms(ranked, settings.max_keywords)


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


def feature_rules(
    features: np.ndarray,
    names: Sequence[str],
    part: np.ndarray,
    n_parts: int,
    settings: FindingsSettings = FINDINGS_DEFAULTS,
) -> list[str]:
    """Describe each part by the thresholds on at most two features that separate it best.

    The rule is the leaf of a decision tree of depth two (part against other rows, both with half of the weight)
    with the best F1 score.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        Inputs.
    names : sequence of str of length d
        Names of the features.
    part : ndarray of shape (n,), int
        Part of every row, -1 for rows of none.
    n_parts : int
        Number of parts.
    settings : FindingsSettings, optional
        Depth of the tree, length of a label.

    Returns
    -------
    list of str
        Such as ``"x_1 > 0.5 and x_2 ≤ 2"``; empty where no rule keeps more of the part than of the other rows.

    Examples
    --------
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> feature_rules(x, ["age"], (x[:, 0] > 0.495).astype(int), 2)
    ['age ≤ 0.5', 'age > 0.5']
    """
    return [_rule(features, names, part == index, settings) for index in range(n_parts)]


def _rule(features: np.ndarray, names: Sequence[str], inside: np.ndarray, settings: FindingsSettings) -> str:
    from sklearn.tree import DecisionTreeClassifier

    if inside.all() or not inside.any():
        return ""
    model = DecisionTreeClassifier(max_depth=settings.rule_depth, class_weight="balanced", random_state=0)
    tree = model.fit(features, inside).tree_
    # unlike the classifier, its tree takes float32 only
    leaf_of = tree.apply(np.asarray(features, np.float32))
    leaves = np.unique(leaf_of)
    hits = np.array([(inside & (leaf_of == leaf)).sum() for leaf in leaves])
    sizes = np.array([(leaf_of == leaf).sum() for leaf in leaves])
    # F1 = 2 hits / (rows of the leaf + rows of the part)
    best = leaves[np.argmax(2.0 * hits / (sizes + inside.sum()))]
    return " and ".join(_conditions(tree, int(best), [clean_label(name, settings.label_length) for name in names]))


def _conditions(tree, leaf: int, names: Sequence[str]) -> list[str]:
    """Conditions from the root to a leaf, merged where they bound the same side of the same feature."""
    bounds: dict[tuple[str, str], float] = {}
    node = 0
    while node != leaf:
        # nodes are numbered in depth-first order: the left subtree comes before the right child
        left = leaf < tree.children_right[node]
        key = (names[tree.feature[node]], "≤" if left else ">")
        # further down, a bound on the same side is tighter and takes the place of the one before
        bounds[key] = float(tree.threshold[node])
        node = int(tree.children_left[node] if left else tree.children_right[node])
    return [f"{name} {side} {bound:.2g}" for (name, side), bound in bounds.items()]


def metadata_clause(
    items: Sequence[Enriched], columns: Sequence[str] = (), settings: FindingsSettings = FINDINGS_DEFAULTS
) -> str:
    """Build the best short clause that metadata give: at most three values of one column.

    Parameters
    ----------
    items : sequence of Enriched
        Enriched values of the part, the most telling first.
    columns : sequence of str
        Columns in order of preference: of columns that tell about as much the first is named.
    settings : FindingsSettings, optional
        What the values in a name must cover.

    Returns
    -------
    str
        Such as ``"subject = law (6.2x)"``, where 6.2x is how many times as common as overall; empty if no column's
        values cover 0.4 of the part and are 1.3 times as common there as overall.

    Examples
    --------
    >>> law = Enriched("subject", "= law", 60, 0.6, 0.1, 6.0, 13.5, (9.0, 20.0), 1e-9)
    >>> metadata_clause([law]), metadata_clause([])
    ('subject = law (6.0x)', '')
    """
    rank = {name: index for index, name in enumerate(columns)}
    names = sorted({item.column for item in items}, key=lambda name: (rank.get(name, len(rank)), name))
    found = [_column_clause([item for item in items if item.column == name], settings) for name in names]
    best = max((telling for telling, _ in found), default=0.0)
    return next((clause for telling, clause in found if clause and telling >= settings.nearly_best * best), "")


def _column_clause(items: Sequence[Enriched], settings: FindingsSettings) -> tuple[float, str]:
    """Values of one column joined by "or" as long as that tells more, and how much it tells: ``share * log(lift)``."""
    chosen: list[Enriched] = []
    share = overall = telling = 0.0
    for item in items:
        more = (share + item.share) * float(np.log((share + item.share) / (overall + item.share_overall)))
        enough = not chosen or (len(chosen) < settings.max_values and item.share >= settings.value_share)
        if more > telling and enough:
            chosen, telling = [*chosen, item], more
            share, overall = share + item.share, overall + item.share_overall
    if share < settings.clause_share or share < settings.clause_lift * overall:
        return 0.0, ""
    values = " or ".join([chosen[0].value, *(item.value.removeprefix("= ") for item in chosen[1:])])
    return telling, f"{chosen[0].column} {values} ({share / overall:.1f}x)"


def part_names(
    clauses: Sequence[str], words: Sequence[Sequence[str]], rules: Sequence[str], parents: Sequence[str]
) -> list[str]:
    """Build one unique name per part from what is known of it.

    Parameters
    ----------
    clauses : sequence of str
        Metadata clauses, may be empty.
    words : sequence of sequences of str
        Keywords, may be empty.
    rules : sequence of str
        Feature rules, used where there is neither.
    parents : sequence of str
        Regime of each part.

    Returns
    -------
    list of str
        Names, all different.

    Examples
    --------
    >>> part_names(["a = 1 (2.0x)", "", ""], [["x", "y"], ["z"], []], ["", "", ""], ["over"] * 3)
    ['a = 1 (2.0x): x, y', 'z', 'over, part 3']
    >>> part_names([""], [[]], [""], ["under"])
    ['under, all of it']
    """
    names: list[str] = []
    for index, parent in enumerate(parents):
        number = list(parents[:index]).count(parent) + 1
        alone = list(parents).count(parent) == 1
        fallback = rules[index] or (f"{parent}, all of it" if alone else f"{parent}, part {number}")
        names.append(_unique(_name(clauses[index], words[index], fallback), parent, words[index], names))
    return names


def _name(clause: str, words: Sequence[str], fallback: str) -> str:
    if clause:
        return f"{clause}: {', '.join(words[:3])}" if words else clause
    return ", ".join(words[:4]) or fallback


def _unique(name: str, parent: str, words: Sequence[str], taken: Sequence[str]) -> str:
    longer = f"{name}, {', '.join(words[4:])}" if len(words) > 4 else f"{name}, {parent}"
    numbered = (f"{name}, {parent} {number}" for number in range(2, len(taken) + 3))
    return next(candidate for candidate in (name, longer, *numbered) if candidate not in taken)
