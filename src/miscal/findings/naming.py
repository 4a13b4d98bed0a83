"""Name parts by what sets them apart from other rows: metadata, texts, or bounds on their inputs.

A part is named only by what most of its rows have in common and few others do. Where there is no such thing, it is
called mixed, and the name says how mixed: a list of words that fits many rows outside would be worse than none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miscal.base.number_wording import percent
from miscal.base.precision import Standard
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.findings.enrichment import Column, Enriched, Label, clean_label
from miscal.findings.settings import SETTINGS

# Words of two characters or more that begin with a letter, with apostrophes and hyphens inside.
_WORD = r"(?u)\b[^\W\d_][\w'-]*\w\b"
# What the pattern above leaves of contractions; scikit-learn's stop words have the contractions, not these.
_REMNANTS = (
    *("did", "does", "doing", "don", "didn", "doesn", "isn", "aren", "wasn", "weren"),
    *("won", "wouldn", "couldn", "shouldn", "ll", "ve"),
)


@dataclass(frozen=True)
class Keywords:
    """Words and pairs of words of a part.

    `terms`: those that set its texts apart from others, the weightiest first. `naming`: those of them that it may be
    named by, because most of its rows have one of them and few other rows do; empty where that is not so.
    """

    terms: tuple[str, ...] = ()
    naming: tuple[str, ...] = ()


@dataclass(frozen=True)
class Clause:
    """Values of one column that most rows of a part have.

    `share`: share of the rows that have one of them, in [0, 1]; None where nearly all do.
    """

    column: str
    values: tuple[Label, ...]
    share: float | None = None

    @property
    def words(self) -> str:
        """``"subject = law or history (60 % of its rows)"``; what is left out where nearly all have them."""
        values = " or ".join([str(self.values[0]), *(one.text for one in self.values[1:])])
        covered = "" if self.share is None else f" ({percent(self.share)} of its rows)"
        return f"{self.column} {values}{covered}"


def needed_lift(part_share: float) -> float:
    """How many times as common as overall a description must be in a part to name it.

    `part_share`: share of the part among all rows, in (0, 1]. Returns `clause_lift`, by default 2; in a part of more
    than a third of all rows half of the way from 1 to the most that is possible, which is 1 / `part_share`.

    Examples
    --------
    >>> needed_lift(0.1), needed_lift(0.5)
    (2.0, 1.5)
    """
    return min(SETTINGS.clause_lift, (1.0 + 1.0 / part_share) / 2.0)


def keywords(texts: Sequence[str], part: np.ndarray, n_parts: int) -> list[Keywords]:
    r"""Words and pairs of words that set the texts of each part apart: class-based TF-IDF.

    The weight of a term in a part is ``s log(s / s_all)**2``, where s is the share of the part's rows that contain the
    term and s_all its share of all rows: frequency times inverse frequency as in TF-IDF, with the part as the
    document (Grootendorst, "BERTopic", 2022), counted in rows so that one long text cannot fill the list, the
    logarithm squared so that common words somewhat commoner here do not lead it. A term must be commoner in the part
    than elsewhere by Fisher's exact test at 0.05 over the number of terms.

    Of these, the first four that are each three times as common in the part as outside may name it, if three tenths of
    its rows have one of them, and three times the share of the rows outside.

    `texts`: texts. `part`, int (n,): part of every row, -1 for rows of none. `n_parts`: number of parts. Returns per
    part at most eight terms in lower case, the weightiest first; empty where nothing sets it apart.

    Examples
    --------
    >>> texts = ["the court and the jury"] * 30 + ["an atom of carbon"] * 30
    >>> law, chemistry = keywords(texts, np.repeat([0, 1], 30), 2)
    >>> law.terms, chemistry.naming
    (('court jury',), ('atom carbon',))
    """
    counts, terms = _count([text[: SETTINGS.text_length] for text in texts], SETTINGS.min_term_texts)
    if not len(terms):
        return [Keywords()] * n_parts
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


def _top_terms(counts, terms: np.ndarray, inside: np.ndarray) -> Keywords:
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
    place = dict(zip(terms[ranked].tolist(), ranked.tolist(), strict=True))
    kept = _distinct_terms(terms[ranked], SETTINGS.max_keywords)
    return Keywords(kept, _naming([place[term] for term in kept], counts, terms, inside))


def _naming(columns: list[int], counts, terms: np.ndarray, inside: np.ndarray) -> tuple[str, ...]:
    """Terms that fit the part and not the rest; none where they do not fit together."""
    if inside.all():
        return ()

    def fits(has: np.ndarray) -> bool:
        return bool(has[inside].mean() >= SETTINGS.word_lift * has[~inside].mean())

    has = {column: counts[:, [column]].toarray()[:, 0] > 0 for column in columns}
    telling = [column for column in columns if fits(has[column])][: SETTINGS.max_words]
    if not telling:
        return ()
    one_of_them = np.any([has[column] for column in telling], axis=0)
    if one_of_them[inside].mean() < SETTINGS.word_share or not fits(one_of_them):
        return ()
    return tuple(terms[telling].tolist())


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


def metadata_clause(items: Sequence[Enriched], part_share: float, columns: Sequence[str] = ()) -> Clause | None:
    """Build the best short clause that metadata give: at most three values of one column.

    `items`: enriched values of the part. `part_share`: share of the part among all rows, in (0, 1]. `columns`: columns
    in order of preference: of columns that tell about as much the first is named. Returns such as ``subject = law (60 %
    of its rows)``; the share is left out from 95 % on. None if no column's values cover 0.4 of the part and are enough
    times as common there as overall (:func:`needed_lift`). Of those that do, the clause with the largest ``share *
    log(lift)**2`` is taken: the logarithm is squared so that a value ten times as common is named before one that
    covers more and is 1.3 times as common.

    Examples
    --------
    >>> rows = {"n": 60, "share": 0.6, "share_overall": 0.1, "lift": 6.0}
    >>> law = Enriched(column="subject", value="= law", odds_ratio=13.5, interval=(9.0, 20.0), p_value=1e-9, **rows)
    >>> metadata_clause([law], 0.1).words, metadata_clause([], 0.1)
    ('subject = law (60 % of its rows)', None)
    """
    rank = {name: index for index, name in enumerate(columns)}
    names = sorted({item.column for item in items}, key=lambda name: (rank.get(name, len(rank)), name))
    lift = needed_lift(part_share)
    found = [_column_clause([item for item in items if item.column == name], lift) for name in names]
    best = max((telling for telling, _ in found), default=0.0)
    # values that are as common everywhere tell nothing
    return next((clause for telling, clause in found if clause and telling >= SETTINGS.nearly_best * best > 0), None)


def _column_clause(items: Sequence[Enriched], lift: float) -> tuple[float, Clause | None]:
    """Values of one column joined by "or" as long as that tells more, and how much it tells."""
    chosen: list[Enriched] = []
    share = overall = telling = 0.0
    for item in sorted(items, key=lambda item: (-_information(item.share, item.share_overall), str(item.value))):
        more = _information(share + item.share, overall + item.share_overall)
        # the first values may tell less together than apart, as long as they do not cover enough
        better = more > telling or share < SETTINGS.clause_share
        if item.share >= SETTINGS.value_share and len(chosen) < SETTINGS.max_values and better:
            chosen, telling = [*chosen, item], more
            share, overall = share + item.share, overall + item.share_overall
    if share < SETTINGS.clause_share or share < lift * overall:
        return 0.0, None
    values = tuple(item.value for item in chosen)
    return telling, Clause(chosen[0].column, values, None if share >= SETTINGS.whole_share else share)


def _information(share: float, overall: float) -> float:
    return share * float(np.log(share / overall)) ** 2


def mixture(columns: Sequence[Column], items: Sequence[Enriched], inside: np.ndarray) -> str:
    """Say how mixed a part is, by the most telling column that has names for its values.

    `columns`: metadata, the user's first column first. `items`: enriched values of the part: the column of the most
    telling of them is taken, or else the first. `inside`, bool (n,): which rows are in the part. Returns such as
    ``"subject = law in 40 % of its rows, 2 other values in the rest"``; empty where no column has names.

    Examples
    --------
    >>> column = Column("subject", (Label("law"), Label("math"), Label("art")), np.array([0, 0, 1, 2, 2]))
    >>> mixture([column], [], np.array([True, True, True, False, True]))
    'subject = law in 50 % of its rows, 2 other values in the rest'
    """
    named = [column for column in columns if column.labels[0].is_value]
    if not named or not inside.any():
        return ""
    best = max(items, key=lambda item: _information(item.share, item.share_overall), default=None)
    column = next((column for column in named if best is not None and column.name == best.column), named[0])
    count = np.bincount(column.codes[inside], minlength=len(column.labels))
    most, others = f"{column.name} {column.labels[int(np.argmax(count))]}", int(np.count_nonzero(count)) - 1
    if not others:
        return most
    rest = f"{others} other value{'' if others == 1 else 's'} in the rest"
    return f"{most} in {percent(count.max() / count.sum())} of its rows, {rest}"


def part_names(
    clauses: Sequence[Clause | None],
    words: Sequence[Keywords],
    rules: Sequence[str],
    mixtures: Sequence[str],
    parents: Sequence[str],
    by: str = "total",
    kind: Kind = ANSWER,
) -> list[str]:
    """Build one unique name per part from what is known of it.

    `clauses`: metadata clauses. `rules`: feature rules, used where there is neither. `mixtures`: how mixed each part
    is, used where nothing else is known; may be empty. `parents`: regime of each part. `by`: the field whose regimes
    they are.

    Examples
    --------
    >>> words = [Keywords(("x", "y"), ("x",)), Keywords(("z",), ("z",)), Keywords(("z",))]
    >>> one = Clause("a", (Label("1"),))
    >>> part_names([one, None, None], words, [""] * 3, [""] * 3, ["over"] * 3)
    ['a = 1: x', 'z', 'over-confident rows, part 3']
    >>> part_names([one] * 2, [words[0], Keywords(("x", "z"), ("x",))], [""] * 2, [""] * 2, ["over"] * 2)
    ['a = 1, more often with y', 'a = 1, more often with z']
    >>> part_names([None], [Keywords()], [""], ["b = c in 40 % of its rows, 2 other values in the rest"], ["under"])
    ['all under-confident rows: b = c in 40 % of its rows, 2 other values in the rest']
    """
    words_of = vocabulary(kind)
    phrases = [words_of.unequal[parent] if by == "hidden" else words_of.regime(parent) for parent in parents]
    names: list[str] = []
    for index, (parent, phrase) in enumerate(zip(parents, phrases, strict=True)):
        alone = list(parents).count(parent) == 1
        number = list(parents[:index]).count(parent) + 1
        name = _described_name(index, clauses, words) or rules[index]
        if not name:
            rows = f"rows {phrase}" if " " in phrase else f"{phrase} rows"
            first, other = (f"all {rows}", f"all {rows}") if alone else ("mixed", f"{rows}, part {number}")
            name = f"{first}: {mixtures[index]}" if mixtures[index] else other
        names.append(name)
    return _unique(names, phrases)


def _described_name(index: int, clauses: Sequence[Clause | None], words: Sequence[Keywords]) -> str:
    """Clause and words of a part; if other parts have the same clause, the words that those do not have."""
    clause, own = clauses[index], words[index]
    if clause is None:
        return ", ".join(own.naming)
    known = clause.column, clause.values
    same = [at for at, one in enumerate(clauses) if at != index and one and (one.column, one.values) == known]
    if not same:
        return f"{clause.words}: {', '.join(own.naming[:3])}" if own.naming else clause.words
    others = {term for at in same for term in words[at].terms}
    apart = [term for term in own.terms if term not in others][:3]
    return f"{clause.words}, more often with {', '.join(apart)}" if apart else clause.words


def _unique(names: Sequence[str], phrases: Sequence[str]) -> list[str]:
    """Tell parts of one name apart by their regime, and if that is the same, by a number."""
    shared = [
        name if list(names).count(name) == 1 else f"{name} ({phrase})"
        for name, phrase in zip(names, phrases, strict=True)
    ]
    taken: list[str] = []
    for name in shared:
        numbered = (f"{name}, part {number}" for number in range(2, len(names) + 3))
        taken.append(next(candidate for candidate in (name, *numbered) if candidate not in taken))
    return taken


def feature_rules(features: np.ndarray, names: Sequence[str], part: np.ndarray, n_parts: int) -> list[str]:
    """Describe each part by the thresholds on at most two features that separate it best.

    The rule is the leaf of a decision tree of depth two (part against other rows, both with half of the weight)
    with the best F1 score, if it names the part as well as metadata would have to (:func:`metadata_clause`).

    `features`, (n, d): inputs. `names`: names of the features. `part`, int (n,): part of every row, -1 for rows of
    none. `n_parts`: number of parts. Returns such as ``"x_1 > 0.5 and x_2 ≤ 2"``; empty where the best rule holds for
    less than 0.4 of the part's rows, or is not enough times as common among them as overall (:func:`needed_lift`).

    Examples
    --------
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> feature_rules(x, ["age"], (x[:, 0] > 0.495).astype(int), 2)
    ['age ≤ 0.5', 'age > 0.5']
    """
    return [_rule(features, names, part == index) for index in range(n_parts)]


def _rule(features: np.ndarray, names: Sequence[str], inside: np.ndarray) -> str:
    from sklearn.tree import DecisionTreeClassifier

    if inside.all() or not inside.any():
        return ""
    model = DecisionTreeClassifier(max_depth=SETTINGS.rule_depth, class_weight="balanced", random_state=0)
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
    if share < SETTINGS.clause_share or share < needed_lift(inside.mean()) * overall:
        return ""
    short = [clean_label(name, SETTINGS.label_length) for name in names]
    bounds = _bounds(tree, int(leaves[best]), standard)
    # a row has one level of a category, which says what the others are not
    levels = {
        place: (short[place].partition("=")[0], short[place].partition("=")[2])
        for place, _ in bounds
        if "=" in short[place] and np.isin(features[:, place], (0, 1)).all()
    }
    known = {levels[place][0] for place, side in bounds if place in levels and side == ">"}
    conditions = [
        f"{short[place]} {side} {bound}"
        if place not in levels
        else f"{levels[place][0]} {'=' if side == '>' else 'other than'} {levels[place][1]}"
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


def _bound(threshold: float, feature: int, standard: Standard) -> str:
    """Write a threshold in the units of its column, with two digits of what varies there."""
    centre, spread = standard.centre[feature], standard.spread[feature]
    value = centre + spread * threshold
    constant = max(0, int(np.ceil(np.log10(max(abs(centre) / spread, 1.0)))))
    return f"{value:.{2 + constant}g}"
