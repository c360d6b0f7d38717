"""The format and the table of benchmarks' results: a benchmark whose peer did not run has no result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from report import Report, Result
from result_format import require_valid
from result_table import table, write_table
from sizes import RESULTS, TRIALS, Sizes

GOOD = Result("work", "s", [2.0, 3.0, 1.0], "the peer", [1.0, 4.0, 2.0], max_ratio=1.5)
LIMITED = Result("memory", "MB", [130.0], max_value=120)


@dataclass(frozen=True, slots=True)
class Size:
    things: int = 100
    pause: float = 1.0


SIZES = Sizes("example", "An example.", Size(), Size(1))


def report(*results: Result) -> Report:
    return Report("example", "make bench BENCH=example", {}, list(results))


def body_of(folder: Path, *results: Result) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(report(*results).write(folder).read_text())
    return body


def test_a_result_has_medians_ranges_ratio_and_goal(tmp_path: Path) -> None:
    timed, limited = body_of(tmp_path, GOOD, LIMITED)["results"]
    assert (timed["value"], timed["min"], timed["max"]) == (2, 1, 3)
    assert (timed["againstValue"], timed["againstMin"], timed["againstMax"]) == (2, 1, 4)
    assert (timed["ratio"], timed["goal"], timed["met"]) == (1, "ratio ≤ 1.5", True)
    assert (limited["against"], limited["ratio"], limited["goal"], limited["met"]) == (None, None, "value ≤ 120", False)


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (Result("work", "s", [1.0], "the peer", []), "againstSamples is empty"),
        (Result("work", "s", [1.0], "the peer", [0.0]), "the peer took no time"),
        (Result("work", "s", [1.0], "the peer", [float("nan")]), "no number"),
        (Result("work", "s", [float("inf")], max_value=2), "no number"),
        (Result("work", "s", [1.0], max_ratio=2), "a ratio to nothing"),
        (Result("work", "s", [1.0]), "nothing is compared"),
        (Result("", "s", [1.0], max_value=2), "no word"),
    ],
)
def test_what_did_not_run_is_not_written(tmp_path: Path, result: Result, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        report(result).write(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda body: body.pop("load1"), "its keys are"),
        (lambda body: body.update(commit=""), "commit is no word"),
        (lambda body: body.update(load1=-1.0), "no load"),
        (lambda body: body["results"].append(body["results"][0]), "twice"),
        (lambda body: body["results"][0].update(ratio=7.0), "the ratio is another one"),
        (lambda body: body["results"][0].update(met=None), "whether the goal is met"),
        (lambda body: body["results"][0].update(min=2.5), "not between"),
        (lambda body: body["results"][0].pop("unit"), "its keys are"),
    ],
)
def test_another_format_is_refused(tmp_path: Path, change: Callable[[dict[str, Any]], None], problem: str) -> None:
    body = body_of(tmp_path, GOOD, LIMITED)
    require_valid(body)
    change(body)
    with pytest.raises(ValueError, match=problem):
        require_valid(body)


def test_only_full_runs_as_they_are_go_where_results_are_committed(tmp_path: Path) -> None:
    full, small, other = SIZES.parse([]), SIZES.parse(["--size", "small"]), SIZES.parse(["--things", "7"])
    assert (full.size, full.folder, full.command) == (Size(), RESULTS, "make bench BENCH=example")
    assert (small.size, small.folder, small.command) == (Size(1), TRIALS, "make bench BENCH=example SIZE=small")
    assert (other.size, other.folder) == (Size(7), TRIALS)
    assert other.command == "bench/example.py --size full --things=7"
    assert SIZES.parse(["--size", "small", "--results", str(tmp_path)]).folder == tmp_path


def test_the_table_says_ours_the_peer_or_the_limit_and_whether_the_goal_is_met(tmp_path: Path) -> None:
    path = report(GOOD, LIMITED).write(tmp_path)
    shown = table([path])
    assert "2 [1 … 3] s" in shown
    assert "2 [1 … 4] s the peer" in shown
    assert "limit 120 MB" in shown
    written = write_table(tmp_path).read_text()
    assert "| work | 2 [1 … 3] s | 2 [1 … 4] s the peer | 1.00 | ratio ≤ 1.5 | yes |" in written
    assert "| memory | 130 MB | limit 120 MB |  | value ≤ 120 | NO |" in written
    assert "`make bench BENCH=example`" in written
