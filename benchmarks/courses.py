"""How systems learn: dev BLEU against minutes of training, as a table and a figure."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from translucid.files import new_file
from translucid.interpret.figures.charts import Area, apart, bounds, ticks, value_axis
from translucid.interpret.figures.drawing import MARGIN, Drawing, heading, path, text

MARKS = (20, 30, 35, 37)
WIDTH = 920


class Point(NamedTuple):
    """A validation: minutes of training, steps, target tokens and dev BLEU until then."""

    minutes: float
    step: int
    tokens: int
    bleu: float


@dataclasses.dataclass
class Course:
    """What a system did so far: minutes of training, validations, and how BLEU was computed."""

    name: str
    minutes: float = 0.0
    points: list[Point] = dataclasses.field(default_factory=list)
    signature: str = ""

    def minutes_to(self, bleu: float) -> float | None:
        """Return when dev BLEU first reached a value, between the validations around it."""
        before = Point(0.0, 0, 0, 0.0)
        for point in self.points:
            if point.bleu >= bleu:
                share = (bleu - before.bleu) / (point.bleu - before.bleu)
                return before.minutes + share * (point.minutes - before.minutes)
            before = point
        return None

    def keep(self, folder: Path) -> None:
        with new_file(folder / f"{self.name}.json") as file:
            file.write(json.dumps(dataclasses.asdict(self), indent=1).encode())

    @classmethod
    def kept(cls, name: str, folder: Path) -> Course:
        path = folder / f"{name}.json"
        if not path.exists():
            return cls(name)
        values = json.loads(path.read_bytes())
        points = [Point(*point) for point in values["points"]]
        return cls(name, values["minutes"], points, values["signature"])


def table(courses: Sequence[Course]) -> str:
    lines = [
        "| | " + " | ".join(f"minutes to {mark}" for mark in MARKS)
        + " | best dev BLEU | last | of minutes | steps | target tokens/s |",
        "|---|" + "--:|" * (len(MARKS) + 5),
    ]  # fmt: skip
    for course in courses:
        best, last = max(course.points, key=lambda point: point.bleu), course.points[-1]
        reached = [course.minutes_to(mark) for mark in MARKS]
        cells = ["not reached" if minutes is None else f"{minutes:.1f}" for minutes in reached]
        speed = last.tokens / last.minutes / 60
        lines.append(
            f"| {course.name} | {' | '.join(cells)} | {best.bleu:.2f} | {last.bleu:.2f} "
            f"| {last.minutes:.1f} | {last.step:,} | {speed:,.0f} |"
        )
    return "\n".join([*lines, "", f"{courses[0].signature}, greedy"]) + "\n"


def figure(courses: Sequence[Course], cores: int) -> Drawing:
    title = "Time to quality: dev BLEU against minutes of training"
    longest = max(course.points[-1].minutes for course in courses)
    parts, top = heading(title, WIDTH, [f"Cores of each: {cores}. Validation is not counted."])
    low, high = bounds([0.0, *(point.bleu for course in courses for point in course.points)])
    marks = ticks(0, longest, 6)
    area = Area(MARGIN + 30, top + 16, WIDTH - 260, top + 376, low, high, count=2)
    parts += value_axis(area)

    def x(minutes: float) -> float:
        return area.x(minutes / marks[-1])

    parts += [text(x(m), area.bottom + 18, f"{m:g}", "muted", anchor="middle") for m in marks]
    parts.append(text(area.right, area.bottom + 38, "minutes", "muted", anchor="end"))
    places = apart([area.y(course.points[-1].bleu) for course in courses], 18)
    for number, (course, y) in enumerate(zip(courses, places, strict=True)):
        points = [(x(0), area.y(0)), *((x(p.minutes), area.y(p.bleu)) for p in course.points)]
        way = "L".join(f"{across:.1f} {down:.1f}" for across, down in points)
        parts.append(path("M" + way, f"s{number}"))
        label = f"{course.name} {course.points[-1].bleu:.1f}"
        parts.append(text(area.right + 8, y + 4, label, f"t{number}"))
    words = "; ".join(f"{c.name}: {c.points[-1].bleu:.1f}" for c in courses)
    return Drawing(WIDTH, area.bottom + 38 + MARGIN, title, words, "".join(parts))
