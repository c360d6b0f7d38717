"""WALHolds on the in-memory ports, beside runs that delete: granted, refused, renewed, lost, released."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.api.v1alpha1.purge import Stage
from seawall.controllers.hold import WALHoldController
from seawall.controllers.ledger import LedgerWatch
from seawall.domain.conditions import find_condition
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.ledger.shards import PoolId, shard_of
from seawall.reconciler import Outcome, Reconciler
from tests.fakes.dataplane import settings
from tests.fakes.meters import FakeMeters
from tests.support.golden import compare_calls
from tests.support.mortal import DeathRow, Died
from tests.worlds.purge_world import CLUSTER, NAMESPACE, WAL, Calls, Guard, World

HOLD = Key(NAMESPACE, "spark")


def granter(
    world: World, calls: Guard | None = None, meters: FakeMeters | None = None
) -> Reconciler[Any, Any, Any, Any]:
    """A new operator process that looks after holds."""
    calls = calls or Calls(world.check)
    return Reconciler(
        WALHoldController(calls.guard(world.kube), world.observer(calls), world.time, meters or FakeMeters()),
        may_write=lambda: True,
    )


def settle(world: World, process: Reconciler[Any, Any, Any, Any] | None = None) -> WALHold:
    """The hold when there is nothing more to write of it."""
    process = process or granter(world)
    for _ in range(20):
        if process.tick(HOLD).outcome is Outcome.WAITING:
            return read(world)
        world.time.time += timedelta(milliseconds=50)
    raise AssertionError(f"it never settles: {read(world).status}")


def stay(world: World, process: Reconciler[Any, Any, Any, Any], minutes: float) -> WALHold:
    """The hold after the process was there all the while."""
    until = world.time.time + timedelta(minutes=minutes)
    while world.time.time < until:
        settle(world, process)
        world.time.time = min(until, world.time.time + timedelta(seconds=50))
    return settle(world, process)


def read(world: World) -> WALHold:
    """The hold."""
    found = world.kube.get(WALHold, HOLD)
    assert found is not None
    return found


def place(world: World, **spec: Any) -> None:
    """Somebody places the hold, or edits it."""
    world.kube.apply(HOLD, {"clusterRef": {"name": "wal"}, **spec}, kind=WALHold)


def is_true(hold: WALHold, kind: ConditionType) -> bool:
    """Whether a condition holds."""
    found = find_condition(hold.status.conditions, kind)
    return found is not None and found.status == "True"


def message(hold: WALHold) -> str:
    """The sentence that people read."""
    found = find_condition(hold.status.conditions, ConditionType.READY)
    assert found is not None
    return found.message


def test_a_hold_on_a_topic_that_nobody_purged_is_granted_and_its_first_intent_is_written() -> None:
    world = World()
    place(world, topics={"wal_0": 3})
    hold = settle(world)
    assert hold.status.granted == {"wal_0": 3}
    assert is_true(hold, ConditionType.GRANTED)
    assert world.records()["wal_0"].intent == world.log_starts()["wal_0"]
    assert (hold.status.topics, hold.status.lag_entries) == (1, world.kafka.topics["wal_0"].log.end - 3)
    assert hold.status.expire_time == hold.status.renewal.seen_time + timedelta(hours=24)  # type: ignore[union-attr]


class NewWorld(World):
    """A pool that nobody has used yet."""

    def make_topics(self) -> None:
        """There are none."""


def test_a_hold_on_everything_is_granted_while_the_pool_has_no_topic_and_knows_those_that_come() -> None:
    """Found by a reader: the grant did not fit into a status, and the hold was Requested for ever."""
    world = NewWorld()
    place(world, topics={"*": "earliest"})
    process = granter(world)
    hold = settle(world, process)
    assert (hold.status.state, hold.status.granted) == (HoldState.ACTIVE, {"*": "earliest"})
    assert hold.status.granted_logs is not None
    assert (hold.status.granted_logs.topics, hold.status.granted_logs.numbers) == (0, None)
    writes = world.kube.status_writes
    assert (settle(world, process), world.kube.status_writes) == (hold, writes), "there is nothing more to write down"
    world.kafka.add_topic("wal_0", replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
    world.store.put_topic("wal_0", 0)
    hold = settle(world, process)
    assert hold.status.granted_logs is not None
    assert (hold.status.granted_logs.topics, hold.status.granted_logs.numbers) == (1, "0")


def test_a_run_does_not_delete_what_a_granted_hold_keeps() -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    place(world, topics={"wal_0": 5})
    settle(world)
    world.start_run()
    run = world.settle()
    assert run.status.stage is Stage.COMPLETED
    assert world.log_starts()["wal_0"] == 5
    assert world.log_starts()["wal_1"] > 5


def test_a_hold_below_what_was_deleted_is_lost_at_once_and_says_so() -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    world.start_run()
    world.settle()
    place(world, topics={"wal_0": 1})
    hold = settle(world)
    assert hold.status.state is HoldState.LOST
    assert is_true(hold, ConditionType.LOST)
    assert "offset 1 is claimed" in message(hold)
    assert ("Warning", "HoldLost") in [(event.type.value, event.reason) for event in world.kube.events]


def test_an_edit_of_a_hold_that_is_over_is_seen_and_changes_nothing_else() -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    world.start_run()
    world.settle()
    place(world, topics={"wal_0": 1})
    before = settle(world)
    place(world, topics={"wal_0": 10})
    after = settle(world)
    assert after.status.observed_generation == after.metadata.generation == before.metadata.generation + 1
    assert {each.observed_generation for each in after.status.conditions} == {after.metadata.generation}
    assert (after.status.state, after.status.granted) == (HoldState.LOST, before.status.granted)
    assert message(after) == message(before)
    writes = world.kube.status_writes
    settle(world)
    assert world.kube.status_writes == writes


def test_a_hold_that_is_lost_is_counted_once_although_it_is_edited_later() -> None:
    world, meters = World(), FakeMeters()
    for region in world.data_plane.regions:
        world.flush(region)
    world.start_run()
    world.settle()
    process = granter(world, meters=meters)
    for offset in (1, 10):
        place(world, topics={"wal_0": offset})
        assert settle(world, process).status.state is HoldState.LOST
    assert meters.lost_holds == [WAL]


def test_a_hold_beyond_the_end_or_on_an_unknown_topic_waits_with_a_sentence() -> None:
    world = World()
    place(world, topics={"wal_0": 10_000})
    assert "beyond the end of wal_0" in message(settle(world))
    place(world, topics={"elsewhere": 1})
    hold = settle(world)
    assert "there is no topic elsewhere" in message(hold)
    assert hold.status.state is HoldState.REQUESTED
    assert not is_true(hold, ConditionType.GRANTED)


def test_a_hold_that_is_not_renewed_is_at_risk_then_lost_and_a_renewal_begins_anew() -> None:
    world = World()
    place(world, topics={"wal_0": 3}, ttl="10m")
    process = granter(world)
    settle(world, process)
    world.time.time += timedelta(minutes=9)
    assert settle(world, process).status.state is HoldState.AT_RISK
    place(world, topics={"wal_0": 3}, ttl="10m", renewTime=world.time.time.isoformat())
    assert settle(world, process).status.state in {HoldState.ACTIVE, HoldState.EXTENDED}
    assert stay(world, process, 9).status.state is HoldState.AT_RISK
    lost = stay(world, process, 2)
    assert lost.status.state is HoldState.LOST
    assert "its ttl is 600 s" in message(lost)


def test_nobody_loses_a_hold_because_the_database_or_the_cluster_is_away() -> None:
    world = World()
    place(world, topics={"wal_0": 3}, ttl="10m")
    process = granter(world)
    settle(world, process)
    world.time.time += timedelta(hours=2)
    world.data_plane.is_silent = True
    hold = settle(world, process)
    assert hold.status.state in {HoldState.ACTIVE, HoldState.EXTENDED}
    assert is_true(hold, ConditionType.RECONCILING)
    place(world, clusterRef={"name": "nowhere"}, topics={"wal_0": 3}, ttl="10m")
    assert "does not exist" in message(settle(world, process))


def silent_store(world: World) -> None:
    world.store.is_silent = True


def silent_metasrv(world: World) -> None:
    world.data_plane.is_silent = True


def silent_kafka(world: World) -> None:
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "nobody answers")


def unreadable_cluster(world: World) -> None:
    world.kube.apply(WAL, {**CLUSTER, "newField": 1})


AWAY = (silent_store, silent_metasrv, silent_kafka, unreadable_cluster)


@pytest.mark.parametrize("away", AWAY)
def test_a_hold_is_released_whoever_is_silent_and_its_ttl_does_not_count_meanwhile(
    away: Callable[[World], None],
) -> None:
    """Found by a reader: it stayed Extended although people were told that it was released."""
    world = World()
    place(world, topics={"wal_0": 3}, ttl="10m")
    process = granter(world)
    before = settle(world, process)
    away(world)
    hold = stay(world, process, 30)
    assert (hold.status.state, hold.status.granted) == (before.status.state, before.status.granted)
    assert is_true(hold, ConditionType.RECONCILING)
    place(world, topics={"wal_0": 3}, ttl="10m", release=True)
    hold = settle(world, process)
    assert (hold.status.state, message(hold)) == (HoldState.RELEASED, "its owner released it")
    assert is_true(hold, ConditionType.READY)
    assert not is_true(hold, ConditionType.GRANTED)
    assert hold.status.granted == before.status.granted, "what it was is to be read"


def without_database(cluster: dict[str, Any]) -> dict[str, Any]:
    """The spec when a person has taken the database out of it."""
    return {name: part for name, part in cluster.items() if name not in {"dataPlane", "verification"}}


def of_no_database() -> tuple[World, Reconciler[Any, Any, Any, Any]]:
    """A hold that was granted, whose WALCluster names no database any more."""
    world = World()
    place(world, topics={"wal_0": 3}, ttl="10m")
    process = granter(world)
    settle(world, process)
    world.kube.apply(WAL, without_database(CLUSTER))
    return world, process


def renew(world: World) -> None:
    """Its holder is there."""
    place(world, topics={"wal_0": 3}, ttl="10m", renewTime=world.time.time.isoformat())


def test_a_hold_whose_cluster_names_no_database_is_renewed_or_ends_by_its_ttl() -> None:
    """Nobody will look, ever. It is not granted anything, and what was stands until then."""
    world, process = of_no_database()
    hold = stay(world, process, 3)
    assert hold.status.state in {HoldState.ACTIVE, HoldState.EXTENDED}
    assert is_true(hold, ConditionType.GRANTED)
    assert message(hold).startswith("WALCluster wal names no database to look at")
    for _ in range(4):
        renew(world)
        assert stay(world, process, 7).status.state is not HoldState.LOST
    hold = stay(world, process, 11)
    assert (hold.status.state, hold.status.granted) == (HoldState.LOST, {"wal_0": 3})
    assert "its ttl is 600 s" in message(hold)


def test_a_hold_that_was_late_once_is_told_again_before_it_ends() -> None:
    """Found by a review: it was AtRisk since the first time, and Lost without another word."""
    world, process = of_no_database()
    assert stay(world, process, 9).status.state is HoldState.AT_RISK
    for _ in range(5):
        renew(world)
        assert stay(world, process, 5).status.state is not HoldState.LOST
    assert stay(world, process, 11).status.state is HoldState.LOST
    told = [event.reason for event in world.kube.events if event.reason in {"HoldAtRisk", "HoldLost"}]
    assert told == ["HoldAtRisk", "HoldAtRisk", "HoldLost"]


def test_one_that_was_late_once_is_told_again_before_it_ends_also_by_a_process_that_was_away() -> None:
    """Its next look is beyond the ttl."""
    world, process = of_no_database()
    assert stay(world, process, 9).status.state is HoldState.AT_RISK
    renew(world)
    settle(world, process)
    world.time.time += timedelta(minutes=30)
    told = settle(world, granter(world))
    assert told.status.state is HoldState.AT_RISK
    assert told.status.at_risk_time is not None
    assert told.status.at_risk_time >= world.time.time - timedelta(seconds=5)
    assert stay(world, process, 11).status.state is HoldState.LOST


def test_an_edited_hold_is_a_new_request_and_what_was_granted_stands() -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    place(world, topics={"wal_0": 5})
    process = granter(world)
    settle(world, process)
    world.start_run()
    world.settle()
    place(world, topics={"wal_0": 2})
    hold = settle(world, process)
    assert hold.status.granted == {"wal_0": 5}
    assert "what was granted before still stands" in message(hold)
    assert not is_true(hold, ConditionType.GRANTED)


def test_a_hold_on_everything_stops_all_deletes_until_it_is_released() -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    place(world, topics={"*": "earliest"})
    process = granter(world)
    assert settle(world, process).status.granted == {"*": "earliest"}
    before = world.log_starts()
    world.start_run()
    world.settle()
    assert world.log_starts() == before
    place(world, topics={"*": "earliest"}, release=True)
    assert settle(world, process).status.state is HoldState.RELEASED


def test_a_hold_on_a_cluster_that_is_gone_still_counts_for_the_one_that_took_over_its_topics() -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    place(world, clusterRef={"name": "former"}, topics={"wal_0": 5})
    world.start_run()
    world.settle()
    assert world.log_starts()["wal_0"] == 5
    assert world.log_starts()["wal_1"] > 5


@pytest.mark.parametrize(
    "status",
    [
        {"state": "Active", "granted": {"wal_0": {"from": 5}}},
        {"state": "Active", "granted": {"wal_0": "earliest"}},
        {"state": "Cherished", "granted": {"wal_0": 5}},
    ],
)
def test_a_hold_whose_grant_cannot_be_read_stops_the_deletes_of_its_pool_and_keeps_its_grant(
    status: dict[str, Any],
) -> None:
    """A newer Seawall may have written it: taken for ungranted, an edited claim would be all that counts."""
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    place(world, topics={"wal_0": 30})
    world.kube.write_raw_status(HOLD, WALHold, status)
    hold = settle(world)
    assert is_true(hold, ConditionType.STALLED)
    assert "cannot be read" in message(hold)
    assert status.items() <= world.kube.raw_status(HOLD, WALHold).items()
    before = world.log_starts()
    world.start_run()
    run = world.settle()
    assert world.log_starts() == before
    assert {left.reason for left in run.status.skipped} == {"HoldsUnreadable"}


def test_a_renewal_that_the_api_server_took_before_lost_was_written_has_won() -> None:
    world = World()
    place(world, topics={"wal_0": 3}, ttl="10m")
    settle(world)
    stay(world, granter(world), 9.9)
    world.time.time += timedelta(minutes=1)
    calls = Calls(world.check)

    def renew(call: str) -> None:
        if call == "replace_status":
            calls.before = lambda _: None
            place(world, topics={"wal_0": 3}, ttl="10m", renewTime=world.time.time.isoformat())

    calls.before = renew
    assert settle(world, granter(world, calls)).status.state in {HoldState.ACTIVE, HoldState.EXTENDED}


@pytest.mark.parametrize("topics", [{"wal_0": 3}, {"*": "earliest"}])
def test_a_hold_on_a_topic_that_is_recreated_is_at_risk_then_lost(topics: dict[str, Any]) -> None:
    world = World()
    place(world, topics=topics)
    process = granter(world)
    granted = settle(world, process)
    assert granted.status.granted_logs is not None
    world.foreign.add("wal_0")
    log = world.kafka.topics["wal_0"].log
    world.kafka.add_topic("wal_0", replicas=(1, 2, 3), configs={"min.insync.replicas": "2"}).log.append(log.end)
    process.tick(HOLD)
    assert read(world).status.state is HoldState.AT_RISK
    lost = settle(world, process)
    assert lost.status.state is HoldState.LOST
    assert "wal_0 was recreated" in message(lost)


def test_a_hold_on_everything_is_lost_when_somebody_else_deletes() -> None:
    world = World()
    place(world, topics={"*": "earliest"})
    process = granter(world)
    settle(world, process)
    world.foreign.add("wal_1")
    world.kafka.topics["wal_1"].log.delete_before(2)
    lost = settle(world, process)
    assert lost.status.state is HoldState.LOST
    assert "wal_1 starts at 2" in message(lost)


def watched_tick(world: World, holds: Reconciler[Any, Any, Any, Any]) -> list[Key]:
    """One tick of the watch; then the work queue does what it was woken for, before any time passes."""
    woken: list[Key] = []
    observer, meters = world.observer(), FakeMeters()
    watching = LedgerWatch(world.kube, observer, lambda _: None, woken.append, meters)
    Reconciler(watching, may_write=lambda: True).tick(WAL)
    for key in woken:
        holds.tick(key)
    return woken


@pytest.mark.parametrize("topics", [{"wal_0": 3}, {"*": "earliest"}])
def test_what_somebody_else_deletes_ends_a_grant_at_the_look_that_sees_it(topics: dict[str, Any]) -> None:
    world = World()
    place(world, topics=topics)
    process = granter(world)
    settle(world, process)
    world.hold("another", {"wal_1": 3}, HoldState.ACTIVE)
    assert watched_tick(world, process) == []
    world.foreign.add("wal_0")
    world.kafka.topics["wal_0"].log.delete_before(10)
    assert watched_tick(world, process) == [HOLD]
    lost = read(world)
    assert lost.status.state is HoldState.LOST
    assert not is_true(lost, ConditionType.GRANTED)
    assert "wal_0 starts at 10" in message(lost)
    assert [event.reason for event in world.kube.events if event.type.value == "Warning"] == ["HoldLost"]
    assert watched_tick(world, process) == [], "what is written wakes nobody any more"


@pytest.mark.parametrize("answer_is_lost", [False, True])
def test_the_end_of_a_grant_is_written_wherever_the_process_dies(*, answer_is_lost: bool) -> None:
    def overtaken() -> World:
        world = World()
        place(world, topics={"wal_0": 3})
        settle(world)
        world.foreign.add("wal_0")
        world.kafka.topics["wal_0"].log.delete_before(10)
        return world

    undisturbed = DeathRow()
    world = overtaken()
    settle(world, granter(world, undisturbed))
    for at in range(undisturbed.calls):
        world = overtaken()
        with pytest.raises(Died):
            settle(world, granter(world, DeathRow(at, after=answer_is_lost)))
        assert settle(world).status.state is HoldState.LOST
    assert undisturbed.calls > 10
    compare_calls(undisturbed.names)


def test_a_hold_above_what_somebody_else_deletes_and_an_open_request_are_left_alone() -> None:
    world = World()
    place(world, topics={"wal_0": 30})
    process = granter(world)
    granted = settle(world, process)
    world.hold("request", {"wal_0": 3})
    world.foreign.add("wal_0")
    world.kafka.topics["wal_0"].log.delete_before(10)
    assert watched_tick(world, process) == []
    assert read(world).status.state is granted.status.state


def test_what_keeps_an_intent_from_being_written_or_read_is_said() -> None:
    world = World()
    world.annotate(paused="true")
    place(world, topics={"wal_0": 3})
    assert "its WALCluster is paused by seawall.dev/paused" in message(settle(world))
    world.annotate()
    settle(world)
    place(world, topics={"wal_0": 4})
    pool = PoolId(NAMESPACE, "fake-cluster", "wal")
    world.intents.unreadable[pool.config_map(shard_of("wal_0"))] = "its checksum is wrong"
    assert "the intent of wal_0 cannot be read: " in message(settle(world))


def test_a_request_on_a_log_in_doubt_says_so_and_not_that_an_intent_is_missing() -> None:
    world = World()
    place(world, topics={"wal_0": 3})
    process = granter(world)
    settle(world, process)
    world.foreign.add("wal_0")
    world.kafka.add_topic("wal_0", replicas=(1, 2, 3), configs={"min.insync.replicas": "2"}).log.append(50)
    settle(world, process)
    world.kube.remove(HOLD, WALHold)
    place(world, topics={"wal_0": 4})
    assert "nothing can be promised of wal_0 while its log is in doubt: the topic was recreated" in message(
        settle(world, process)
    )


def test_a_hold_that_somebody_deleted_counts_while_a_finalizer_keeps_it_and_ends_by_its_ttl() -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    place(world, topics={"wal_0": 5}, ttl="10m")
    process = granter(world)
    world.kube.set_finalizers(settle(world, process), ["example.org/reader"])
    world.kube.remove(HOLD, WALHold)
    leaving = settle(world, process)
    assert "is being deleted and kept by example.org/reader" in message(leaving)
    world.declare_policy(safety={"staleAfter": "60s", "openGrace": "70s"})
    world.start_run()
    world.settle()
    assert world.log_starts()["wal_0"] == 5
    stay(world, process, 9)
    place(world, topics={"wal_0": 5}, ttl="10m", renewTime=world.time.time.isoformat())
    assert stay(world, process, 6).status.state is HoldState.LOST
    world.kube.set_finalizers(read(world), [])
    assert world.kube.get(WALHold, HOLD) is None


def test_a_hold_whose_oldest_record_becomes_too_old_is_at_risk_then_lost() -> None:
    world = World()
    place(world, topics={"wal_0": 3}, maxLagAge="1h")
    process = granter(world)
    assert is_true(settle(world, process), ConditionType.GRANTED)
    world.time.time += timedelta(minutes=50)
    assert settle(world, process).status.state is HoldState.AT_RISK
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "nobody answers")
    world.time.time += timedelta(minutes=20)
    assert settle(world, process).status.state is HoldState.AT_RISK
    world.kafka.unreachable = None
    lost = settle(world, process)
    assert lost.status.state is HoldState.LOST
    assert "the record of wal_0 at 3 is older than" in message(lost)


def test_a_hold_at_the_end_of_its_log_has_no_record_that_could_be_too_old() -> None:
    world = World()
    place(world, topics={"wal_0": world.kafka.topics["wal_0"].log.end}, maxLagAge="1h")
    process = granter(world)
    settle(world, process)
    world.time.time += timedelta(hours=5)
    assert settle(world, process).status.state in {HoldState.ACTIVE, HoldState.EXTENDED}


@pytest.mark.parametrize("answer_is_lost", [False, True])
def test_a_grant_ends_the_same_wherever_the_process_dies(*, answer_is_lost: bool) -> None:
    undisturbed = DeathRow()
    world = World()
    place(world, topics={"wal_0": 3})
    settle(world, granter(world, undisturbed))
    for at in range(undisturbed.calls):
        world = World()
        place(world, topics={"wal_0": 3})
        with pytest.raises(Died):
            settle(world, granter(world, DeathRow(at, after=answer_is_lost)))
        world.check()
        hold = settle(world)
        assert hold.status.granted == {"wal_0": 3}
        assert hold.status.state in {HoldState.ACTIVE, HoldState.EXTENDED}
    assert undisturbed.calls > 20
    compare_calls(undisturbed.names)


KEY = "auto_prune_logical_delete = true"


def test_while_the_database_deletes_a_hold_is_not_granted_and_its_sentence_has_the_key() -> None:
    world = World(auto_prune="Logical")
    world.data_plane.wal = settings("Physical")
    place(world, topics={"wal_0": 3})
    hold = settle(world)
    assert not is_true(hold, ConditionType.GRANTED)
    assert hold.status.granted == {}
    assert KEY in message(hold)
    world.data_plane.wal = settings("Logical")
    assert is_true(settle(world), ConditionType.GRANTED)


def test_a_granted_hold_says_at_once_that_it_is_worth_nothing_and_does_not_believe_silence() -> None:
    world = World(auto_prune="Logical")
    place(world, topics={"wal_0": 3})
    assert is_true(settle(world), ConditionType.GRANTED)
    world.data_plane.wal = settings("Physical")
    hold = settle(world)
    assert (hold.status.state, is_true(hold, ConditionType.GRANTED)) == (HoldState.AT_RISK, False)
    assert KEY in message(hold)
    world.data_plane.wal = None
    assert not is_true(settle(world), ConditionType.GRANTED), "a metasrv that does not say"
    world.data_plane.is_silent = True
    hold = settle(world)
    assert not is_true(hold, ConditionType.GRANTED), "a database that does not answer"
    world.data_plane.is_silent, world.data_plane.wal = False, settings("Logical")
    hold = settle(world)
    assert (hold.status.state, is_true(hold, ConditionType.GRANTED)) == (HoldState.ACTIVE, True)


def test_a_granted_hold_stands_while_the_metasrv_does_not_say() -> None:
    world = World()
    place(world, topics={"wal_0": 3})
    before = settle(world)
    world.data_plane.wal = None
    hold = settle(world)
    assert (hold.status.state, is_true(hold, ConditionType.GRANTED)) == (before.status.state, True)


def test_a_hold_at_risk_for_another_reason_says_that_it_is_not_granted_any_more() -> None:
    world = World()
    place(world, topics={"wal_0": 3}, ttl="100s")
    settle(world)
    world.time.time += timedelta(seconds=85)
    assert settle(world).status.state is HoldState.AT_RISK
    world.data_plane.wal = settings("Physical")
    hold = settle(world)
    assert not is_true(hold, ConditionType.GRANTED)
    assert KEY in message(hold)
