"""The default estimator (method="auto")."""

from miscal.estimators.auto.estimator import AutoField

__all__ = ["AutoField"]
