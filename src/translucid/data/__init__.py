"""From corpora to batches: readers, cleaning, shards, batching and the built-in lesson."""
