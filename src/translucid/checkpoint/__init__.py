"""What training leaves on disk: model directories that explain themselves, and checkpoints.

===============  =========================================================================
model_directory  a model: network, tokenizer, card and provenance
run_directory    a training run: its settings, metrics, models and checkpoints
store            checkpoints: all that a run needs to continue exactly; writing tensors
===============  =========================================================================

Nothing is ever unpickled.
"""
