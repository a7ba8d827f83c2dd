"""Pictures of a trace, each a function that returns a `Drawing`: SVG, PNG, or part of a page.

::

    drawing, colours,      strokes; perceptual ramps and the style sheet; how wide a text is
    lettering
    cells, charts          tables as coloured squares; lines over axes
    matrix, arcs,          attention: any head, all heads, lines; who belongs to whom
    alignment
    positions, vectors     positional encoding; embeddings and feed-forward activations
    attention_steps        softmax(QKᵀ/√d_k)V for one query, all numbers filled in
    softmax, lens_grid     what might come next; what each layer would say
    beam_tree, cache_bars  the search and its arithmetic; what the cache saved
    residuals, film_strip  the residual stream; a head over the checkpoints of a run
    dot_chart              rows of dots, for what a study found
    panels                 all pictures of a trace by name
    page, png              one HTML page; PNG files
"""

from translucid.interpret.figures.drawing import Drawing
from translucid.interpret.figures.page import notebook, page
from translucid.interpret.figures.panels import PANELS, Choice, Material, Panel, draw
from translucid.interpret.figures.png import png

__all__ = ["PANELS", "Choice", "Drawing", "Material", "Panel", "draw", "notebook", "page", "png"]
