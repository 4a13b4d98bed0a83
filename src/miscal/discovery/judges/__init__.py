"""What a run tells of a judge: how often people would approve, of all answers and of groups of them."""
