"""Methods to compare with, behind one protocol.

``fit(X, correct, confidence, split=, random_state=)``, then ``calibrate(X, confidence)`` and ``delta(X, confidence)``.
``METHODS`` maps names to classes. A new method is one module in ``methods`` with a subclass of
:class:`~baselines.protocol.Baseline` that has a ``name``; it is found by itself.

Examples
--------
>>> import numpy as np
>>> from baselines import METHODS
>>> rng = np.random.default_rng(0)
>>> X, f = rng.normal(size=(600, 2)), np.full(600, 0.5)
>>> y = (rng.random(600) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(float)
>>> ridge = METHODS["ridge"]().fit(X, y, f)
>>> np.sign(ridge.delta([[-1.0, 0.0], [1.0, 0.0]], [0.5, 0.5])).tolist()
[-1.0, 1.0]
"""

from importlib import import_module
from pkgutil import iter_modules

from baselines import methods
from baselines.protocol import Baseline

__all__ = ["METHODS", "Baseline", "find_methods"]


def find_methods() -> dict[str, type[Baseline]]:
    """Find the methods: every named subclass of Baseline in a module of ``baselines.methods``.

    Returns
    -------
    dict of str to type
        By name, in the order of tables.

    Examples
    --------
    >>> list(find_methods())[:3]
    ['raw', 'temperature', 'platt']
    """
    modules = [import_module(f"{methods.__name__}.{info.name}") for info in iter_modules(methods.__path__)]
    found = [
        kind
        for module in modules
        for kind in vars(module).values()
        # not the classes that a module imports
        if isinstance(kind, type) and issubclass(kind, Baseline) and kind.__module__ == module.__name__
    ]
    # bases that several methods share have no name of their own
    named = [kind for kind in found if "name" in vars(kind)]
    return {kind.name: kind for kind in sorted(named, key=lambda kind: (kind.place, kind.name))}


METHODS: dict[str, type[Baseline]] = find_methods()
