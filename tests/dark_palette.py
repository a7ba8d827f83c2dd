"""The colours of the page on a dark ground, by the rules of the light ones."""

from __future__ import annotations

from translucid.interpret.figures.colours import Oklch, Palette, diverging_ramp, heat_ramp

DARK = Palette(
    ground="#1c1f27",
    ink="#e6e8ef",
    muted="#a3a9b9",
    line="#3a4050",
    panel="#242833",
    accent="#9db4ff",
    good="#84d79a",
    masked="#2b303c",
    series=("#5bb4ee", "#f0965a", "#4fc7a0", "#e08fcb", "#d0b64a", "#a79ff5", "#f08a98", "#9fbac6"),
    heat=heat_ramp(Oklch(0.21, 0.02, 280), Oklch(0.95, 0.10, 98), 0.115),
    diverging=diverging_ramp(0.21, 0.78),
)
