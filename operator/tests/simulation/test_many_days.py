"""Many more days, and all planted bugs (make e2e-soak); the counts go to e2e/soak/results.

SIMULATED_DAYS=<n> lives the seeds up to this one, SIMULATED_AFTER=<n> those after this one (results/simulation.json
keeps what it has of those before), SIMULATION_SEEDS=<n> gives each planted bug so many, SIMULATION_WORKERS=<n> lives
so many at once. SIMULATION_JOURNAL=<file> has a line for each day that was lived: a soak that was stopped goes on
after the last one. Who mends the simulation begins a new one, because its seeds are other days then.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from seawall_e2e.soak import RESULTS, write_counts
from tests.simulation.minimize import minimize, story
from tests.simulation.mutants import BUGS, find
from tests.simulation.run import simulate

DAYS = int(os.environ.get("SIMULATED_DAYS", "2000"))
AFTER = int(os.environ.get("SIMULATED_AFTER", "0"))
SEEDS = int(os.environ.get("SIMULATION_SEEDS", "200"))
WORKERS = int(os.environ.get("SIMULATION_WORKERS", str(os.cpu_count() or 1)))
JOURNAL = os.environ.get("SIMULATION_JOURNAL", "")

pytestmark = [pytest.mark.soak, pytest.mark.timeout(100_000)]


@dataclass(frozen=True)
class Day:
    """What is kept of a day that was lived."""

    seed: int
    violation: str | None
    destroys: bool
    counts: dict[str, int]


def test_no_day_breaks_an_invariant(tmp_path: Path) -> None:
    days = list(_days(Path(JOURNAL) if JOURNAL else tmp_path / "journal", range(AFTER + 1, DAYS + 1)))
    bad = sorted(day.seed for day in days if day.violation is not None)
    total: Counter[str] = Counter()
    for day in days:
        total.update(day.counts)
    longest = max(day.counts.get("seconds to rest", 0) for day in days if not day.destroys)
    del total["seconds to rest"]
    write_counts(
        "simulation",
        {
            "seeds": [AFTER + 1, DAYS],
            "days": len(days),
            "violations": len(bad),
            "seeds that violate": bad,
            "days with an adversary that destroys": sum(day.destroys for day in days),
            "longest way to rest in seconds": longest,
            **dict(sorted(total.items())),
            "runs of the seeds before": _runs_before(),
        },
    )
    assert not bad, story(minimize(simulate(bad[0])))


def test_every_planted_bug_is_found() -> None:
    with _processes() as pool:
        found = dict(pool.map(_search, range(len(BUGS))))
    write_counts("simulation-bugs", {"seeds of each": SEEDS, "found": sum(map(bool, found.values())), "bugs": found})
    assert None not in found.values(), found


def _runs_before() -> list[dict[str, Any]]:
    """What was committed of the seeds before those of this run, each with its own commit."""
    if not AFTER:
        return []
    last: dict[str, Any] = json.loads((RESULTS / "simulation.json").read_text())
    before = last.pop("runs of the seeds before", [])
    assert last["seeds"][1] == AFTER, "the seeds between were not lived"
    return [last, *before]


def _days(journal: Path, seeds: Iterable[int]) -> Iterator[Day]:
    """Each day as it ends, and those that the journal has."""
    lived = [Day(**json.loads(line)) for line in journal.read_text().splitlines()] if journal.exists() else []
    lived = [day for day in lived if day.seed in set(seeds)]
    yield from lived
    with _processes() as pool, journal.open("a") as lines:
        for day in pool.map(_live, sorted({*seeds} - {day.seed for day in lived})):
            lines.write(json.dumps(asdict(day)) + "\n")
            lines.flush()
            yield day


def _live(seed: int) -> Day:
    found = simulate(seed)
    return Day(seed, found.violation, found.plan.destroys, found.counts)


def _search(number: int) -> tuple[str, Any]:
    bug = BUGS[number]
    found = find(bug, range(1, SEEDS + 1))
    return bug.name, None if found is None else {"seed": found[0], "what it says": found[1]}


@contextmanager
def _processes() -> Iterator[ProcessPoolExecutor]:
    """Of their own: a run changes what a process draws its chance from."""
    with ProcessPoolExecutor(WORKERS, get_context("spawn"), initializer=_be_quiet) as pool:
        yield pool


def _be_quiet() -> None:
    logging.disable(logging.CRITICAL)
