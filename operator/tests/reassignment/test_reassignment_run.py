"""Whole runs of reassignments, told as stories in a world in memory, which checks what must always hold."""

from __future__ import annotations

from datetime import timedelta

import pytest

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind
from seawall.api.v1alpha1.reassignment import ReassignmentStatus
from seawall.api.v1alpha1.rollout import RestartStatus, RollStage
from seawall.domain.conditions import find_condition
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.partitions import NO_RATES, PartitionId, Rates, Replica, ThrottledReplicas
from seawall.domain.reassignment import throttling
from seawall.domain.reassignment.journal import journal_key
from seawall.domain.reassignment.observed import KafkaState
from tests.fakes.kafka_moves import Target, advance
from tests.fakes.kafka_reassigner import FakeReassigner
from tests.worlds.reassignment_world import TOPICS, WAL, World

THREE = ((1, 2, 3), (2, 3, 1), (3, 1, 2))


def of_three(number: int) -> tuple[int, ...]:
    """Topics with three replicas."""
    return THREE[number % 3]


def raising(**world: object) -> World:
    """Somebody raises the replication factor from 1 to 3."""
    made = World(**world)  # type: ignore[arg-type]
    made.declare(replicationFactor=3)
    return made


def reason_of(world: World) -> tuple[str, str]:
    """Why the WALCluster is as it is."""
    found = find_condition(world.cluster().status.conditions, ConditionType.READY)
    assert found is not None
    return found.reason, found.message


def stages(world: World) -> list[str]:
    """The stages that events told of, in their order."""
    return [line.split(":")[0] for line in world.lines if line.startswith("Reassignment") and "Planned" not in line]


def test_the_transcript_of_a_replication_factor_that_grows() -> None:
    world = raising()
    world.settle()
    digest = world.run().digest
    assert world.reported() == [
        "Reassigning: the replication factor of 6 topics (wal_0 … wal_5) is not 3: it is being planned",
        f"ReassignmentPlanned: Planned to move 6 partitions of 6 topics (Raise; 120000 bytes to copy), digest {digest}",
        "ReassignmentPending: 6 partitions are to be moved",
        "ReassignmentOngoing: replicas begin to move",
        "FinalizerAdded: Added seawall.dev/reassignment: replicas are to be moved",
        "ThrottleSet: Throttled reassignments to 1Mi bytes a second",
        "PartitionsMoving: Began to move 2 partitions (wal_0-0, wal_5-0)",
        "ThrottleSet: Throttled reassignments to 1Mi bytes a second",
        "PartitionsMoving: Began to move 2 partitions (wal_1-0, wal_4-0)",
        "ThrottleSet: Throttled reassignments to 1Mi bytes a second",
        "PartitionsMoving: Began to move 2 partitions (wal_2-0, wal_3-0)",
        "ReassignmentVerifying: all is moved that could be: in-sync replicas and leaders are verified",
        "ThrottleRemoved: Removed the throttle of reassignments",
        "LeadersElected: Elected the preferred leaders of 1 partition (wal_0-0)",
        "ReassignmentCompleted: 6 of 6 partitions were moved",
        "FinalizerRemoved: Removed seawall.dev/reassignment: the reassignment is over",
        "RepairingConfigs: 6 of 6 topics have configs that differ",
        "ConfigsRepaired: Repaired min.insync.replicas on 6 topics (wal_0 … wal_5)",
        "Ready: 6 topics are ready",
    ]
    assert world.factors() == {3}
    assert world.is_unthrottled()
    run = world.run()
    assert (run.bytes, run.bytes_left, run.estimated_seconds) == (120_000, 0, 1)
    assert run.partitions is not None
    assert run.partitions.done == run.partitions.total == len(TOPICS)


