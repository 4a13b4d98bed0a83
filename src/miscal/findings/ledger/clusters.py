"""Clusters of similar inputs at several scales, fixed before any outcome is seen; and what a found group is made of.

Inputs are centred and taken to their leading principal components. Columns of different units are standardised first;
the columns of an embedding are not, because those of small variance are mostly noise. K-means cuts them at a few
scales; the clusters of the finest one are then joined, two at a time, by the least loss of Ward (1963), so that groups
of every size have a candidate, however many of the small clusters they hold. Outcomes play no part, so clusters stand
in the same scan as named groups. What is found is described by the named groups that fit it best, or how mixed it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from miscal.findings.conditions.condition import MANY_VALUES, Condition, InputClusters
from miscal.findings.conditions.other_kinds import Alike, AnyOf, Both, Cluster, Mixed, Mostly, TermShare
from miscal.findings.ledger.groups import CLUSTER, INTERVAL, TERM, TREND, VALUE, ColumnGroups, Groups
from miscal.findings.ledger.membership import CodedColumns, SideBySide
from miscal.findings.ledger.settings import LEDGER_DEFAULTS

_BEAM = 30
"""Beginnings of a longer description that are gone on with."""


def with_clusters(
    groups: Groups, X: np.ndarray, *, own_units: bool = False, seed: int = 0
) -> tuple[Groups, InputClusters | None]:
    """Add clusters of inputs at several scales to named groups.

    `groups`: of the same rows as the inputs. `X`, (n, d): inputs, finite. `own_units`: whether each column is a feature
    with a unit of its own: columns are then standardised. The coordinates of an embedding are only centred. `seed`: of
    the first centres. The order of the rows does not matter. Returns no cluster twice, none smaller than
    ``settings.cluster_rows`` rows or ``settings.cluster_share`` of them, none larger than half the rows; none at all
    where the inputs are too few or all equal. Beside them, the space in which they and new rows are placed.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> kind = np.repeat(["a", "b"], 30)
    >>> with_clusters(named_groups({"kind": kind}), np.tile([[0.0], [1.0]], (30, 1)))[0].descriptions
    ('kind = b', 'a cluster of 30 similar inputs', 'a cluster of 30 similar inputs')
    """
    from sklearn.cluster import KMeans

    n = len(X)
    least = max(LEDGER_DEFAULTS.cluster_rows, int(np.ceil(LEDGER_DEFAULTS.cluster_share * n)))
    finest = min(max(LEDGER_DEFAULTS.cluster_scales), n // least)
    space = None if finest < 2 else _space(np.asarray(X), own_units, seed)
    if space is None:
        return groups, None
    points = space.positions(X)
    # equal results for rows in another order: centres are drawn from rows in an order of their own
    order = np.lexsort(points.T[:2][::-1])
    sample = order[np.linspace(0, n - 1, min(n, LEDGER_DEFAULTS.cluster_sample)).round().astype(int)]
    # k-means cannot have more centres than there are distinct rows
    finest = min(finest, len(np.unique(points[sample], axis=0)))
    found: dict[bytes, tuple[Cluster, np.ndarray, tuple[int, ...]]] = {}
    for scale in sorted({min(scale, finest) for scale in LEDGER_DEFAULTS.cluster_scales}):
        means = KMeans(scale, n_init=1, max_iter=50, random_state=seed)
        space.centres[scale] = means.fit(points[sample]).cluster_centers_
        codes = space.nearest(points, scale)
        unions, sizes = [[code] for code in range(scale)], np.bincount(codes, minlength=scale)
        if scale == finest:
            unions += _joined(space.centres[scale], sizes)
        for members in unions:
            size = int(sizes[members].sum())
            if least <= size <= n // 2:
                rows = np.isin(np.arange(scale), members)[codes]
                condition, inside = Cluster(size, scale, tuple(sorted(members))), np.flatnonzero(rows)
                apart = points[inside]
                apart -= apart.mean(0)
                far = np.einsum("ij,ij->i", apart, apart)
                nearest = np.flatnonzero(far <= np.partition(far, 1)[1]) if size > 1 else np.array([0])
                typical = tuple(inside[nearest[np.argsort(far[nearest], kind="stable")[:2]]].tolist())
                found.setdefault(np.packbits(rows).tobytes(), (condition, inside.astype(np.int32), typical))
    return replace(
        groups,
        conditions=(*groups.conditions, *(condition for condition, *_ in found.values())),
        also=(*groups.also, *((),) * len(found)),
        kinds=np.r_[groups.kinds, np.full(len(found), CLUSTER)],
        # where nothing has a name, clusters alone know how many rows there are
        member=SideBySide(n, groups.member.blocks).beside(CodedColumns.of(n, [rows for _, rows, _ in found.values()])),
        typical={place: typical for place, (*_, typical) in enumerate(found.values(), start=len(groups))},
    ), space


def _space(X: np.ndarray, own_units: bool, seed: int) -> InputClusters | None:
    """Leading principal components of the inputs, without centres; None where all rows are equal."""
    from sklearn.decomposition import PCA

    some = np.linspace(0, len(X) - 1, min(len(X), LEDGER_DEFAULTS.cluster_sample)).astype(int)
    # of inputs that memory may not hold twice, the rows that components are learned from stand for all
    known = X[some] if X.size > MANY_VALUES else X
    spread = known.std(0)
    single = X.dtype == np.float32
    # what is left of constant columns in single precision is rounding
    columns = np.flatnonzero(spread > (1e-6 * max(1e-12, float(np.abs(known).max())) if single else 0.0))
    if not len(columns):
        return None
    mean = known[:, columns].mean(0)
    # inputs in double precision are numbers of very different size
    scale = spread[columns] if own_units or not single else np.ones_like(mean)
    space = InputClusters(columns, mean, scale, None, None, {})
    kept = min(LEDGER_DEFAULTS.components, len(X), len(columns))
    if kept == len(columns):
        return space
    # rounding in the fit depends on how values lie in memory: taking rows puts them row by row
    standard = space.standard(X)[some] if known is X else space.standard(known)
    solver = "randomized" if kept < 0.5 * min(standard.shape) else "full"
    model = PCA(kept, svd_solver=solver, random_state=seed).fit(standard)
    axes, origin = np.ascontiguousarray(model.components_), model.mean_
    return InputClusters(columns, mean, scale, axes, origin, {})


def _joined(centres: np.ndarray, rows: np.ndarray) -> list[list[int]]:
    """Clusters that Ward's joining passes through, each as a list of the small clusters that it holds."""
    held = {code: [code] for code in np.flatnonzero(rows).tolist()}
    centre = {code: centres[code].astype(np.float64) for code in held}
    weight = {code: float(rows[code]) for code in held}
    joins: list[list[int]] = []
    while len(held) > 2:
        codes = list(held)
        where, w = np.stack([centre[c] for c in codes]), np.array([weight[c] for c in codes])
        loss = ((where[:, None] - where[None]) ** 2).sum(2) * w[:, None] * w / (w[:, None] + w)
        np.fill_diagonal(loss, np.inf)
        one, two = (codes[place] for place in divmod(int(np.argmin(loss)), len(codes)))
        together = weight[one] + weight[two]
        centre[one] = (weight[one] * centre[one] + weight[two] * centre[two]) / together
        weight[one] = together
        held[one] = held[one] + held.pop(two)
        joins.append(held[one])
    return joins


