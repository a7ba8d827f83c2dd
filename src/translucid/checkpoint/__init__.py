"""What training leaves on disk: model directories that explain themselves, and checkpoints.

===============  =========================================================================
model_directory  a model: network, tokenizer, card and provenance
run_directory    a training run: its settings, metrics, models and checkpoints
store            checkpoints: all that a run needs to continue exactly; writing tensors
averaging        one network of several checkpoints
===============  =========================================================================

Nothing is ever unpickled.
"""

from translucid.checkpoint.model_directory import (
    ModelFiles,
    load_model,
    named_weights,
    read_model_files,
    read_weights,
    write_model,
)
from translucid.checkpoint.store import Checkpoint, CheckpointStore
from translucid.config import GenerationConfig

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "GenerationConfig",
    "ModelFiles",
    "load_model",
    "named_weights",
    "read_model_files",
    "read_weights",
    "write_model",
]