def test_the_transcript_of_a_replication_factor_that_falls() -> None:
    world = World(of_three)
    assert world.kafka.topics["wal_0"].configs["min.insync.replicas"] == "2"
    world.declare(replicationFactor=2)
    world.settle()
    assert [line for line in world.reported() if not line.startswith("ReassignmentPlanned")] == [
        "Reassigning: the replication factor of 6 topics (wal_0 … wal_5) is not 2: it is being planned",
        "ConfigsRepaired: Repaired min.insync.replicas on 6 topics (wal_0 … wal_5)",
        "ReassignmentPending: 6 partitions are to be moved",
        "ReassignmentOngoing: replicas begin to move",
        "PartitionsMoving: Began to move 2 partitions (wal_0-0, wal_1-0)",
        "PartitionsMoving: Began to move 2 partitions (wal_2-0, wal_3-0)",
        "PartitionsMoving: Began to move 2 partitions (wal_4-0, wal_5-0)",
        "ReassignmentVerifying: all is moved that could be: in-sync replicas and leaders are verified",
        "ReassignmentCompleted: 6 of 6 partitions were moved",
        "Ready: 6 topics are ready",
    ]
    assert world.factors() == {2}
    leaders = [world.kafka.led(world.kafka.topics[name], 0)[1] for name in TOPICS]
    assert leaders == [1, 2, 3, 1, 2, 3], "no leader was dropped"


def test_a_run_whose_every_tick_acts_tells_how_far_it_is_and_waits_between_acts() -> None:
    """Replicas that go are gone at once: with one partition at a time each tick has another one to submit."""
    world = World(of_three, most=1)
    world.declare(replicationFactor=2)
    world.settle(until=lambda: world.stage() == "Ongoing")
    moves, pauses, done = world.process()[1], 0, set()
    while world.stage() == "Ongoing":
        ticked = moves.tick(WAL)
        world.time.time += timedelta(seconds=1)
        pauses += ticked.after != 0
        done.add(getattr(world.run().partitions, "done", 0))
    assert done & set(range(1, len(TOPICS))), "nobody could see it come on"
    assert pauses, "the work queue would take it for a loop"


def test_min_insync_replicas_is_lowered_before_replicas_go() -> None:
    """Where the topics' configs cannot be repaired, no replica goes."""
    world = World(of_three)
    world.kafka.refuse = lambda _topic, key, _value: "no" if key == "min.insync.replicas" else None
    world.declare(replicationFactor=2)
    world.rounds(12)
    assert world.factors() == {3}
    expected = "min.insync.replicas of wal_0 is 2: it has to be lowered before replicas go"
    assert expected in world.run().message
    world.kafka.refuse = lambda *_: None
    world.settle()
    assert world.factors() == {2}


def test_writes_go_on_while_replicas_arrive_slowly() -> None:
    """The world checks that as many are in sync as min.insync.replicas wants, after every step."""
    world = raising(pace=0)
    world.rounds(8)
    assert world.factors() == {1, 3}, "Kafka shows replicas that are not in sync"
    world.pace = 1
    world.settle()
    assert world.factors() == {3}


def test_a_plan_waits_for_a_person_and_begins_with_its_digest_only() -> None:
    world = World()
    world.declare({"approval": "Manual"}, replicationFactor=3)
    world.rounds(6)
    run = world.run()
    assert (world.stage(), run.bytes, run.estimated_seconds) == ("AwaitingApproval", 120_000, 1)
    assert f"set seawall.dev/approve-reassignment: {run.digest}" in run.message
    assert reason_of(world) == ("AwaitingApproval", run.message)
    world.annotate(approve_reassignment="0123456789abcdef")
    world.rounds(3)
    assert world.stage() == "AwaitingApproval"
    assert world.factors() == {1}
    world.annotate(approve_reassignment=run.digest)
    world.settle()
    assert world.factors() == {3}
    assert stages(world) == [
        *("ReassignmentPending", "ReassignmentAwaitingApproval", "ReassignmentPending"),
        *("ReassignmentOngoing", "ReassignmentVerifying", "ReassignmentCompleted"),
    ]


