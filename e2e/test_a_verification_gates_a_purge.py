"""A replay verification on Spark while rows are written: what it reads is kept; what it proved may go, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from seawall_e2e.acked_rows import TABLE, AckedRows
from seawall_e2e.commands import CommandFailed
from seawall_e2e.faults import FaultLog, TableFlushed
from seawall_e2e.invariants import InvariantSampler
from seawall_e2e.purges import FAST, Purges, Run
from seawall_e2e.refdb import RefDb
from seawall_e2e.site import Site
from seawall_e2e.verifications import Verification, Verifications
from seawall_e2e.waiting import wait_until

GATE = {"requireVerification": {"level": "Integrity", "maxAge": "1h"}}
NIGHTLY = "nightly"


@pytest.mark.helm_values("replayVerification.create=true")
def test_a_gated_purge_goes_exactly_as_far_as_a_verification_proved_whose_hold_kept_what_it_read(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str, verification_image: str
) -> None:
    flush, faults = TableFlushed(database_in_sight, TABLE), FaultLog()
    verifications = Verifications(site.wal_cluster(), verification_image)
    gated, free = sorted(site.topics())[:2], sorted(site.topics())[2:]
    with AckedRows(database_in_sight, checker_image) as rows, InvariantSampler(site, rows) as sampler:
        faults.run(flush)
        purges.apply_policy(topics=gated, safety={**FAST, **GATE})
        unverified = run_once_more(purges)
        untouched = site.log_starts()
        with reading(verifications) as reads:
            rows.wait_until_written_everywhere()
            faults.run(flush)
            purges.wait_until_unneeded({topic: reads.verified_from[topic] for topic in free})
            meanwhile = purges.purge_once("meanwhile", topics=free)
            kept = purges.ledger()
        seen = verifications.wait_until_over(NIGHTLY)
        rows.wait_until_written_everywhere()
        faults.run(flush)
        purges.resume()
        wait_until(
            lambda: all(site.log_starts()[topic] == seen.verified_from[topic] for topic in gated),
            "the gated topics start where the verification began",
            every=1,
            explain=purges.explain,
        )
        run_once_more(purges)
        starts = site.log_starts()
    report, page = verifications.report(seen)
    verdict = rows.judge()
    print(purges.table("walp", "walh", "walv"), f"{sampler.samples} samples", sep="\n")

    assert unverified.skipped == dict.fromkeys(gated, "VerificationMissing")
    assert not any(untouched.values())
    assert meanwhile.stage == "Completed"
    for topic in free:
        assert kept[topic]["log_start"] == reads.verified_from[topic] > 0
        assert kept[topic]["held_by"] == f"WALHold {reads.application}"
    for topic in gated:
        assert kept[topic]["log_start"] == 0
        assert starts[topic] == seen.verified_from[topic] == reads.verified_from[topic] > 0
    assert_verified(seen, {*gated, *free}, report, page)
    assert purges.state(str(seen.application)) is None, "its hold is gone"
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert verdict["regions"] == rows.partitions
    assert sampler.samples >= 10


@contextmanager
def reading(verifications: Verifications) -> Iterator[Verification]:
    """A verification whose driver is stopped as long as the `with` lasts, so that it is not over before."""
    verifications.request(NIGHTLY)
    seen = verifications.wait_until_runs(NIGHTLY)
    wait_until(partial(is_stopped, verifications, seen), "its driver is stopped", explain=verifications.explain)
    try:
        yield seen
    finally:
        verifications.signal(seen.driver, "CONT")


def is_stopped(verifications: Verifications, seen: Verification) -> bool:
    """Stops its driver; not between the Java that works out the driver's command and the one that it becomes."""
    try:
        verifications.signal(seen.driver, "STOP")
    except CommandFailed:
        return False
    return True


def run_once_more(purges: Purges) -> Run:
    """A run of the policy from its begin to its end, after which no more begin."""
    found = purges.wait_for_a_whole_run()
    purges.suspend()
    purges.wait_until_over()
    return found


def assert_verified(seen: Verification, topics: set[str], report: Mapping[str, Any], page: str) -> None:
    """The verification proved all of it at the first attempt, and its report says the same."""
    assert (seen.stage, seen.outcome, seen.attempt) == ("Completed", "Passed", 1)
    assert seen.verified == topics
    assert seen.findings == ()
    assert seen.counts["records"] > 0
    assert (report["outcome"], report["counts"]["records"]) == ("Passed", seen.counts["records"])
    assert all(topic in page for topic in topics)
