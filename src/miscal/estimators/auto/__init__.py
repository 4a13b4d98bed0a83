"""The default estimator (method="auto")."""

from miscal.estimators.auto.field import AutoField

__all__ = ["AutoField"]