def test_a_plan_that_is_stale_is_not_what_was_approved() -> None:
    world = World()
    world.declare({"approval": "Manual"}, replicationFactor=3)
    world.rounds(4)
    first = world.run().digest
    world.move_by_hand("wal_0", (1, 4))
    advance(world.kafka)
    world.annotate(approve_reassignment=first)
    world.rounds(6)
    assert world.stage() == "AwaitingApproval"
    assert world.run().digest != first
    assert world.factors() == {1, 2}


def test_an_abort_gives_all_partitions_their_replicas_back() -> None:
    world = raising()
    before = world.placed()
    world.settle(until=lambda: world.stage() == "Ongoing" and world.placed()["wal_3"] != before["wal_3"])
    world.annotate(abort_reassignment="not now")
    world.settle()
    assert world.placed() == before
    assert world.is_unthrottled()
    assert stages(world)[-2:] == ["ReassignmentAborting", "ReassignmentAborted"]
    world.rounds(10)
    assert world.stage() == "Aborted", "none begins while the annotation is set"
    assert "remove seawall.dev/abort-reassignment" in reason_of(world)[1]
    world.annotate(abort_reassignment=None)
    world.settle()
    assert world.factors() == {3}


def test_an_abort_of_a_lower_replication_factor_copies_back_under_the_throttle() -> None:
    world = World(of_three)
    before = world.placed()
    world.declare(replicationFactor=2)
    world.settle(until=lambda: world.factors() == {2, 3})
    world.declare(replicationFactor=2, minInSyncReplicas=1)
    world.annotate(abort_reassignment="")
    world.settle()
    assert world.placed() == before
    assert world.is_unthrottled()
    assert any(line.startswith("ThrottleSet") for line in world.lines)


def test_an_abort_that_is_taken_back_leaves_what_is_and_plans_anew() -> None:
    world = World(of_three)
    world.declare(replicationFactor=2)
    world.settle(until=lambda: world.factors() == {2, 3})
    world.pace = 0
    world.annotate(abort_reassignment="")
    world.rounds(8)
    assert world.stage() == "Aborting"
    assert world.kafka.moves.ongoing
    world.annotate(abort_reassignment=None)
    world.pace = 2
    world.settle()
    assert world.factors() == {2}
    assert world.is_unthrottled()


def test_the_throttle_is_edited_in_mid_move() -> None:
    world = raising()
    world.pace = 0
    world.rounds(5)
    assert world.kafka.moves.rates == Rates(2**20, 2**20)
    world.declare({"throttleBytesPerSecond": "7Mi"})
    world.rounds(4)
    assert world.kafka.moves.rates == Rates(7 * 2**20, 7 * 2**20)
    assert world.run().throttle_bytes_per_second == 7 * 2**20
    assert world.stage() == "Ongoing"
    world.pace = 2
    world.settle()
    assert world.is_unthrottled()
    assert world.factors() == {3}


def test_a_throttle_below_what_is_written_is_suspected_when_a_run_takes_far_too_long() -> None:
    world = raising(pace=0)
    world.rounds(200)
    assert "never lets it end" not in world.run().message
    world.rounds(130)
    assert "estimated to take 1 s and takes longer: below what the database writes, a throttle" in world.run().message
    world.pace = 2
    world.settle()
    assert world.run().message == "6 of 6 partitions were moved"


def test_rates_that_stood_before_the_run_are_put_back_at_its_end() -> None:
    world = World()
    world.kafka.moves.rates = Rates(5_000, None)
    world.declare(replicationFactor=3)
    world.settle(until=lambda: world.kafka.moves.rates == Rates(2**20, 2**20))
    world.settle()
    assert world.kafka.moves.rates == Rates(5_000, None)
    assert world.factors() == {3}


