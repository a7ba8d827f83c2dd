"""Search for a translation: which tokens to write, given what the network expects next.

::

    stepper.py    all that a search knows of the network, and how long a translation may get
    greedy.py     the most probable token at every step
"""
