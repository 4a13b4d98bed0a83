"""One module for each method or family of methods. A module here is found by itself: see :mod:`baselines`."""