def test_a_rate_that_somebody_sets_in_mid_move_stays() -> None:
    world = raising()
    world.pace = 0
    world.rounds(5)
    world.kafka.moves.rates = Rates(77, 77)
    world.pace = 2
    world.rounds(2)
    assert "somebody else set the throttle to 77 bytes a second, and it stays" in world.run().message
    world.settle()
    assert world.factors() == {3}
    assert world.kafka.moves.rates == Rates(77, 77)
    assert not [key for name in TOPICS for key in world.kafka.topics[name].configs if "throttled" in key]


def test_lists_of_topics_that_are_not_ours_are_never_touched() -> None:
    world = World()
    world.kafka.add_topic("other", replicas=(1, 2))
    theirs = ThrottledReplicas(frozenset({Replica(0, 1)}), frozenset({Replica(0, 2)}))
    FakeReassigner(world.kafka).alter_throttles(None, {"other": theirs})
    world.declare(replicationFactor=3)
    world.settle()
    assert world.factors() == {3}
    assert FakeReassigner(world.kafka).throttles(["other"]).topics == {"other": theirs}
    assert world.kafka.moves.rates == NO_RATES


def test_a_rate_of_a_single_broker_is_told_with_the_way_out_and_the_slowest_is_shown() -> None:
    """Kafka's own tool sets such rates, and they win over the throttle of the run."""
    world = raising()
    world.pace = 0
    world.rounds(5)
    assert world.run().throttle_bytes_per_second == 2**20
    world.kafka.moves.broker_rates = {2: Rates(20_000, 30_000)}
    world.rounds(4)
    said = (
        "broker 2 (sends 20000 bytes/s, fetches 30000 bytes/s) has a throttle of its own, which Seawall did not set and"
        " which wins over the cluster's; once nobody needs it: kafka-configs --bootstrap-server … --alter"
        " --entity-type brokers --entity-name 2 --delete-config"
        " leader.replication.throttled.rate,follower.replication.throttled.rate"
    )
    assert said in world.run().message
    assert said in reason_of(world)[1]
    assert world.run().throttle_bytes_per_second == 20_000
    world.pace = 2
    world.settle()
    assert world.stage() == "Completed"
    assert said in world.run().message, "it stays, and is no less told for that"
    assert world.run().throttle_bytes_per_second == 20_000
    assert world.kafka.moves.broker_rates == {2: Rates(20_000, 30_000)}, "it is not Seawall's to remove"
    assert world.is_unthrottled()


def test_lists_of_others_give_way_to_the_runs_and_are_put_back_topic_by_topic() -> None:
    world = World()
    theirs = {
        "wal_0": ThrottledReplicas(frozenset({Replica(0, 1)}), frozenset({Replica(0, 2)})),
        "wal_1": ThrottledReplicas(every_leader=True, every_follower=True),
    }
    reassigner = FakeReassigner(world.kafka)
    reassigner.alter_throttles(None, theirs)
    world.declare(replicationFactor=3)
    world.settle(until=lambda: PartitionId("wal_1", 0) in world.kafka.moves.ongoing)
    assert reassigner.throttles(["wal_1"]).topics != {"wal_1": theirs["wal_1"]}, "a run slows down nothing else"
    world.settle(until=lambda: PartitionId("wal_2", 0) in world.kafka.moves.ongoing)
    assert reassigner.throttles(TOPICS).topics.get("wal_1") == theirs["wal_1"], "it has arrived"
    world.settle()
    assert world.factors() == {3}
    assert reassigner.throttles(TOPICS).topics == theirs
    assert world.kafka.moves.rates == NO_RATES


def test_a_list_that_its_owner_removes_while_a_person_is_asked_does_not_come_back() -> None:
    world = World()
    reassigner = FakeReassigner(world.kafka)
    reassigner.alter_throttles(None, {"wal_0": ThrottledReplicas(every_leader=True)})
    world.declare({"approval": "Manual"}, replicationFactor=3)
    world.rounds(4)
    reassigner.alter_throttles(None, {"wal_0": ThrottledReplicas()})
    world.annotate(approve_reassignment=world.run().digest)
    world.settle()
    assert world.factors() == {3}
    assert world.is_unthrottled()


