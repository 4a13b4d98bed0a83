"""Settings of the whole suite."""

from hypothesis import settings

# The first example pays for imports; a busy machine is no failure.
settings.register_profile("miscal", deadline=None, derandomize=True)
settings.load_profile("miscal")
