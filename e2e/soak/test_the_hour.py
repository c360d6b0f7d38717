"""An hour in which everything is done at once beside a nemesis. Counts and history: results/hour.json.

SOAK_SECONDS=3600 SOAK_SEED=1 .venv/bin/pytest -m soak e2e/soak/test_the_hour.py -s
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from seawall_e2e import clock_faults
from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.backups import Backups
from seawall_e2e.chaos import REST_SECONDS, VALUES, Chaos, judged
from seawall_e2e.cluster import PLAINTEXT
from seawall_e2e.mirrors import Mirror, digests, ends_of, second_kafka
from seawall_e2e.nemesis import Pace
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.site import Site
from seawall_e2e.soak import OFTEN, SECONDS, write_counts
from seawall_e2e.verifications import Verifications
from seawall_e2e.waiting import wait_until
from seawall_e2e.work_loops import Copies, Proofs

SEED = int(os.environ.get("SOAK_SEED", "1"))
COPIED_SECONDS = 300.0
PERIOD = OFTEN * max(1.0, SECONDS / 600)
"""Of writes: an hour has as many rows as ten minutes, since each reading is of all of them."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """What runs on Spark."""

    proofs: Proofs
    copies: Copies
    mirror: Mirror


@pytest.fixture(scope="session")
def image(image: str) -> str:  # noqa: ARG001 - the cluster is up, and has the CRDs
    """The operator's image, in which its clock can be moved."""
    return clock_faults.build_image()


@pytest.fixture
def jobs(site: Site, verification_image: str, backup_image: str, subscription_image: str) -> Jobs:
    """Of the site's WALCluster."""
    wal = site.wal_cluster()
    proofs, copies = Proofs(Verifications(wal, verification_image)), Copies(Backups(wal, backup_image))
    return Jobs(proofs, copies, Mirror(wal, subscription_image))


@pytest.mark.timeout(SECONDS + REST_SECONDS)
@pytest.mark.helm_values(*VALUES, *clock_faults.VALUES)
def test_an_hour_of_everything_loses_no_acknowledged_row(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str, jobs: Jobs
) -> None:
    rows = AckedRows(database_in_sight, checker_image, period=PERIOD)
    pace = Pace(pause=(5.0, 15.0), seconds=(3.0, 12.0))
    chaos = Chaos(site, database_in_sight, purges, rows, SEED, SECONDS, pace, interval="1m")
    with second_kafka() as servers:
        jobs.mirror.begin(servers)
        counts = chaos.run(jobs.proofs, jobs.copies)
        mirrored = compare(site, jobs.mirror, servers)
    read = {"verified": jobs.proofs.records, "backedUp": jobs.copies.records, "mirrored": mirrored}
    write_counts("hour", {"recordsReadByJobs": read, **counts})
    judged(counts)
    assert min(read.values()) > 0


def compare(site: Site, mirror: Mirror, servers: str) -> int:
    """How many records there are that the copy has all of, as they are."""
    mirror.wait("Streaming", within=COPIED_SECONDS)
    logs = site.toolbox.offsets(f"{site.prefix}_")

    def is_copied() -> bool:
        ends = ends_of(site.toolbox, servers, sorted(logs))
        return all(ends[topic] >= end for topic, (_, end) in logs.items())

    wait_until(is_copied, "the copy has all", within=COPIED_SECONDS, every=1, explain=mirror.explain)
    assert digests(site.toolbox, ",".join(PLAINTEXT), logs) == digests(site.toolbox, servers, logs)
    return sum(end - start for start, end in logs.values())