def test_the_list_of_a_topic_that_is_deleted_meanwhile_is_not_put_back() -> None:
    """To put it back would fail for ever, and the run would never end."""
    theirs = {"wal_0": ThrottledReplicas(every_leader=True), "wal_1": ThrottledReplicas(every_leader=True)}
    look = KafkaState(brokers={}, partitions={}, absent=frozenset({"wal_1"}))
    left = throttling.leftover_throttle(look, ["wal_0", "wal_1"], ReassignmentStatus(), theirs)
    assert left is not None
    assert left.replicas == {"wal_0": theirs["wal_0"]}


def test_a_broker_that_dies_in_mid_move_is_waited_for() -> None:
    world = raising(brokers=3)
    world.pace = 0
    world.rounds(5)
    world.kafka.offline = {2}
    world.pace = 2
    world.rounds(15)
    assert world.stage() == "Ongoing"
    assert world.factors() != {3}
    assert "wait" in world.run().message
    world.kafka.offline = set()
    world.settle()
    assert world.factors() == {3}
    assert world.is_unthrottled()


def test_nothing_is_submitted_while_something_else_is_under_min_isr() -> None:
    world = World(of_three)
    world.kafka.topics["wal_5"].catching_up = {(0, 1), (0, 2)}
    world.kafka.topics["wal_5"].configs["min.insync.replicas"] = "1"
    world.declare({"excludeBrokers": [2]})
    world.rounds(8)
    assert world.stage() == "Pending"
    assert world.run().message == "1 partition (wal_5-0) under min.insync.replicas, or without a leader"
    assert world.kafka.moves.ongoing == {}
    world.kafka.topics["wal_5"].catching_up = set()
    world.settle()
    assert all(2 not in replicas for replicas in world.placed().values())


def test_somebody_elses_reassignment_is_seen_and_waited_for() -> None:
    world = World()
    world.kafka.add_topic("other", replicas=(1,))
    world.pace = 0
    world.move_by_hand("other", (2,))
    world.declare(replicationFactor=3)
    world.rounds(6)
    assert (world.stage(), world.run().message) == ("Pending", "somebody else moves 1 partition (other-0)")
    assert reason_of(world) == ("Reassigning", "somebody else moves 1 partition (other-0)")
    world.pace = 2
    world.settle()
    assert world.factors() == {3}
    assert world.placed()["other"] == (2,)


def test_a_partition_that_somebody_else_moves_meanwhile_is_left_alone_and_planned_anew() -> None:
    world = raising(pace=0)
    world.rounds(4)
    world.unthrottled_is_fine, world.most = True, 3
    world.move_by_hand("wal_5", (2, 4))
    world.pace = 2
    world.settle()
    assert world.factors() == {3}
    assert stages(world).count("ReassignmentCompleted") == 2
    assert world.is_unthrottled()


def test_a_cancel_by_hand_is_submitted_again_unless_the_run_is_paused() -> None:
    """Nobody can tell a move that was cancelled from one whose answer was lost (ADR 26)."""
    world = raising(pace=0)
    world.rounds(5)
    ours = tuple(world.kafka.moves.ongoing)
    assert len(ours) == 2
    assert FakeReassigner(world.kafka).reassign(dict.fromkeys(ours)) == {}
    world.rounds(2)
    assert tuple(world.kafka.moves.ongoing) == ours
    world.annotate(paused="true")
    assert FakeReassigner(world.kafka).reassign(dict.fromkeys(ours)) == {}
    world.rounds(8)
    assert world.kafka.moves.ongoing == {}
    assert "it waits: seawall.dev/paused is set" in world.run().message
    world.annotate(paused=None)
    world.pace = 2
    world.settle()
    assert world.factors() == {3}
    assert world.is_unthrottled()


