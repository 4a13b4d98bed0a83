"""The batch plan and the runner: every row once, memory running out, numbers that are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.errors import InputError, ResourceError
from miscal.scoring import FakeModel
from miscal.scoring.engine import Encoded, Runner, ran_out_of_memory
from miscal.scoring.forward import Evaluated
from miscal.scoring.scorer import plan


def row_of(row: int, length: int, n_added: int = 1) -> Encoded:
    return Encoded(row, tuple(range(length)), ((1,) * n_added, (2,)), 0, False)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 4)), max_size=40), st.integers(1, 200))
def test_the_plan_holds_every_row_once_within_the_budget(sizes, budget):
    rows = [row_of(at, length, added) for at, (length, added) in enumerate(sizes)]
    batches = plan(rows, budget)
    assert sorted(row.row for batch in batches for row in batch) == list(range(len(rows)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(row.cost for row in batch) <= budget
    assert plan(rows[::-1], budget) == batches


def test_a_budget_below_one_is_refused():
    with pytest.raises(InputError, match="batch_tokens"):
        plan([], 0)


class Cramped(FakeModel):
    """Has memory for a few rows only, and says so in the words of some library."""

    def __init__(self, most_rows: int, error: Exception) -> None:
        super().__init__()
        self.most_rows, self.error, self.calls = most_rows, error, []

    def evaluate(self, batch) -> Evaluated:
        self.calls.append(len(batch))
        if len(batch) > self.most_rows:
            raise self.error
        return super().evaluate(batch)


SHORTAGES = [
    MemoryError(),
    RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("std::bad_alloc"),
]


@pytest.mark.parametrize("most_rows", [64, 32, 7, 1])
@pytest.mark.parametrize("error", SHORTAGES, ids=str)
def test_halving_changes_no_result_and_is_remembered(most_rows, error):
    rows = [row_of(at, 5 + at % 3) for at in range(64)]
    plain, model = Runner(FakeModel()).run(rows), Cramped(most_rows, error)
    runner = Runner(model)
    cramped = runner.run(rows)
    assert cramped.rows == plain.rows
    np.testing.assert_array_equal(cramped.hidden, plain.hidden)
    np.testing.assert_array_equal(np.stack(cramped.log_probs), np.stack(plain.log_probs))
    model.calls.clear()
    runner.run(rows)
    assert max(model.calls) <= most_rows


def test_a_single_row_that_does_not_fit_is_an_error_that_says_so():
    with pytest.raises(ResourceError, match="single row of 5 tokens"):
        Runner(Cramped(0, MemoryError())).run([row_of(0, 5), row_of(1, 5)])


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="index out of range"):
        Runner(Cramped(0, RuntimeError("index out of range"))).run([row_of(0, 5)])
    assert not ran_out_of_memory(ValueError("out of memory"))


class Fussy(FakeModel):
    """Cannot take certain tokens, as a model whose tokenizer knows more tokens than it has embeddings."""

    def evaluate(self, batch) -> Evaluated:
        if any(max(row.context) > 90 for row in batch):
            raise IndexError("index out of range in self")
        return super().evaluate(batch)


def test_a_row_that_the_model_cannot_take_is_marked_and_its_neighbours_go_on():
    rows = [row_of(at, 5 + 30 * at) for at in range(4)]
    result, plain = Runner(Fussy()).run(rows), Runner(FakeModel()).run(rows)
    assert result.rows == (0, 1, 2)
    assert result.failed == {3: "the model failed: IndexError: index out of range in self"}
    np.testing.assert_array_equal(result.hidden, plain.hidden[:3])
    alone = Runner(Fussy()).run(rows[3:])
    assert (alone.rows, alone.hidden.shape, set(alone.failed)) == ((), (0, 16), {3})


def test_a_token_that_a_real_model_does_not_have(llama):
    beyond = Encoded(1, (0, 5, 10**6), ((5,), (6,)), 0, False)
    result = Runner(llama).run([row_of(0, 9), beyond, row_of(2, 9)])
    assert result.rows == (0, 2)
    assert "IndexError" in result.failed[1]


def test_a_model_that_dies_on_the_way_ends_the_run():
    class Dies(Fussy):
        broken = False

        def evaluate(self, batch):
            self.broken |= len(batch) == 1 and max(batch[0].context) > 90
            if self.broken:
                raise RuntimeError("unspecified launch failure")
            return super().evaluate(batch)

    with pytest.raises(RuntimeError, match="launch"):
        Runner(Dies()).run([row_of(at, 5 + 30 * at) for at in range(4)])


def test_rows_with_numbers_that_are_not_finite_are_set_aside():
    class Broken(FakeModel):
        def evaluate(self, batch):
            done = super().evaluate(batch)
            done.hidden[1, 0] = np.nan
            done.log_probs[2][0] = -np.inf
            return done

    result = Runner(Broken()).run([row_of(at, 4 + at) for at in range(4)])
    assert result.rows == (0, 3)
    assert set(result.failed) == {1, 2}
    assert len(result.hidden) == 2
