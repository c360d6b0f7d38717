"""The page on how cost grows: drawn from results, three sizes at least, with slopes."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import growth
import pytest
from report import Report, Result
from sizes import RESULTS

ROOT = Path(growth.__file__).parents[1]


def results(folder: Path, name: str, *found: tuple[str, float]) -> None:
    lines = [Result(metric, "s", [value], max_value=1000) for metric, value in found]
    Report(name, f"make bench BENCH={name}", {}, lines).write(folder)


def test_a_series_has_three_sizes_and_its_slope(tmp_path: Path) -> None:
    linear = [("plan 10 regions", 0.1), ("plan 100 regions", 1.0), ("plan 1,000 regions", 10.0)]
    square = [("read 1,000 topics twice", 9.0), ("read 10 topics twice", 9e-4), ("read 100 topics twice", 0.09)]
    results(tmp_path, "example", *linear, *square, ("two 1 things", 1), ("two 2 things", 2), ("none", 1))
    plan, read = growth.series_in(tmp_path)
    assert (plan.metric, plan.sizes, plan.values) == ("plan … regions", (10, 100, 1000), (0.1, 1.0, 10.0))
    assert read.metric == "read … topics twice"
    assert [plan.slope, plan.dearer, read.slope, read.dearer] == pytest.approx([1, 1, 2, 100])


def test_the_page_has_a_plot_and_a_slope_of_each_series(tmp_path: Path) -> None:
    results(tmp_path, "example", ("plan 10 regions", 0.1), ("plan 100 regions", 1.0), ("plan 1,000 regions", 10.0))
    (tmp_path / "growth-of-before.svg").touch()
    page = growth.write_page(tmp_path).read_text()
    assert "| example | plan … regions | 10 → 100 → 1,000 | 0.1 → 1 → 10 s | 1.00 | 1.00 |" in page
    (plot,) = tmp_path.glob("*.svg")
    assert f"]({plot.name})" in page
    points = [each for each in ET.parse(plot).iter() if each.tag.endswith("circle")]  # noqa: S314 - our own
    assert len(points) == 3


def test_the_committed_page_is_of_the_committed_results(tmp_path: Path) -> None:
    """`make bench-report` writes it; the README leads there."""
    for path in RESULTS.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    assert growth.write_page(tmp_path).read_text() == (RESULTS / growth.PAGE).read_text()
    assert {path.name for path in tmp_path.glob("*.svg")} == {path.name for path in RESULTS.glob("*.svg")}
    assert f"bench/results/{growth.PAGE}" in (ROOT / "README.md").read_text()
