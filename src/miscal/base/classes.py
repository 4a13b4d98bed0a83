"""Classes of a classifier in the style of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.base.arrays import value_list
from miscal.base.errors import InputError


def class_column(estimator: Any, pos_label: Any = None) -> tuple[np.ndarray, int]:
    """Return the classes of a fitted classifier, and which of them is asked for.

    Parameters
    ----------
    estimator : object
        With `predict_proba` and `classes_`.
    pos_label : object, optional
        One of its classes; by default the second of two.

    >>> from sklearn.dummy import DummyClassifier
    >>> class_column(DummyClassifier().fit([[0], [1]], ["no", "yes"]))
    (array(['no', 'yes'], dtype='<U3'), 1)
    """
    if not hasattr(estimator, "predict_proba") or not hasattr(estimator, "classes_"):
        raise InputError(
            f"estimator must be a fitted classifier with predict_proba and classes_; got {type(estimator).__name__}"
        )
    classes = np.asarray(estimator.classes_)
    if pos_label is None:
        if len(classes) != 2:
            raise InputError(
                f"pos_label must name the class whose probability is meant, one of {value_list(classes.tolist())}"
            )
        return classes, 1
    found = np.flatnonzero(classes == pos_label)
    if not len(found):
        raise InputError(f"pos_label must be one of {value_list(classes.tolist())}; got {pos_label!r}")
    return classes, int(found[0])