def describe(inside: np.ndarray, groups: Groups) -> Alike | Mixed:
    """Describe rows by named groups: one, or two or three joined or crossed; or say how mixed they are.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> kind = np.repeat(["art", "law", "sums"], 40)
    >>> groups = named_groups({"kind": kind})
    >>> describe(np.arange(120) >= 42, groups).words
    'kind = law or sums (overlap 98 %)'
    >>> describe(np.arange(120) % 3 == 0, groups).words
    'mixed: 3 values of kind, art the most common (35 %)'
    >>> describe((np.arange(120) < 12) | (np.arange(120) == 50), groups).words
    'mixed: 92 % of the rows have kind = art'
    """
    found = _fitting(inside, groups) or _composition(inside, groups.columns)
    return Mixed(terms=_terms(inside, groups)) if found is None else found


def made_of(inside: np.ndarray, groups: Groups) -> Mostly | None:
    """Say which one or two values most of the rows have, where they have them much more often than other rows.

    Returns None where no column tells.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> kind = np.repeat(["art", "law", "sums", "war"], 40)
    >>> made_of((np.arange(160) > 50) & (np.arange(160) < 90), named_groups({"kind": kind})).words
    '74 % have kind = law'
    """
    best, composition = 0.0, None
    for part in (one for one in groups.columns if one.by_value):
        shares, others = _shares(inside, part)
        order = np.argsort(-shares, kind="stable")
        for count in (1, 2):
            top = order[:count]
            share, elsewhere = float(shares[top].sum()), float(others[top].sum())
            telling = share >= LEDGER_DEFAULTS.made_of_share and share >= LEDGER_DEFAULTS.telling_lift * elsewhere
            # a second value has to earn its words
            if telling and share > best + (0 if count == 1 else 2 * LEDGER_DEFAULTS.gain_of_part):
                best = share
                composition = Mostly(_together([part.cells[cell] for cell in top], union=True), share)
    return composition


def _fitting(inside: np.ndarray, groups: Groups) -> Alike | None:
    """Return the best description; None if none overlaps enough."""
    n = len(inside)
    some = np.linspace(0, n - 1, min(n, LEDGER_DEFAULTS.described_rows)).round().astype(int)
    named = np.flatnonzero((groups.kinds != CLUSTER) & (groups.kinds != TREND))
    if len(named) == 0:
        return None
    plain = np.isin(groups.kinds[named], (VALUE, INTERVAL, TERM))

    member = groups.member if len(some) == n else groups.member.chosen(some)
    best = max(
        (_search(inside[some], member, named, plain, union) for union in (True, False)),
        key=lambda found: (found[1], -len(found[0])),
    )
    chosen, union = sorted(best[0]), best[2]
    masks = [groups.rows(int(named[place])) for place in chosen]
    covered = np.logical_or.reduce(masks) if union else np.logical_and.reduce(masks)
    overlap = float((covered & inside).sum() / max(1, (covered | inside).sum()))
    if overlap < LEDGER_DEFAULTS.described_overlap:
        return None
    return Alike(_together([groups.conditions[int(named[place])] for place in chosen], union=union), overlap)


