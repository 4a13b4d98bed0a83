"""A new baseline is one module: it is found by itself, and keeps the contract of all others."""

import numpy as np

from miscal import baselines

MODULE = '''
import numpy as np

from miscal.baselines.protocol import Baseline


class Mean(Baseline):
    """The rate of right answers, whatever the confidence."""

    name = "toy_mean"

    def _fit(self, rows, seed):
        self.rate_ = rows.correct.mean()

    def _calibrate(self, X, confidence):
        return np.full(len(X), self.rate_)
'''


def test_a_module_is_found_by_itself_and_stands_among_the_others(tmp_path, monkeypatch):
    (tmp_path / "toy_mean.py").write_text(MODULE)
    monkeypatch.setattr(baselines.methods, "__path__", [*baselines.methods.__path__, str(tmp_path)])
    methods = baselines.find_methods()
    assert set(methods) - set(baselines.METHODS) == {"toy_mean"}
    assert list(methods).index("isotonic") < list(methods).index("toy_mean") < list(methods).index("auto")
    X, y, f = np.zeros((40, 2)), np.arange(40) % 4 == 0, np.full(40, 0.75)
    assert methods["toy_mean"]().fit(X, y, f).delta(X, f).tolist() == [-0.5] * 40
