"""Run the campaign: ``python -m campaign --minutes 10``, with ``tools`` on the path."""

from __future__ import annotations

import argparse
import html
import json
import platform
import random
import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from campaign import crowds, damage, kills, requests, soak
from campaign.area import Area
from translucid import __version__

AREAS = {
    "requests": requests.run,
    "crowds": crowds.run,
    "kills": kills.run,
    "damage": damage.run,
    "soak": soak.run,
}
SHARES = {"requests": 0.25, "crowds": 0.1, "kills": 0.3, "damage": 0.1, "soak": 0.25}


def write_report(folder: Path, report: dict[str, Any]) -> None:
    """Write what was tried and found as JSON and as a page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "campaign.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    parts = [
        "<!doctype html><meta charset=utf-8><title>Campaign</title>",
        "<style>body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}"
        "td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}"
        "pre{white-space:pre-wrap;overflow-wrap:anywhere}</style>",
        f"<h1>Campaign</h1><p>translucid {report['version']}, {report['begun']}, "
        f"{report['minutes']:g} minutes, seed {report['seed']}, "
        f"{html.escape(report['machine'])}</p>",
    ]
    for area in report["areas"]:
        rows = "".join(
            f"<tr><th>{html.escape(str(name))}<td>{html.escape(str(value))}"
            for name, value in {**area["tried"], **area}.items()
            if name not in ("tried", "failures", "area", "seed")
        )
        faults = "".join(f"<pre>{html.escape(one)}</pre>" for one in area["failures"])
        parts.append(f"<h2>{area['area']}</h2><table>{rows}</table>{faults}")
    (folder / "campaign.html").write_text("\n".join(parts) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument(
        "--seed", type=int, default=None, help="default: a new one, which is printed"
    )
    parser.add_argument(
        "--area", choices=[*AREAS], action="append", help="repeatable; default: all"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("campaign-report"))
    given = parser.parse_args()
    # Told to end, it ends what it has started, too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    chosen = given.area or [*AREAS]
    whole = sum(SHARES[name] for name in chosen)
    print(f"seed {seed}, {given.minutes:g} minutes: {', '.join(chosen)}", flush=True)
    report: dict[str, Any] = {
        "version": __version__,
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "minutes": given.minutes,
        "seed": seed,
        "machine": f"{platform.platform()}, Python {platform.python_version()}",
        "areas": [],
    }
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        for name in chosen:
            seconds = given.minutes * 60 * SHARES[name] / whole
            area = Area(name, seed, Path(folder) / name, seconds)
            try:
                AREAS[name](area)
            except Exception as error:  # an area that breaks down is a finding, and others go on
                area.check(False, f"the area broke down: {type(error).__name__}: {error}")
            report["areas"].append(area.to_json())
            write_report(given.output, report)
            tried = ", ".join(f"{count:,} {what}" for what, count in sorted(area.tried.items()))
            print(f"{name}: {tried}; failed: {area.failed}", flush=True)
            for failure in area.failures[:5]:
                print(f"  {failure[:1000]}", flush=True)
    print(f"report: {given.output / 'campaign.html'}")
    return 1 if any(area["failed"] for area in report["areas"]) else 0


if __name__ == "__main__":
    sys.exit(main())
