"""The cache: multiplications of each step with it and without it."""

from __future__ import annotations

from translucid.interpret.figures.charts import Area, bounds, value_axis
from translucid.interpret.figures.drawing import MARGIN, Drawing, heading, rect, text
from translucid.interpret.figures.lettering import text_width
from translucid.interpret.trace import Trace

BAR = 14
HEIGHT = 170


def cache_bars(trace: Trace) -> Drawing:
    """Return what each step of decoding computed, and what it would have without a cache."""
    steps = trace.cache.steps
    pitch = max(BAR + 6.0, min(34.0, 640 / max(1, len(steps))))
    left = MARGIN + 62.0
    width = max(560.0, left + len(steps) * pitch + MARGIN)
    title = "Cache: multiplications of the decoder, step by step"
    parts, top = heading(title, width, [_about(trace)])
    names = (("with the cache", "solid"), ("without it", "quiet"))
    x = float(MARGIN)
    for name, kind in names:
        parts.append(rect(x, top, 10, 10, kind))
        parts.append(text(x + 15, top + 9, name, "muted"))
        x += 15 + text_width(name) + 22
    high = bounds([0.0, *(step.without_cache / 1e6 for step in steps)])[1]
    area = Area(left, top + 44, left + len(steps) * pitch, top + 44 + HEIGHT, 0.0, high, 2)
    parts.append(text(left, top + 35, "million multiplications", "muted"))
    for place, step in enumerate(steps):
        bar_x = left + place * pitch + (pitch - BAR) / 2
        for value, kind in ((step.without_cache, "quiet"), (step.multiplications, "solid")):
            y = area.y(value / 1e6)
            parts.append(rect(bar_x, y, BAR, area.bottom - y, kind))
        if place % (1 if len(steps) <= 30 else 5) == 0:
            middle = bar_x + BAR / 2
            parts.append(text(middle, area.bottom + 15, f"{place}", "muted small", anchor="middle"))
    parts += value_axis(area)
    middle = (area.left + area.right) / 2
    parts.append(text(middle, area.bottom + 33, "step", "muted", anchor="middle"))
    return Drawing(width, area.bottom + 33 + MARGIN, title, _about(trace), "".join(parts))


def _about(trace: Trace) -> str:
    cache = trace.cache
    share = cache.saved / cache.without_cache if cache.without_cache else 0.0
    return (
        f"{cache.computed} target positions were computed and {cache.reused} reused; the source's "
        f"keys and values were projected once. {cache.multiplications / 1e6:,.1f} million "
        f"multiplications instead of {cache.without_cache / 1e6:,.1f} million, {share:.0%} saved, "
        f"for {cache.bytes / 1e6:,.2f} MB of memory."
    )
