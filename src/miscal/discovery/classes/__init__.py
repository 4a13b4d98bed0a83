"""Several classes beside the top label: each as an event of its own, and a correction of all their probabilities."""
