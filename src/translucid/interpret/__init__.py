"""Looking inside: one trace of everything a translation did, and what can be read from it.

::

    explain.py          explain(translator, text) → Trace
    trace.py            the trace: tokens, steps, search tree, named tensors
    trace_file.py       a trace as one safetensors file
    recording.py        a copy of the network that records every number
    network.py          heads by name, changed copies of a network, its hash
    cache_usage.py      what the key-value cache computed, reused and saved
    next_tokens.py      the distribution of the next token, and what sampling makes of it

    head_roles.py       what a head attends to: previous token, alignment, …
    head_statistics.py  all heads measured over a corpus
    word_attention.py   heads that attend from one word to another; which tokens make up a word
    contributions.py    what each head and feed-forward layer adds to a logit
    state_space.py      states of tokens as points, and the vocabulary entries near them
    lens.py             logit lens and decoder lens: the prediction of every layer
    ablation.py         heads turned off
    decision.py         a step and two tokens that compete there
    patching.py         where a decision is made: activations of one run put into another
    patched_runs.py     the patched runs, many in one batch
    minimal_pairs.py    the same decision in other sentences
    attribution.py      occlusion, integrated gradients, attention rollout
    decision_table.py   one decision by all of these methods, and whether they agree
    film.py             one sentence over the checkpoints of a run

    trace_json.py       a trace with everything that pictures say about it; signs of hallucination
    page.py             the explorer with a trace inside, as one HTML file
    figures/            pictures for papers: SVG, PNG, PDF
"""

from translucid.interpret.cache_usage import CacheStep, CacheUsage
from translucid.interpret.explain import explain
from translucid.interpret.head_statistics import HeadReport, measure_heads
from translucid.interpret.network import model_hash
from translucid.interpret.trace import (
    Level,
    Origin,
    Side,
    Step,
    TopToken,
    Trace,
    TraceToken,
    trace_bytes,
)
from translucid.interpret.word_attention import WordQuestion, find_word_heads

__all__ = [
    "CacheStep",
    "CacheUsage",
    "HeadReport",
    "Level",
    "Origin",
    "Side",
    "Step",
    "TopToken",
    "Trace",
    "TraceToken",
    "WordQuestion",
    "explain",
    "find_word_heads",
    "measure_heads",
    "model_hash",
    "trace_bytes",
]
