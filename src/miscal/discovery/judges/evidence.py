"""Which rows may be evaluated where the scores of a judge were mapped by what people say."""

from miscal.base.errors import InputError, argument
from miscal.data.triples import Triples
from miscal.discovery.fitted_rows import ALL, Evidence


def refuse_learned_scale(triples: Triples, evidence: Evidence) -> None:
    """Refuse test rows that would have taken part in learning what the scores stand for."""
    learned = triples.judged is not None and triples.judged.scale is not None
    if learned and evidence != ALL and triples.split is None:
        raise InputError(
            f"evidence {evidence!r} sets rows apart, but what the judge's scores stand for was learned from all rows "
            f"that people have judged: use evidence 'all', name the test rows ({argument('split', takes='COL')}), or "
            "give the judge's probability in place of its score"
        )
