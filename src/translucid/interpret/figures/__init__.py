"""Pictures of a trace for papers and talks, each a function that returns a `Drawing`.

::

    drawing, colours       strokes and lettering, PNG and PDF; perceptual ramps and the style sheet
    cells, charts          tables as coloured squares; lines and dots over axes, curves of a run
    matrix, arcs           attention: any head, all heads, alignment, rollout; lines
    attention_steps        softmax(QKᵀ/√d_k)V for one query, all numbers filled in
    positions, beam_tree   positional encoding; the search and its arithmetic
    panels                 all pictures by name, and where the page shows them

The page with all of it is `translucid.interpret.page`.
"""

from translucid.interpret.figures.drawing import Drawing, pdf, png
from translucid.interpret.figures.panels import PANELS, Choice, Material, Panel, draw

__all__ = ["PANELS", "Choice", "Drawing", "Material", "Panel", "draw", "pdf", "png"]
