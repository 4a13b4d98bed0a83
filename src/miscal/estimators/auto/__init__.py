"""The default estimator (method="auto")."""
