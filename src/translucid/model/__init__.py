"""The network of "Attention Is All You Need", in the order of the paper's section 3.

====================  ==========================================  ==================
file                  concept                                     section
====================  ==========================================  ==================
attention             scaled dot-product and multi-head attention 3.2
masks                 who may attend to whom                      3.2.3
feed_forward          position-wise feed-forward network          3.3
embeddings            embeddings, softmax's linear map, tying     3.4
word_vectors          pretrained word vectors for the embeddings  3.4
positional            sinusoids and their rivals                  3.5
residual, dropout     Add & Norm, residual dropout                3.1, 5.4
encoder, decoder      the two stacks of figure 1                  3.1
transformer           the whole, behind encode, decode, start     3.1
cache, session        decoding one token at a time                3.1 (auto-regressive)
initialization        where training begins                       5
====================  ==========================================  ==================
"""

from translucid.config import ModelConfig
from translucid.model.attention import MultiHeadAttention, eager, register_kernel, sdpa
from translucid.model.positional import register_positions
from translucid.model.session import DecodingSession
from translucid.model.transformer import Transformer
from translucid.model.word_vectors import load_word_vectors

__all__ = [
    "DecodingSession",
    "ModelConfig",
    "MultiHeadAttention",
    "Transformer",
    "eager",
    "load_word_vectors",
    "register_kernel",
    "register_positions",
    "sdpa",
]