def _search(
    inside: np.ndarray, member: SideBySide, named: np.ndarray, plain: np.ndarray, union: bool
) -> tuple[tuple[int, ...], float, bool]:
    """Best one, two or three groups joined (or crossed), by a search that keeps the best beginnings.

    `named`: places of the groups; `plain`, bool: which of them may be one of several.
    """

    # one matrix of all groups would take more memory than all else
    def sums(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        return member.sums_of_each(values.astype(np.float64), named[wanted])[named]

    def rows_of(place: int) -> np.ndarray:
        return member.dense(int(named[place])) > 0

    target = int(inside.sum())
    size, shared = sums(np.stack([np.ones(len(inside)), inside], 1), np.full(len(plain), True)).T
    overlap = shared / (size + target - shared)
    best: tuple[int, ...] = (int(np.argmax(overlap)),)
    value = float(overlap[best[0]])
    order = np.argsort(-np.where(plain, overlap, -1.0), kind="stable")[:_BEAM]
    beam = [((int(place),), rows_of(int(place))) for place in order]
    for _ in range(2):
        # (n, beam): rows that a further group may add, or may keep, inside the target and outside
        have = np.stack([rows for _, rows in beam], 1)
        open_rows = ~have if union else have
        good, bad = (sums(open_rows & at[:, None], plain) for at in (inside, ~inside))
        if union:
            good += (have & inside[:, None]).sum(0)
            bad += (have & ~inside[:, None]).sum(0)
        overlaps = np.where(plain[:, None], good / (target + bad), -1.0)
        places = np.argsort(-overlaps, axis=None, kind="stable")[:_BEAM]
        longer: dict[frozenset[int], tuple[tuple[int, ...], np.ndarray]] = {}
        for place, which in (divmod(int(p), len(beam)) for p in places):
            names, rows = beam[which]
            new = rows_of(place)
            longer.setdefault(frozenset((*names, place)), ((*names, place), rows | new if union else rows & new))
        places_of_best = divmod(int(np.argmax(overlaps)), len(beam))
        reached = float(overlaps[places_of_best])
        if reached < value + LEDGER_DEFAULTS.gain_of_part:
            break
        best, value = (*beam[places_of_best[1]][0], places_of_best[0]), reached
        beam = list(longer.values())
    return best, value, union


def _together(conditions: Sequence[Condition], *, union: bool) -> Condition:
    if len(conditions) == 1:
        return conditions[0]
    return AnyOf(tuple(conditions)) if union else Both(tuple(conditions))


def _shares(inside: np.ndarray, part: ColumnGroups) -> tuple[np.ndarray, np.ndarray]:
    """Share of each cell inside and outside."""
    counts = [np.bincount(part.codes[rows], minlength=len(part.cells)) for rows in (inside, ~inside)]
    return counts[0] / max(1, inside.sum()), counts[1] / max(1, (~inside).sum())


def _composition(inside: np.ndarray, parts: Sequence[ColumnGroups]) -> Mixed | None:
    """Tell how many values of a column the rows have, and the most common; of the column that tells most of them."""
    best, composition = -np.inf, None
    for part in parts:
        shares, others = _shares(inside, part)
        if not part.by_value or (shares > 0).sum() < 2:
            continue
        overall = inside.mean() * shares + (1 - inside.mean()) * others
        seen = shares > 0
        # information about the group, less what as many values tell by chance
        gained = float(np.sum(shares[seen] * np.log(shares[seen] / overall[seen])))
        information = gained - (seen.sum() - 1) / (2 * inside.sum())
        if information > best:
            best, top = information, int(np.argmax(shares))
            share = float(shares[top])
            composition = Mixed(int(seen.sum()), part.cells[top], share, share >= LEDGER_DEFAULTS.nearly_all)
    return composition


def _terms(inside: np.ndarray, groups: Groups) -> tuple[TermShare, ...]:
    """Tell the two terms that tell a mixed group best, if they truly do."""
    terms = np.flatnonzero(groups.kinds == TERM)
    if len(terms) == 0:
        return ()
    counts, outside = (groups.member.sums(rows.astype(np.float64))[terms] for rows in (inside, ~inside))
    share = counts / inside.sum()
    others = outside / max(1, (~inside).sum())
    telling = (share >= LEDGER_DEFAULTS.telling_share) & (share >= LEDGER_DEFAULTS.telling_lift * others)
    order = [place for place in np.argsort(others - share, kind="stable") if telling[place]][:2]
    return tuple(
        TermShare(groups.conditions[int(terms[place])], float(share[place]), float(others[place])) for place in order
    )
