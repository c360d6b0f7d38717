"""How cost grows with size: `make bench-report` draws what results tell of three sizes at least, on one page.

Results are of one series when their metrics differ in one number only, as "permit 10,000 regions" and "permit
100,000 regions". The slope is that of the line through them on logarithmic axes: 1 is linear, 2 is quadratic.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from growth_plot import draw
from sizes import RESULTS

PAGE = "growth.md"
_SIZED = re.compile(r"^(?P<before>.*?)(?P<size>\d{1,3}(?:,\d{3})*) (?P<after>[a-z]+s\b.*)$")
NOTE = (
    "Written by `make bench-report` from the [results](README.md). A slope is that of the line through all sizes on\n"
    "logarithmic axes: 1 is linear, 2 quadratic, 0 does not grow. The last column: what one unit costs at the\n"
    "greatest size, divided by what it costs at the least."
)


@dataclass(frozen=True, slots=True)
class Series:
    """What one metric is at several sizes."""

    benchmark: str
    metric: str
    unit: str
    sizes: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def slope(self) -> float:
        """Of the line through the logarithms."""
        return float(np.polyfit(np.log10(self.sizes), np.log10(self.values), 1)[0])

    @property
    def dearer(self) -> float:
        """A unit of the greatest size against one of the least."""
        return (self.values[-1] / self.sizes[-1]) / (self.values[0] / self.sizes[0])

    @property
    def file(self) -> str:
        """The name of its plot."""
        return f"growth-{re.sub('[^a-z0-9]+', '-', f'{self.benchmark} {self.metric}'.lower()).strip('-')}.svg"


def series_in(folder: Path) -> Iterator[Series]:
    """The series of all results of which there are three sizes."""
    for path in sorted(folder.glob("*.json")):
        body = json.loads(path.read_text())
        found: dict[tuple[str, str], dict[int, float]] = {}
        for result in body["results"]:
            sized = _SIZED.match(result["metric"])
            if sized is not None and result["value"] > 0:
                metric = f"{sized['before']}… {sized['after']}"
                size = int(sized["size"].replace(",", ""))
                found.setdefault((metric, result["unit"]), {}).setdefault(size, result["value"])
        for (metric, unit), by_size in found.items():
            if len(by_size) > 2:
                sizes = sorted(by_size)
                yield Series(body["name"], metric, unit, tuple(sizes), tuple(by_size[size] for size in sizes))


def write_page(folder: Path) -> Path:
    """Draws all series, and writes the page with their slopes; plots of before are removed."""
    found = list(series_in(folder))
    for old in folder.glob("growth-*.svg"):
        old.unlink()
    rows = ["| benchmark | what | sizes | cost | slope | each dearer |", "| --- | --- | --- | --- | --- | --- |"]
    rows += [_row(each) for each in found]
    for each in found:
        (folder / each.file).write_text(draw(f"{each.metric} ({each.unit})", each.sizes, each.values))
    plots = [f"![{each.metric}: slope {each.slope:.2f}]({each.file})" for each in found]
    path = folder / PAGE
    path.write_text("\n".join(["# How cost grows", "", NOTE, "", *rows, "", *plots]) + "\n")
    return path


def _row(series: Series) -> str:
    cost = " → ".join(f"{value:.3g}" for value in series.values)
    sizes = " → ".join(f"{size:,}" for size in series.sizes)
    cells = (series.benchmark, series.metric, sizes, f"{cost} {series.unit}")
    return f"| {' | '.join(cells)} | {series.slope:.2f} | {series.dearer:.2f} |"


def main(arguments: Sequence[str]) -> None:
    """Writes the page of a folder of results; that of the committed ones by default."""
    print(write_page(Path(arguments[0]) if arguments else RESULTS))


if __name__ == "__main__":
    main(sys.argv[1:])
