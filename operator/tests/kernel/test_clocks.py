"""Operators whose clock is wrong, on the in-memory ports: no hold ends, no declaration counts, and it is said."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from prometheus_client import generate_latest

from seawall.api.meta import Condition, ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.controllers.permission import require_licence
from seawall.domain.clocks import TrustedTime
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.readoption import read_readoption
from seawall.domain.conditions import find_condition
from seawall.domain.errors import Conflict
from seawall.domain.ledger.observation import Licence, ObservedCluster
from seawall.domain.overview.findings import Severity, find_all
from seawall.domain.overview.snapshot import Leader, Snapshot
from seawall.domain.rollout.requests import parse_override
from seawall.handlers.metrics.telemetry import Telemetry
from seawall.observe.claims import Declarations, current_licence, read_declarations
from tests.domain.two_clocks import agreed, ahead
from tests.hold.test_wal_hold import granter, is_true, place, settle
from tests.ledger.test_ledger_watch import broken, intact, look, recreate, until, watch
from tests.purge.test_purge_unused import TOPIC, abandoned
from tests.support.clock import START
from tests.worlds.purge_world import WAL, World

TWO_HOURS = timedelta(hours=2)
SKEWED = "ends by none of its limits meanwhile: the operator's clock is more than 10 s"


def judged(hold: WALHold) -> Condition:
    """The condition that says whether its limits count."""
    found = find_condition(hold.status.conditions, ConditionType.EXPIRY_JUDGED)
    assert found is not None
    return found


def warnings(world: World) -> list[str]:
    return [event.reason for event in world.kube.events if event.type.value == "Warning"]


def test_a_leader_whose_clock_is_ahead_ends_no_hold_and_says_so_once() -> None:
    world = World()
    place(world, topics={"wal_0": 3}, ttl="1h")
    first = settle(world)
    assert (judged(first).status, judged(first).reason) == ("True", "ClocksAgree")
    world.time.time += timedelta(minutes=10)
    world.time.ahead = TWO_HOURS
    process = granter(world)
    for _ in range(3):
        world.time.time += timedelta(seconds=61)
        hold = settle(world, process)
        assert hold.status.state is first.status.state
        assert is_true(hold, ConditionType.GRANTED)
        assert (judged(hold).status, judged(hold).reason) == ("False", "ClockSkewed")
        assert f"{SKEWED} ahead of the API server's, by 7200 s" in judged(hold).message
    assert warnings(world) == ["ClockSkewed"]
    world.time.ahead = timedelta(0)
    assert judged(settle(world, process)).status == "True"
    assert [event.reason for event in world.kube.events][-1] == "ClocksAgree"
    world.time.time += timedelta(minutes=50)
    assert settle(world, process).status.state is HoldState.AT_RISK


def test_a_leader_that_hears_no_time_of_the_api_server_ends_no_hold() -> None:
    world = World()
    place(world, topics={"wal_0": 3}, ttl="10m", maxLagAge="10m")
    process = granter(world)
    first = settle(world, process)
    world.time.is_silent = True
    world.time.time += timedelta(hours=1)
    hold = settle(world, process)
    assert (hold.status.state, judged(hold).reason) == (first.status.state, "ServerTimeUnknown")
    world.time.is_silent = False
    assert settle(world, process).status.state is HoldState.AT_RISK


def test_a_renewal_seen_by_a_leader_with_a_late_clock_is_not_old_for_the_next_one() -> None:
    world = World()
    world.time.ahead = -TWO_HOURS
    place(world, topics={"wal_0": 3}, ttl="1h")
    hold = settle(world)
    assert hold.status.renewal is not None
    assert hold.status.renewal.seen_time >= START
    world.time.ahead = timedelta(0)
    assert settle(world).status.state is hold.status.state


def test_what_a_wrong_clock_does_to_a_hold_is_on_the_page_of_who_is_on_call() -> None:
    world = World()
    place(world, topics={"wal_0": 3})
    world.time.ahead = TWO_HOURS
    leader = Leader("seawall/seawall", "seawall-0", START)
    recorded = Snapshot(START, world.cluster(), leader, holds=(settle(world),))
    (found,) = [each for each in find_all(recorded) if each.object == "walhold/spark"]
    assert (found.severity, found.condition, found.reason) == (Severity.BROKEN, "ExpiryJudged", "ClockSkewed")
    place(world, topics={"wal_0": 3}, release=True)
    over = Snapshot(START, world.cluster(), leader, holds=(settle(world),))
    assert not [each for each in find_all(over) if each.object == "walhold/spark"]


# --- declarations


SAID = {
    "seawall.dev/purge-unused-topics": "wal_1: table dropped@2026-11-21T13:00:00Z",
    "seawall.dev/dead-regions": "7: disk lost@2026-11-21T13:00:00Z",
    "seawall.dev/readopt": "restored@2026-11-21T13:00:00Z",
}
EXPIRY = START + timedelta(hours=1)
A_BIT = timedelta(milliseconds=1)
LITTLE = timedelta(seconds=8)


def declared(time: TrustedTime) -> Declarations:
    world = World()
    world.kube.apply(Key("db", "wal"), {}, annotations=SAID)
    cluster = world.kube.get(WALCluster, Key("db", "wal"))
    assert cluster is not None
    return read_declarations(cluster, time)


def counts(time: TrustedTime) -> set[bool]:
    """Whether each declaration counts, the one about restarts too."""
    said = declared(time)
    override = parse_override("broker 3 is lost@2026-11-21T13:00:00Z", time)
    standing = said.readoption.standing is not None
    return {said.unused is not None, said.dead is not None, standing, not isinstance(override, str)}


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (agreed(EXPIRY - A_BIT), True),
        (agreed(EXPIRY), False),
        (ahead(EXPIRY - A_BIT, LITTLE), True),
        (ahead(EXPIRY, LITTLE), False),
        (ahead(EXPIRY - LITTLE - A_BIT, -LITTLE), True),
        (ahead(EXPIRY - LITTLE, -LITTLE), False),
        (ahead(START, TWO_HOURS), False),
        (ahead(START, -TWO_HOURS), False),
        (TrustedTime(START, None), False),
    ],
)
def test_a_declaration_counts_while_it_is_over_by_neither_of_two_clocks_that_agree(
    time: TrustedTime, *, expected: bool
) -> None:
    assert counts(time) == {expected}


def test_a_declaration_that_does_not_count_says_why() -> None:
    said = declared(ahead(START, TWO_HOURS))
    why = "does not count, as it may have expired: the operator's clock is more than 10 s ahead of the API server's"
    problems = (said.unused_problem, said.dead_problem, said.readoption.problem)
    assert problems == tuple(f"{name} {why}" for name in SAID)
    assert declared(agreed(START)).readoption.problem is None


def test_a_leader_whose_clock_is_late_deletes_nothing_by_a_declaration_that_is_over() -> None:
    world = abandoned()
    world.annotate(purge_unused_topics=f"{TOPIC}: table dropped@{(START + timedelta(minutes=1)).isoformat()}")
    world.time.time += timedelta(minutes=1)
    world.time.ahead = -TWO_HOURS
    world.start_run()
    run = world.settle()
    assert world.log_starts()[TOPIC] == 0
    assert [(one.topic, one.reason) for one in run.status.skipped] == [(TOPIC, "NoRegions")]


def test_a_clock_that_goes_wrong_during_a_run_stops_what_a_declaration_licensed() -> None:
    world = abandoned()
    world.annotate(purge_unused_topics=f"{TOPIC}: table dropped@{(START + timedelta(hours=20)).isoformat()}")
    world.start_run()
    process = world.process()
    while TOPIC not in world.targets():
        world.settle(process, ticks=1)
    world.time.ahead = -TWO_HOURS
    world.settle(process)
    assert world.log_starts()[TOPIC] == 0


def test_a_readoption_waits_for_clocks_that_agree_and_is_not_used_up_meanwhile() -> None:
    world = World()
    watching = watch(world)
    look(world, watching, times=3)
    recreate(world, "wal_0")
    look(world, watching, times=3)
    world.annotate(readopt=until(world, 2))
    world.time.ahead = -TWO_HOURS / 2
    look(world, watching, times=3)
    assert broken(world) == {"wal_0"}
    assert "seawall.dev/readopt does not count, as it may have expired" in intact(world, watching).message
    world.time.ahead = timedelta(0)
    look(world, watching, times=3)
    assert broken(world) == set()


def test_what_was_licensed_by_a_declaration_is_refused_at_the_act_once_the_clocks_disagree() -> None:
    world = World()
    world.annotate(purge_unused_topics=f"{TOPIC}: table dropped@{(START + timedelta(hours=20)).isoformat()}")
    cluster = world.cluster()
    recorded = partial(ObservedCluster, cluster.metadata.uid, cluster.metadata.generation, revision=1, wal=None)
    licensed = recorded(current_licence(cluster, world.time, follows_readopt=False))
    assert licensed.licence != Licence()
    assert require_licence(world.kube, world.time, WAL, licensed) == cluster
    world.time.ahead = -TWO_HOURS
    with pytest.raises(Conflict, match="changed or expired"):
        require_licence(world.kube, world.time, WAL, licensed)
    assert require_licence(world.kube, world.time, WAL, recorded(Licence())) == cluster, (
        "what needs no word needs no clock"
    )


def test_another_database_is_adopted_only_by_clocks_that_agree() -> None:
    world = World()
    world.annotate(readopt=until(world, 2))
    cluster = world.cluster()
    for time in (ahead(START, TWO_HOURS), ahead(START, -TWO_HOURS), Observed(START).time):
        assert read_readoption(cluster, time).unused is None
    assert read_readoption(cluster, agreed(START)).unused is not None


# --- metrics


def test_the_skew_of_a_process_is_measured_and_unknown_is_no_number() -> None:
    telemetry = Telemetry(per_topic=False)

    def reported(time: TrustedTime) -> dict[str, str]:
        telemetry.measure_clocks(time)
        lines = generate_latest(telemetry.registry).decode().splitlines()
        return dict(line.split(" ", 1) for line in lines if line.startswith("seawall_clock"))

    assert reported(ahead(START, LITTLE)) == {"seawall_clocks_agree": "1.0", "seawall_clock_skew_seconds": "8.0"}
    assert reported(ahead(START, -TWO_HOURS)) == {
        "seawall_clocks_agree": "0.0",
        "seawall_clock_skew_seconds": "-7200.0",
    }
    assert reported(TrustedTime(START, None)) == {"seawall_clocks_agree": "0.0", "seawall_clock_skew_seconds": "NaN"}
