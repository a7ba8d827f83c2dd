"""The campaign: what users, programs and machines do wrong, by the thousand.

::

    make campaign                               ten minutes, a report in campaign-report/
    make campaign ARGUMENTS="--minutes 360 --seed 7"

Each area addresses the real thing, takes its share of the time, draws everything from the seed that
the report names, and tells what it tried and what failed. It addresses loopback alone, writes to a
folder of its own, and stops by itself.
"""
