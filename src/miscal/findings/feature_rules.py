"""Name parts by bounds on their inputs: the best leaf of a small tree."""

from collections.abc import Sequence

import numpy as np

from miscal.base.precision import Standard
from miscal.findings.enrichment import clean_label
from miscal.findings.naming import needed_lift
from miscal.findings.settings import FINDINGS_DEFAULTS, FindingsSettings


def feature_rules(
    features: np.ndarray,
    names: Sequence[str],
    part: np.ndarray,
    n_parts: int,
    settings: FindingsSettings = FINDINGS_DEFAULTS,
) -> list[str]:
    """Describe each part by the thresholds on at most two features that separate it best.

    The rule is the leaf of a decision tree of depth two (part against other rows, both with half of the weight)
    with the best F1 score, if it names the part as well as metadata would have to (:func:`metadata_clause`).

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
        Such as ``"x_1 > 0.5 and x_2 ≤ 2"``; empty where the best rule holds for less than 0.4 of the part's rows, or is
        not enough times as common among them as overall (:func:`needed_lift`).

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
    # trees narrow what they are given to float32
    standard = Standard.of(features)
    single = standard(features)
    tree = model.fit(single, inside).tree_
    leaf_of = tree.apply(single)
    leaves = np.unique(leaf_of)
    hits = np.array([(inside & (leaf_of == leaf)).sum() for leaf in leaves])
    sizes = np.array([(leaf_of == leaf).sum() for leaf in leaves])
    # F1 = 2 hits / (rows of the leaf + rows of the part)
    best = int(np.argmax(2.0 * hits / (sizes + inside.sum())))
    share, overall = hits[best] / inside.sum(), sizes[best] / len(inside)
    if share < settings.clause_share or share < needed_lift(inside.mean(), settings) * overall:
        return ""
    short = [clean_label(name, settings.label_length) for name in names]
    bounds = _bounds(tree, int(leaves[best]), standard)
    # a row has one level of a category, which says what the others are not
    levels = {
        place: (short[place].partition("=")[0], short[place].partition("=")[2])
        for place, _ in bounds
        if _is_level(short[place], features[:, place])
    }
    known = {levels[place][0] for place, side in bounds if place in levels and side == ">"}
    conditions = [
        f"{short[place]} {side} {bound}" if place not in levels else _of_level(*levels[place], side == ">")
        for (place, side), bound in bounds.items()
        if side == ">" or place not in levels or levels[place][0] not in known
    ]
    return " and ".join(conditions)


def _bounds(tree, leaf: int, standard: Standard) -> dict[tuple[int, str], str]:
    """Bounds from the root to a leaf, by feature and side, merged where they bound the same side of the same one."""
    bounds: dict[tuple[int, str], str] = {}
    node = 0
    while node != leaf:
        # nodes are numbered in depth-first order: the left subtree comes before the right child
        left = leaf < tree.children_right[node]
        key = (int(tree.feature[node]), "≤" if left else ">")
        # further down, a bound on the same side is tighter and takes the place of the one before
        bounds[key] = _bound(float(tree.threshold[node]), int(tree.feature[node]), standard)
        node = int(tree.children_left[node] if left else tree.children_right[node])
    return bounds


def _is_level(name: str, values: np.ndarray) -> bool:
    return "=" in name and bool(np.isin(values, (0, 1)).all())


def _of_level(column: str, level: str, has: bool) -> str:
    return f"{column} = {level}" if has else f"{column} other than {level}"


def _bound(threshold: float, feature: int, standard: Standard) -> str:
    """Write a threshold in the units of its column, with two digits of what varies there."""
    centre, spread = standard.centre[feature], standard.spread[feature]
    value = centre + spread * threshold
    constant = max(0, int(np.ceil(np.log10(max(abs(centre) / spread, 1.0)))))
    return f"{value:.{2 + constant}g}"
