"""Compare finished runs: match their rows, estimate differences, and put them into words."""
