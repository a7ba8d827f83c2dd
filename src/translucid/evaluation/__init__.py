"""How good are translations? Scores that can be cited, tests of differences, and reports.

::

    evaluate.py        evaluate(model, test) → Evaluation: every score of one system
    compare.py         compare(systems, test) → Comparison: paired significance tests
    metrics.py         BLEU, chrF and TER by sacrebleu, with signatures and intervals; scores by
                       length of the source, words by frequency
    moses.py           the Moses tokenizer, for the BLEU of older papers
    reference_set.py   test sets: sources with references
    system.py          what is evaluated: a model, or given translations
    results.py         results as a folder, with the settings that made them
    report.py          HTML reports
    html_page.py       the parts of an HTML page, and differences between texts
"""

from translucid.evaluation.compare import Comparison, compare
from translucid.evaluation.evaluate import Evaluation, evaluate
from translucid.evaluation.reference_set import ReferenceSet
from translucid.evaluation.system import System

__all__ = ["Comparison", "Evaluation", "ReferenceSet", "System", "compare", "evaluate"]
