"""Training: batches in, a loop of events out, a model directory at the end (section 5)."""
