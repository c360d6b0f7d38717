"""The short form of soak/test_the_hour.py: the same work and faults by a fixed seed, without jobs on Spark.

What each kind of work does in peace, other tests ask in every run.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.chaos import REST_SECONDS, VALUES, Chaos, judged
from seawall_e2e.faults import FaultKind
from seawall_e2e.nemesis import Pace
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.site import Site

SEED = 3
SECONDS = 120.0
WITHOUT = frozenset({FaultKind.DRIVER_KILLED, FaultKind.EXECUTOR_KILLED, FaultKind.CLOCK_SKEWED})
"""What needs Spark, and an operator of another image."""


@pytest.mark.timeout(SECONDS + REST_SECONDS)
@pytest.mark.helm_values(*VALUES)
def test_three_minutes_of_everything_lose_no_acknowledged_row(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str
) -> None:
    rows = AckedRows(database_in_sight, checker_image)
    pace = Pace(pause=(2.0, 6.0), seconds=(3.0, 8.0))
    chaos = Chaos(site, database_in_sight, purges, rows, SEED, SECONDS, pace, interval="30s", without=WITHOUT)
    judged(replace(chaos, works_once_more=False).run())
