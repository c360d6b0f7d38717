"""The scenario of `test_purge_crash.py` on real parts: a run dies around its changes; the next process ends the same.

Eight points of all 2N, spread evenly; `CRASH_POINTS=all` takes all of them. Between two changes a death leaves the
world as it was, so a point is before or after a change. N is counted in memory: that run changes what this one does.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from seawall_e2e.loopback import ApiServer, KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.soak import write_counts
from tests.support.crash_world import ROUNDS, CrashBed, CrashWorld, settle_all
from tests.support.kube import KubeClient
from tests.support.mortal import Deaths, Point, points_around
from tests.worlds.purge_world import CHANGES, Calls, World

pytestmark = pytest.mark.integration

ALL_POINTS = os.environ.get("CRASH_POINTS") == "all"
SAMPLE = 8
AT_ONCE = 13


@pytest.fixture(scope="module")
def bed(api_server: ApiServer, kafka: KafkaProcesses, etcd: EtcdProcess) -> Iterator[CrashBed]:
    """A database on two datanodes whose regions never count as idle: what is seen does not depend on when one looks."""
    client = KubeClient(api_server)
    client.install_crds()
    with (
        pytest.MonkeyPatch.context() as patch,
        RefDbProcesses(kafka.bootstrap_servers, etcd, datanodes=2, flags=["--idle-heartbeats=1000000"]) as database,
    ):
        patch.setenv("KUBECONFIG", str(api_server.kubeconfig))
        made = CrashBed(client, kafka, etcd, database)
        yield made
        made.eyes.delete("crash_")


def changes_in_memory() -> list[str]:
    world = World()
    world.start_run()
    calls = Calls(world.check)
    world.settle(world.process(calls))
    return [name for name in calls.names if name in CHANGES]


def chosen(points: list[Point]) -> list[Point]:
    """All of them, or some that are evenly spread, and at least one of each kind of change."""
    if ALL_POINTS:
        return points
    first = {point.name: point for point in reversed(points)}
    others = [point for point in points if point not in first.values()]
    step = len(others) / (SAMPLE - len(first))
    spread = [others[int((number + 0.5) * step)] for number in range(SAMPLE - len(first))]
    return [point for point in points if point in first.values() or point in spread]


@pytest.mark.timeout(1_500)
def test_a_death_around_any_change_of_a_purge_changes_nothing_about_the_end(bed: CrashBed) -> None:
    expected = changes_in_memory()
    deaths = [Deaths(), *(Deaths(point) for point in chosen(points_around(expected)))]
    worlds: list[CrashWorld] = []
    for at in range(0, len(deaths), AT_ONCE):
        made = bed.new_worlds(len(deaths[at : at + AT_ONCE]))
        settle_all(made, deaths[at : at + AT_ONCE])
        worlds += made
    undisturbed, *others = worlds
    wanted = undisturbed.end_state()
    failures = [
        f"{death.point}: {world.end_state()}"
        for world, death in zip(others, deaths[1:], strict=True)
        if world.deaths != 1 or world.end_state() != wanted
    ]
    counts = {"changes": len(expected), "deaths": len(others), "of": 2 * len(expected), "failures": len(failures)}
    print(counts, Counter(death.point.name for death in deaths if death.point))  # noqa: T201 - the counts are the evidence
    if ALL_POINTS:
        write_counts("purge-crash-points", counts)
    assert not failures, "\n".join([f"wanted: {wanted}", *failures])
    assert all(start > 0 for start in wanted[0]), wanted
    assert set(deaths[0].names) == set(expected) == CHANGES
    assert {death.point.name for death in deaths if death.point} == CHANGES
    assert_no_row_is_lost(bed, worlds)


def assert_no_row_is_lost(bed: CrashBed, worlds: list[CrashWorld]) -> None:
    """Rows are written on top; then all that is only in memory is gone, and the logs that are left are replayed."""
    for world in worlds:
        world.write_everywhere(ROUNDS)
    for datanode in bed.database.datanodes:
        datanode.kill()
    for index in range(len(bed.database.datanodes)):
        bed.database.start_datanode(index)
    assert {world.name: lost for world in worlds if (lost := world.missing())} == {}