def test_an_edit_in_mid_run_is_planned_anew_from_what_is() -> None:
    world = raising()
    world.settle(until=lambda: world.stage() == "Ongoing" and world.factors() == {1, 3})
    first = world.run().digest
    world.declare(replicationFactor=2)
    world.settle()
    assert world.factors() == {2}
    assert world.run().digest != first
    assert world.is_unthrottled()
    assert stages(world)[2:4] == ["ReassignmentAborting", "ReassignmentAborted"]


def test_what_kafka_refuses_is_told_counted_and_not_asked_again() -> None:
    def refuse(partition: PartitionId, _target: Target) -> str | None:
        return "the moon is wrong" if partition.topic == "wal_3" else None

    world = raising()
    world.kafka.moves.refuse = refuse
    world.settle(until=lambda: world.stage() == "Completed")
    run = world.run()
    assert run.message == "5 of 6 partitions were moved; Kafka refused 1"
    assert run.partitions is not None
    assert (run.partitions.done, run.partitions.failed) == (5, 1)
    assert "the moon is wrong" in run.refused[0].message
    assert world.is_unthrottled()
    asked = world.kafka.requests["reassign"]
    world.rounds(30)
    assert world.kafka.requests["reassign"] == asked
    reason, message = reason_of(world)
    assert reason == "ReplicationFactorDiffers"
    assert "the moon is wrong" in message
    assert sum("the moon is wrong" in line for line in world.reported("MoveRefused")) == 1


def test_a_throttle_that_kafka_refuses_lets_nothing_move() -> None:
    world = raising()
    world.kafka.unreachable = None
    world.declare({"throttleBytesPerSecond": "2Mi"})

    def forbidden(*_: object) -> None:
        from seawall.domain.errors import Refused  # noqa: PLC0415 - only here

        raise Refused("Kafka refused the throttle: Cluster authorization failed.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeReassigner, "alter_throttles", forbidden)
        world.rounds(6)
        assert world.run().message == "Kafka refused the throttle: Cluster authorization failed."
        assert world.kafka.moves.ongoing == {}
    world.settle()
    assert world.factors() == {3}


def test_a_pause_submits_nothing_and_lets_arrive_what_is_on_its_way() -> None:
    world = raising()
    world.settle(until=lambda: len(world.kafka.moves.ongoing) == 2)
    world.annotate(paused="true")
    world.rounds(10)
    assert world.stage() == "Ongoing"
    assert world.kafka.moves.ongoing == {}
    assert "seawall.dev/paused is set" in world.run().message
    assert world.factors() == {1, 3}
    world.annotate(paused=None)
    world.settle()
    assert world.factors() == {3}


def test_a_walcluster_that_is_deleted_in_mid_run_leaves_no_throttle() -> None:
    world = raising()
    world.settle(until=lambda: world.stage() == "Ongoing" and world.factors() == {1, 3})
    world.kube.remove(WAL)
    world.settle()
    assert world.status() is None
    assert world.kafka.moves.ongoing == {}
    assert world.is_unthrottled()


@pytest.mark.parametrize("aborted", [False, True], ids=["on its way", "on its way back"])
def test_a_pause_keeps_no_walcluster_that_is_deleted_in_mid_run(*, aborted: bool) -> None:
    """Who removes everything has often paused it before."""
    world = raising()
    world.settle(until=lambda: world.stage() == "Ongoing" and world.factors() == {1, 3})
    if aborted:
        world.annotate(abort_reassignment="")
        world.settle(until=lambda: world.stage() == "Aborting")
    world.annotate(paused="true")
    world.rounds(3)
    assert not world.is_unthrottled(), "a pause leaves the throttle as it is"
    world.kube.remove(WAL)
    world.settle()
    assert world.status() is None
    assert world.kafka.moves.ongoing == {}
    assert world.is_unthrottled()


def test_a_pause_stops_an_abort_while_nothing_is_deleted() -> None:
    world = raising(pace=0)
    world.rounds(5)
    world.annotate(paused="true", abort_reassignment="")
    world.rounds(5)
    assert (world.stage(), world.run().message) == ("Aborting", "seawall.dev/paused is set")
    assert len(world.kafka.moves.ongoing) == 2
    assert not world.is_unthrottled()


def test_a_deletion_is_let_go_when_kafka_is_gone_for_ten_minutes() -> None:
    world = raising(pace=0)
    world.rounds(5)
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "no broker answered")
    world.time.time = max(world.time.time, world.time.time)
    world.kube.remove(WAL)
    world.settle()
    assert world.status() is None
    assert any("a throttle may be left: no broker answered" in line for line in world.lines)


