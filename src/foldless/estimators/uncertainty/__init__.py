"""How sure is a prediction? Intervals, sets and row diagnostics from the left-out models."""
