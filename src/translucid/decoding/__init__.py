"""Search for a translation: which tokens to write, given what the network expects next.

::

    search.py       the entry point: every method of search
    config.py       how to search: SearchConfig
    request.py      a batch to search for: limits of length, prefixes, terms, forbidden tokens
    stepper.py      all that a search knows of a network, or of an ensemble of networks
    hypothesis.py   a translation that a search found, and how hypotheses rank

    greedy.py       the most probable token at every step; rows that do not compete
    sampling.py     a random token at every step
    mbr.py          minimum Bayes risk: the sample that is most like all others
    beam.py         several hypotheses in parallel, in groups or not
    candidates.py   its inner step: which continuations of a beam are followed
    terminology.py  a beam search whose translations must contain given terms

    constraints.py  what may not come next; limits of length; the loop guard
    penalties.py    what makes translations of different lengths comparable
    tree.py         a record of everything that a search considered
"""