def test_a_lost_journal_ends_the_run_without_a_throttle_and_what_is_not_done_is_planned_anew() -> None:
    world = raising()
    world.settle(until=lambda: world.stage() == "Ongoing" and world.factors() == {1, 3})
    world.kube.put_config_map(journal_key(WAL), {})
    world.settle()
    assert "ReassignmentAborted: the ConfigMap with its targets is gone or damaged: what was moved stays" in world.lines
    assert world.factors() == {3}
    assert world.is_unthrottled()


@pytest.mark.parametrize("is_own", [False, True])
def test_a_config_map_of_somebody_else_or_for_something_else_is_left_alone(*, is_own: bool) -> None:
    world = World()
    theirs = {"metasrv.toml": "[wal]"}
    if is_own:
        owner = world.cluster()
        world.kube.write_config_map(owner, ConfigMap(journal_key(WAL), theirs, owner.metadata.uid))
    else:
        world.kube.put_config_map(journal_key(WAL), theirs)
    world.declare(replicationFactor=3)
    world.rounds(5)
    reason, message = reason_of(world)
    assert (reason, message) == (
        "ReassignmentInfeasible",
        "ConfigMap wal-reassignment exists and is no plan of this WALCluster",
    )
    found = world.kube.get_config_map(journal_key(WAL))
    assert found is not None
    assert found.data == theirs


def test_a_broker_is_drained() -> None:
    world = World(of_three)
    world.declare({"excludeBrokers": [3]})
    world.settle()
    assert all(3 not in replicas for replicas in world.placed().values())
    assert world.factors() == {3}
    assert world.run().why == ("Drain",)
    assert world.is_unthrottled()
    world.rounds(5)
    assert stages(world).count("ReassignmentCompleted") == 1


def test_a_broker_is_drained_whose_replicas_are_fewer_afterwards() -> None:
    """The way out of "leaves 2 brokers": what it led is led by another one, and the run ends once."""
    world = World(of_three)
    world.declare({"excludeBrokers": [3, 4]})
    world.rounds(4)
    assert reason_of(world)[0] == "ReassignmentInfeasible"
    world.declare({"excludeBrokers": [3, 4]}, replicationFactor=2)
    world.settle()
    assert {frozenset(replicas) for replicas in world.placed().values()} == {frozenset({1, 2})}
    world.rounds(8)
    assert stages(world).count("ReassignmentCompleted") == 1
    assert world.is_unthrottled()


def test_an_abort_gives_the_original_replicas_back_whoever_leads_by_now() -> None:
    world = World(of_three)
    world.declare(replicationFactor=4)
    kafka = world.kafka
    arrived = (topic for topic in kafka.topics.values() if len(kafka.led(topic, 0)[0]) == 4)
    world.settle(until=lambda: any(len(kafka.led(topic, 0)[0]) == 4 for topic in kafka.topics.values()))
    topic = next(arrived)
    topic.leaders[0] = (set(topic.replicas) - set(THREE[0])).pop()
    world.annotate(abort_reassignment="")
    world.settle()
    assert world.factors() == {3}
    assert {frozenset(replicas) for replicas in world.placed().values()} == {frozenset(THREE[0])}


