"""Looking inside: one trace of everything a translation did, and what can be read from it.

::

    explain.py         explain(translator, text) → Trace
    forced_prefix.py   which tokens a translation can be forced to begin with
    trace.py           the trace: tokens, steps, search tree, named tensors
    tensor_shapes.py   which tensors a trace has; how large it will be
    recording.py       the twin of the network that notes every number
    cache_account.py   what the cache computed, reused and saved
    model_hash.py      which model made a trace
    trace_file.py      a trace as one safetensors file
    next_tokens.py     the distribution of the next token, and what sampling makes of it

    rollout.py         attention through all layers together
    attention_head, head_kinds, head_roles, head_table, pointing
                       heads by name, and what each of them does over a corpus
    lens.py            what every layer would have said
    network, ablation  a changed twin of the network; heads turned off
    attribution, rank_correlation, rereading
                       which source words decided, beside attention
    word_groups.py     which tokens make a word
    confidence.py      signs that a translation has little to do with its source
    film.py            one sentence over the checkpoints of a run

    trace_json.py      a trace with everything that pictures say about it
    page.py            the explorer with a trace inside, as one HTML file
    figures/           pictures for papers: SVG, PNG, PDF
"""

from translucid.interpret.cache_account import CacheAccount, CacheStep
from translucid.interpret.explain import explain
from translucid.interpret.model_hash import model_hash
from translucid.interpret.tensor_shapes import Level, trace_bytes
from translucid.interpret.trace import Origin, Side, Step, TopToken, Trace, TraceToken

__all__ = [
    "CacheAccount",
    "CacheStep",
    "Level",
    "Origin",
    "Side",
    "Step",
    "TopToken",
    "Trace",
    "TraceToken",
    "explain",
    "model_hash",
    "trace_bytes",
]
