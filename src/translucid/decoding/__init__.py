"""Search for a translation: which tokens to write, given what the network expects next.

::

    stepper.py      all that a search knows of the network, and how long a translation may get
    settings.py     how to search
    job.py          what is asked for: limits of length, prefixes, terms, forbidden tokens
    search.py       one door to every kind of search

    rows.py         rows that do not compete: what greedy search and sampling share
    greedy.py       the most probable token at every step
    sampling.py     a token drawn by lot
    mbr.py          minimum Bayes risk: the sample that is most like all others
    beam.py         several hypotheses side by side, in groups or not
    candidates.py   its inner step: which continuations of a beam go on
    terminology.py  a beam whose translations must have given terms in them

    constraints.py  what may not come next
    limits.py       at the limit of length, nothing but the end symbol
    loops.py        translations that go in circles
    penalties.py    what makes translations of different lengths comparable
    found.py        what has ended so far
    ensemble.py     several networks as one stepper
    tree.py         the tree that a search has grown
"""
