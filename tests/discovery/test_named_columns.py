"""Which named columns the field and the correction see."""

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.discovery.discover import discover

from .test_statements import world

pytestmark = [pytest.mark.usefixtures("few_folds"), pytest.mark.whole]

N = 300
EMBEDDED = np.random.default_rng(1).normal(size=(N, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def found():
    data = pl.DataFrame(world(3, N, shift=3.0)).select("confidence", "correct", "kind")
    settings = {"map_method": "pca", "n_jobs": 1}
    ways = {"metadata": {"metadata": "kind"}, "features": {"features": "kind"}, "names only": {"names_only": "kind"}}
    ways |= {"without": {}}
    read = {name: miscal.read_triples(data, embeddings=EMBEDDED, **way) for name, way in ways.items()}
    return {name: discover(triples, **settings) for name, triples in read.items()}


def test_a_column_gives_the_same_field_as_metadata_and_as_a_feature(found):
    of_metadata, of_features, alone = (found[name].table for name in ("metadata", "features", "without"))
    assert of_metadata.equals(of_features)
    assert not np.allclose(of_metadata["corrected"], alone["corrected"])
    descriptions = [[one.description for one in found[name].summary.findings] for name in ("metadata", "features")]
    assert descriptions[0] == descriptions[1]
    assert any("kind" in one for one in descriptions[0])


def test_a_column_for_names_only_changes_no_number_of_the_field(found):
    named, alone = (found[name] for name in ("names only", "without"))
    assert named.table.equals(alone.table)
    assert any("kind" in one.description for one in named.summary.findings)
    assert named.summary.data.columns.names_only == ("kind",)
    assert (named.summary.data.columns.needed, named.summary.data.columns.embeddings) == (("confidence",), True)


def test_the_published_method_says_which_columns_it_does_not_see(found):
    pytest.importorskip("torch")
    from miscal.discovery.estimating import unseen_columns

    data = pl.DataFrame(world(3, N, shift=3.0)).select("confidence", "correct", "kind")
    triples = miscal.read_triples(data, embeddings=EMBEDDED, features="kind")
    assert len(unseen_columns(triples, "paper")) == 1
    assert unseen_columns(triples, "auto") == ()
