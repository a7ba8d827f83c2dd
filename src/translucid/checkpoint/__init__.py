"""What training leaves on disk: model directories that explain themselves, and checkpoints.

========  ============================================================================
writing   files and folders that appear whole or not at all; tensors as safetensors
format    a model directory: network, tokenizer, card and provenance
store     checkpoints: all that a training run needs to go on exactly where it was
========  ============================================================================

Nothing is ever unpickled.
"""

from translucid.checkpoint.model_directory import (
    GenerationConfig,
    ModelFiles,
    load_model,
    named_weights,
    read_model_files,
    read_weights,
    write_model,
)
from translucid.checkpoint.store import Checkpoint, CheckpointStore

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
