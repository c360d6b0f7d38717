"""Datanodes are restarted again and again under writes and purges, whatever else happens. Counts: results/rolls.json.

A round: the operator that leads is stopped when a pod is about to go, and wakes up when another leads;
the replication factor changes in mid-roll; a replay lasts longer than openGrace and an interval, and the operator dies.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import count

import pytest

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.armed import ArmedSignal
from seawall_e2e.invariants import InvariantSampler
from seawall_e2e.operator_faults import LeadingPodCrashed
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import DATANODES, RefDb
from seawall_e2e.restarts import RIGHTS, SAFETY, DownSampler, Restarts
from seawall_e2e.site import Site
from seawall_e2e.soak import OFTEN, SECONDS, write_counts
from seawall_e2e.waiting import wait_until

LONG = 30.0
"""Seconds: longer than openGrace and an interval."""


@pytest.mark.timeout(SECONDS + 900)
@pytest.mark.helm_values(RIGHTS)
def test_rolls_go_on_and_on_and_no_acknowledged_row_is_lost(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str
) -> None:
    restarts, ended = Restarts(site, database_in_sight), Counter[str]()
    restarts.declare(replayBudget="5m")
    site.operator.scale(2)
    began = time.monotonic()
    with (
        AckedRows(database_in_sight, checker_image, period=OFTEN) as rows,
        InvariantSampler(site, rows) as sampler,
        DownSampler(database_in_sight) as down,
    ):
        purges.apply_policy(safety=SAFETY)
        rows.wait_until_written_everywhere()
        for number in count():
            ended += one_of_each(number, site, restarts)
            sampler.check()
            assert len(down.most) == 1, f"{sorted(down.most)} were down at once"
            if time.monotonic() - began >= SECONDS:
                break
    purges.suspend()
    purges.wait_until_over()
    verdict = rows.judge()
    counts = {
        "seconds": round(time.monotonic() - began),
        "rolls": ended,
        "mostDownAtOnce": len(down.most),
        "samplesOfPods": down.samples,
        "samplesOfInvariants": sampler.samples,
        "runsOfPurges": Counter(one.stage for one in purges.runs()),
        "entriesDeleted": purges.entries_deleted(),
        "acked": verdict["acked"],
        "lost": verdict["lost"],
    }
    write_counts("rolls", counts)
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert not database_in_sight.in_maintenance()


def one_of_each(number: int, site: Site, restarts: Restarts) -> Counter[str]:
    """One round of three rolls; how many of each there were."""
    was_in_time = sleep_before_an_eviction(f"sleep-{number}", site, restarts)
    change_replicas(f"replicas-{number}", site, restarts)
    replay_for_long(f"long-{number}", site, restarts)
    slept = "sleptBeforeAnEviction" if was_in_time else "sleptAfterAnEviction"
    return Counter({slept: 1, "replicasChanged": 2, "longReplay": 1})


def sleep_before_an_eviction(value: str, site: Site, restarts: Restarts) -> bool:
    """SIGSTOP of who leads when a pod is about to go; it wakes up when another leads, which finishes the roll."""
    operator, before = site.operator, restarts.uids()
    leader = wait_until(operator.leader, "one leads", explain=operator.log)
    with ArmedSignal(operator.namespace, leader, "STOP") as stop, restarts.watched() as wait_for:
        restarts.ask(value)
        wait_for("Restarting")
        stop.fire()
    is_in_time = restarts.uids() == before
    try:
        wait_until(lambda: operator.leader() not in {None, leader}, "another leads", explain=operator.log)
    finally:
        operator.signal(leader, "CONT")
    finished(value, restarts)
    wait_until(operator.is_ready, "all are ready", explain=operator.log)
    return is_in_time


def change_replicas(value: str, site: Site, restarts: Restarts) -> None:
    """The replication factor falls in mid-roll, and rises in the next one."""
    for factor in (2, 3):
        restarts.ask(f"{value}-{factor}")
        restarts.wait_for_stage("Restarting", "Replaying")
        restarts.declare(factor, replayBudget="5m")
        finished(f"{value}-{factor}", restarts)
        site.wal_cluster().wait("Ready", within=120)


def replay_for_long(value: str, site: Site, restarts: Restarts) -> None:
    """The first datanode that goes replays for long, and the operator dies meanwhile."""
    pods = sorted(restarts.uids())
    for pod in pods:
        restarts.database.hold_back(pod)
    restarts.ask(value)
    restarts.wait_for_stage("Replaying")
    held = str(restarts.wal.status()["disruption"]["name"])
    with LeadingPodCrashed(site.operator).applied():
        time.sleep(LONG)
    assert restarts.status()["stage"] == "Replaying"
    for pod in (held, *pods):
        restarts.database.let_go(pod)
    finished(value, restarts)


def finished(value: str, restarts: Restarts) -> None:
    """Waits until this roll is done with all datanodes."""

    def is_done() -> bool:
        status = restarts.status()
        return (status.get("stage"), status.get("doneRequest")) == ("Completed", value)

    wait_until(is_done, f"the roll {value} is done", within=240, every=0.5, explain=restarts.explain)
    assert restarts.status()["restarted"] == DATANODES