def test_what_cannot_be_is_said_and_ends_with_an_edit() -> None:
    world = World(of_three)
    world.declare({"excludeBrokers": [3, 4]})
    world.rounds(4)
    reason, message = reason_of(world)
    assert reason == "ReassignmentInfeasible"
    assert message == "excludeBrokers leaves 2 brokers, and 3 replicas need more"
    assert world.stage() is None
    world.declare({"excludeBrokers": []})
    world.settle()
    assert reason_of(world)[0] == "Ready"
    assert world.status() is None


def test_replicas_get_racks_of_their_own_where_that_is_required() -> None:
    world = World(lambda _: (1, 2))
    world.kafka.moves.racks = racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    world.rounds(4)
    assert set(world.placed().values()) == {(1, 2)}, "as many replicas as declared: nothing moves"
    world.declare({"racks": "Required"})
    world.settle()
    assert {frozenset(racks[broker] for broker in replicas) for replicas in world.placed().values()} == {
        frozenset("ab")
    }
    world.declare(replicationFactor=3)
    world.rounds(4)
    assert reason_of(world) == (
        "ReassignmentInfeasible",
        "3 replicas in racks of their own need as many racks, and the brokers have 2",
    )
    world.declare({"racks": "Preferred"})
    world.settle()
    assert world.factors() == {3}


def test_a_rack_that_is_not_known_is_no_rack_of_its_own() -> None:
    world = World(lambda _: (1,))
    world.kafka.moves.racks = {1: "a", 2: "b", 3: "c"}
    world.declare({"racks": "Required"}, replicationFactor=2)
    world.rounds(4)
    assert reason_of(world) == (
        "ReassignmentInfeasible",
        "each replica should be in a rack of its own, and broker.rack is not set on broker 4",
    )
    world.kafka.moves.racks[4] = "d"
    world.rounds(20)
    world.settle()
    assert world.factors() == {2}


def test_kafka_that_is_away_in_mid_run_is_waited_for() -> None:
    world = raising()
    world.settle(until=lambda: world.stage() == "Ongoing")
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "no broker answered")
    world.rounds(6)
    assert (world.stage(), world.run().message) == ("Ongoing", "no broker answered")
    world.kafka.unreachable = None
    world.settle()
    assert world.factors() == {3}


def test_lost_answers_change_nothing_about_the_end() -> None:
    world = raising()
    for _ in range(12):
        world.kafka.lost_answers = 1
        world.rounds(1)
    world.kafka.lost_answers = 0
    world.settle()
    assert world.factors() == {3}
    assert world.is_unthrottled()


def test_a_topic_that_is_deleted_in_mid_run_is_left_alone() -> None:
    world = raising(pace=0)
    world.rounds(4)
    assert PartitionId("wal_3", 0) not in world.kafka.moves.ongoing
    del world.kafka.topics["wal_3"]
    world.pace = 2
    world.settle()
    assert world.factors() == {3}
    assert world.run().message.startswith(("5 of 6", "6 of 6", "1 of 1"))
    assert world.is_unthrottled()


def restarting(world: World, **status: object) -> None:
    """The controller of restarts writes its part of the status: a datanode restarts."""
    kind, now = DisruptionKind.DATANODE_RESTART, world.time.now()
    entry = Disruption(kind=kind, name="datanode-1", uid="uid-1", start_time=now, budget_seconds=600)
    found = RestartStatus(**{"stage": RollStage.REPLAYING, **status})
    cluster = world.cluster()
    parts = {"restart": found, "disruption": entry}
    world.kube.replace_status(cluster, cluster.status.model_copy(update=parts))


def test_no_replicas_begin_to_move_while_a_datanode_restarts() -> None:
    world = raising()
    restarting(world)
    world.rounds(6)
    assert world.factors() == {1}
    assert "datanode-1 restarts" in world.run().message
    restarting(world, stage=RollStage.STALLED)
    world.settle()
    assert world.factors() == {3}


def test_replicas_move_while_a_roll_waits_for_them() -> None:
    world = raising()
    restarting(world, stage=RollStage.RESTARTING, reason="NotFullyInSync")
    world.settle()
    assert world.factors() == {3}
