"""A run audited: what the same steps find under a null, with other seeds, other thresholds and resampled rows."""
