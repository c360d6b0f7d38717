"""Many more days, and all planted bugs (make e2e-soak); the counts go to e2e/soak/results/simulation.json.

SIMULATED_DAYS=<n> lives so many seeds, SIMULATION_SEEDS=<n> gives each planted bug so many.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

from seawall_e2e.soak import write_counts
from tests.simulation.minimize import minimize, story
from tests.simulation.mutants import BUGS, find
from tests.simulation.run import simulate

DAYS = int(os.environ.get("SIMULATED_DAYS", "2000"))
SEEDS = int(os.environ.get("SIMULATION_SEEDS", "200"))
WORKERS = int(os.environ.get("SIMULATION_WORKERS", str(os.cpu_count() or 1)))

pytestmark = [pytest.mark.soak, pytest.mark.timeout(100_000)]


def test_no_day_breaks_an_invariant_and_every_planted_bug_is_found() -> None:
    days = _all(simulate, range(1, DAYS + 1))
    bugs = dict(_all(_search, range(len(BUGS))))
    bad = [found for found in days if found.violation is not None]
    total: Counter[str] = Counter()
    for found in days:
        total.update(found.counts)
    destroyed = sum(found.plan.destroys for found in days)
    longest = max(found.counts.get("seconds to rest", 0) for found in days if not found.plan.destroys)
    del total["seconds to rest"]
    write_counts(
        "simulation",
        {
            "days": len(days),
            "violations": len(bad),
            "seeds that violate": [found.plan.seed for found in bad],
            "days with an adversary that destroys": destroyed,
            "longest way to rest in seconds": longest,
            **dict(sorted(total.items())),
            "planted bugs, by the seed that finds them": bugs,
        },
    )
    assert None not in bugs.values(), bugs
    assert not bad, story(minimize(bad[0]))


def _search(number: int) -> tuple[str, int | None]:
    found = find(BUGS[number], range(1, SEEDS + 1))
    return BUGS[number].__name__, None if found is None else found[0]


def _all(live: Callable[[int], Any], numbers: Iterable[int]) -> list[Any]:
    """In processes of their own: a run changes what a process draws its chance from."""
    with ProcessPoolExecutor(WORKERS, get_context("spawn"), initializer=_be_quiet) as pool:
        return list(pool.map(live, numbers))


def _be_quiet() -> None:
    logging.disable(logging.CRITICAL)
