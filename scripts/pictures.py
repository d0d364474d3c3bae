#!/usr/bin/env python3
"""Draw the README's pictures again, from made-up figures: ``python scripts/pictures.py``.

Needs the extras ``analytics`` and ``test``. What they show is in tests/support/figure_rows.py.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "scripts" / "pictures"
ZONE = "America/New_York"


def main() -> int:
    sys.path.insert(0, str(ROOT / "tests"))
    from convostore.cli.charts.contents import chart_of, grid_of
    from convostore.cli.charts.drawing import picture
    from convostore.store import UsageRow
    from support.figure_rows import heat_rows, made_rows

    # Four days; on the third the clock goes forward.
    rows = [replace(row, cost=None) for row in made_rows(UsageRow, 4 * 24 - 1, "hour", ZONE, "2026-03-06")]
    usage = chart_of(rows, "hour", ZONE)
    heat = grid_of(heat_rows(), "tokens", ZONE, "Tokens by hour and weekday\n2026-03-02 to 2026-03-29")
    for name, shape in (("usage-by-hour", usage), ("hours-of-the-week", heat)):
        file = FOLDER / f"{name}.png"
        file.write_bytes(picture(shape, "png"))
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
