"""Translucid: a Transformer you can train, trust and see through.

Importing this package is cheap: it loads neither PyTorch nor any optional package. The network of
"Attention Is All You Need" is in :mod:`translucid.model`.
"""

__version__ = "0.1.0"
