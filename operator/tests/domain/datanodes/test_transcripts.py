"""Whole rolls in a small world, as reviewed transcripts (`golden/`). UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.datanodes.facts import Limits
from seawall.domain.datanodes.roll import decide
from seawall.domain.decision import Failure, step_of
from seawall.domain.ledger.declarations import Grounds
from seawall.domain.rollout.workload import Termination, UpdateStrategy
from seawall.domain.step import Act, Record
from tests.domain.datanodes.builders import NOW, make_statefulset
from tests.domain.datanodes.world import World
from tests.support.golden import compare_text

GOLDEN = Path(__file__).parent / "golden"
ALL = ["datanode-0", "datanode-1", "datanode-2"]


def compare(world: World, name: str) -> None:
    compare_text(GOLDEN / f"{name}.txt", "\n".join(world.lines) + "\n")


def is_clean(world: World) -> bool:
    """Nothing is left behind."""
    status = world.status
    return not world.maintenance and status.maintenance is None and world.entry is None


def test_a_healthy_roll() -> None:
    world = World()
    world.request("monday")
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL
    assert is_clean(world)
    assert (world.status.done_request, world.status.restarted) == ("monday", 3)
    compare(world, "healthy")
    world.run(100)
    assert world.evicted == ALL  # the value is done
    assert world.status.message == "no datanode is to be restarted: seawall.dev/restart: monday is done"


def test_a_broker_dies_in_mid_roll() -> None:
    world = World()
    world.request("monday")
    while not world.evicted:
        world.run(1)
    world.tell("# a broker dies")
    world.brokers_down = True
    world.run(120)
    assert world.evicted == ["datanode-0"]
    assert is_clean(world), "nobody restarts, so failover must be possible"
    world.tell("# the broker is back")
    world.brokers_down = False
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL
    assert is_clean(world)
    compare(world, "broker_dies")


def test_a_replay_takes_longer_than_its_budget() -> None:
    world = World(crashing={0})
    world.facts = replace(world.facts, limits=replace(world.facts.limits, replay_budget=timedelta(seconds=60)))
    world.request("monday")
    while not world.evicted:
        world.run(1)
    world.run(30)
    node = world.nodes[0]
    killed = Termination("Error", "region 1: MissingKey at offset 300", 1)
    node.pod = replace(node.pod, restarts=3, last_termination=killed)
    world.run(400)
    assert world.evicted == ["datanode-0"], "no second pod is touched"
    assert world.status.stage is RollStage.STALLED
    assert not world.maintenance
    world.tell("# a person mends it")
    node.serves_at = world.now
    node.pod = replace(node.pod, restarts=3, last_termination=None)
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL
    assert is_clean(world)
    compare(world, "budget_overrun")


def test_the_configuration_changes_in_mid_roll() -> None:
    world = World()
    world.configure("aaaa")
    world.run(5)
    assert world.evicted == []  # the first configuration that is seen is no change
    world.configure("bbbb")
    while world.evicted != ["datanode-0"]:
        world.run(1)
    world.configure("cccc")
    world.run(400, until_stage=RollStage.COMPLETED)
    assert sorted(world.evicted) == ["datanode-0", *ALL], "the others take both changes in one restart"
    assert {node.pod.config_hash for node in world.nodes} == {"cccc"}
    assert is_clean(world)
    compare(world, "configuration_changes")


def test_a_partition_is_lowered_one_by_one_and_put_back() -> None:
    world = World(statefulset=make_statefulset(strategy=UpdateStrategy.ROLLING_UPDATE, partition=0))
    world.configure("aaaa")
    world.run(5)
    world.configure("bbbb")
    world.run(400, until_stage=RollStage.COMPLETED)
    assert world.evicted == ["datanode-2", "datanode-1", "datanode-0"]
    assert {node.pod.config_hash for node in world.nodes} == {"bbbb"}
    assert world.statefulset.partition == 3, "or the next change would restart all without asking"
    assert is_clean(world)
    compare(world, "partition")


def test_a_rollout_restart_by_somebody_is_driven_where_kubernetes_leaves_it() -> None:
    world = World()
    world.change_template(restarted_at="2026-11-22T08:00:00Z")
    world.run(300, until_stage=RollStage.COMPLETED)
    assert sorted(world.evicted) == ALL
    assert is_clean(world)


def test_a_rollout_restart_that_kubernetes_does_itself_is_reported_and_left_to_it() -> None:
    world = World(statefulset=make_statefulset(strategy=UpdateStrategy.ROLLING_UPDATE, partition=0))
    world.change_template(restarted_at="2026-11-22T08:00:00Z")
    world.run(5)
    assert world.status.reason == "RestartedByKubernetes"
    world.run(200)
    assert world.evicted == ["datanode-2", "datanode-1", "datanode-0"]  # by Kubernetes, in its order
    assert not [line for line in world.lines if "Restarted datanode" in line]
    assert world.status.reason == "NothingToRestart"
    assert is_clean(world)


def test_another_operators_statefulset_is_not_patched_and_what_it_needs_is_said() -> None:
    world = World(statefulset=make_statefulset(controller="GreptimeDBCluster mine"))
    world.configure("aaaa")
    world.run(5)
    world.configure("bbbb")
    world.run(60)
    assert world.statefulset.resource_version == "7"
    assert world.status.reason == "TemplateNotOurs"
    assert "set seawall.dev/restart to roll it out" in world.status.message
    world.request("bbbb")
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL


def test_another_operators_partition_is_not_lowered() -> None:
    statefulset = make_statefulset(
        controller="GreptimeDBCluster mine", strategy=UpdateStrategy.ROLLING_UPDATE, partition=3
    )
    world = World(statefulset=statefulset)
    world.change_template(restarted_at="2026-11-22T08:00:00Z")
    world.run(60)
    assert world.status.reason == "PartitionNotOurs"
    assert (world.evicted, world.statefulset.partition) == ([], 3)
    assert is_clean(world)


def test_a_disruption_budget_is_waited_for_with_its_sentence() -> None:
    world = World(forbids="Cannot evict pod as it would violate the pod's disruption budget.")
    world.request("monday")
    world.run(60)
    assert world.evicted == []
    assert world.status.reason == "DisruptionBudget"
    assert "violate the pod's disruption budget" in world.status.message
    world.run(600)
    world.forbids = None
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL
    assert is_clean(world)


def test_maintenance_that_was_on_before_stays_on() -> None:
    world = World(maintenance=True)
    world.request("monday")
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL
    assert world.maintenance
    assert world.status.maintenance is None


def test_maintenance_that_somebody_ends_in_mid_roll_is_ours_from_then_on() -> None:
    world = World(maintenance=True)
    world.request("monday")
    world.run(5)
    world.maintenance = False
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL
    assert is_clean(world)


def test_a_withdrawn_request_still_finishes_the_pod_in_the_status() -> None:
    world = World()
    world.request("monday")
    world.run(100, until_stage=RollStage.RESTARTING)
    world.request(None)
    world.run(200, until_stage=RollStage.COMPLETED)
    assert world.evicted == ["datanode-0"]
    assert is_clean(world)


def test_a_new_value_in_mid_roll_restarts_all_of_that_moment() -> None:
    world = World()
    world.request("monday")
    while not world.evicted:
        world.run(1)
    world.run(30)  # datanode-0 serves again
    world.request("tuesday")
    world.run(400, until_stage=RollStage.COMPLETED)
    assert sorted(world.evicted) == ["datanode-0", *ALL]
    assert world.status.done_request == "tuesday"


def test_a_pause_keeps_the_roll_where_it_is_and_leaves_maintenance() -> None:
    world = World()
    world.request("monday")
    while not world.evicted:
        world.run(1)
    world.facts = replace(world.facts, is_paused=True)
    world.run(120)
    assert world.evicted == ["datanode-0"]
    assert is_clean(world)
    world.facts = replace(world.facts, is_paused=False)
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL


def test_a_person_lets_a_roll_through_a_shut_gate_and_the_event_says_who() -> None:
    world = World(brokers_down=True)
    world.request("monday")
    world.facts = replace(world.facts, override_problem="seawall.dev/override-restart-gate has expired: remove it")
    world.run(30)
    assert world.evicted == []
    assert world.status.message.endswith("But seawall.dev/override-restart-gate has expired: remove it.")
    world.facts = replace(world.facts, override_problem=None)
    world.facts = replace(world.facts, override=Grounds("broker 3 is lost", world.now + timedelta(hours=1)))
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL
    passed = [line for line in world.lines if "Restarted datanode-0 although" in line]
    assert len(passed) == 1
    assert "let through by annotation until 2026-11-22T10:00:30Z (broker 3 is lost)" in passed[0]


def test_a_pod_stuck_terminating_stalls_the_roll() -> None:
    world = World()
    world.request("monday")
    world.run(100, until_stage=RollStage.RESTARTING)
    node = world.nodes[0]
    node.pod = replace(node.pod, gone_by=world.now)  # its node is off: it never goes
    world.run(90)
    assert (world.status.stage, world.status.reason) == (RollStage.STALLED, "PodStuckTerminating")
    assert world.evicted == []
    world.run(30)
    assert not world.maintenance


def test_a_missing_statefulset_is_told() -> None:
    world = World()
    world.request("monday")
    world.run(100, until_stage=RollStage.MAINTENANCE)
    there = world.statefulset
    world.statefulset = None  # type: ignore[assignment]  # as the API server says
    world.pass_time = lambda time: setattr(world, "now", world.now + time)  # type: ignore[method-assign]
    world.run(60)
    assert world.status.reason == "StatefulSetMissing"
    assert not world.maintenance
    del world.pass_time
    world.statefulset = there
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL


def test_the_startup_budget_of_each_datanode_is_published_and_not_written_all_the_time() -> None:
    world = World()
    world.run(3)
    assert [(row.pod, row.replay_seconds, row.startup_seconds) for row in world.status.datanodes] == [
        ("datanode-0", 5, 38),
        ("datanode-1", 10, 45),
        ("datanode-2", 15, 53),
    ]
    before = world.status
    node = world.nodes[2]
    for _ in range(200):
        node.datanode = replace(node.datanode, size_bytes=(node.datanode.size_bytes or 0) + 2**14)
        world.tick()
    assert world.status == before
    node.datanode = replace(node.datanode, size_bytes=2**34)
    world.run(2)
    assert world.status.datanodes[2].startup_seconds == 1260


def limited(world: World, *, seconds: int, flush_first: bool) -> World:
    limits = Limits(timedelta(seconds=seconds), flush_first=flush_first)
    world.facts = replace(world.facts, limits=limits)
    return world


def asked_to_flush(world: World) -> int:
    return sum("to flush" in line for line in world.lines)


def test_who_would_replay_too_long_is_flushed_first_and_others_only_if_that_is_wanted() -> None:
    """They would replay for 5, 10 and 15 s, as is guessed; the first restart shows that 100 MiB take 25 s."""
    world = limited(World(), seconds=7, flush_first=False)
    world.request("monday")
    while world.status.restarted < 1:
        world.run(1)
    assert asked_to_flush(world) == 0
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL
    assert asked_to_flush(world) == 2


def test_a_flush_that_does_not_help_is_told_and_tried_again_and_nothing_is_restarted() -> None:
    world = limited(World(flushes=False), seconds=3, flush_first=True)
    world.request("monday")
    world.run(400)  # each had two minutes
    assert (world.status.stage, world.status.reason) == (RollStage.WAITING, "ReplayTooLong")
    assert "datanode-0: 2000 entries, about 5 s of 3s" in world.status.message
    assert world.evicted == []
    assert is_clean(world)
    world.run(60)
    assert world.status.stage is RollStage.WAITING, "it is not asked all the time"
    world.flushes = True
    world.run(1500, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL


def test_a_flush_that_hangs_holds_a_restart_up_for_two_minutes_and_no_longer() -> None:
    world = limited(World(flushes=False), seconds=600, flush_first=True)
    world.request("monday")
    world.run(1000, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL
    assert world.now >= NOW + 3 * timedelta(minutes=2)


def test_what_was_refused_is_told_and_what_was_not_answered_is_tried_again() -> None:
    world = World()
    world.request("monday")
    world.run(100, until_stage=RollStage.MAINTENANCE)
    observed = world.observe()
    assert isinstance(step_of(world.roll, decide(world.roll, observed)), Act)
    for final, reason in ((True, "ChangeRefused"), (False, "ChangeUnanswered")):
        verdict = Failure("metasrv: no", final=final).verdict
        step = step_of(world.roll, replace(decide(world.roll, observed), verdict=verdict, actions=()))
        assert isinstance(step, Record)
        assert (step.status.status.reason, step.status.status.message) == (reason, "metasrv: no")
        assert step.after is not None
        again = step_of(step.status, decide(step.status, observed))
        assert isinstance(again, Act)


def test_a_configuration_that_changes_in_a_requested_restart_is_not_taken_for_rolled_out() -> None:
    world = World(statefulset=make_statefulset(controller="GreptimeDBCluster mine"))
    world.configure("aaaa")
    world.run(5)
    world.configure("bbbb")
    world.request("bbbb")
    while world.evicted != ["datanode-0"]:
        world.run(1)
    world.configure("cccc")
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL
    world.run(5)
    assert world.status.reason == "TemplateNotOurs", "datanode-0 has bbbb"
    world.request("cccc")
    world.run(300, until_stage=RollStage.COMPLETED)
    world.run(5)
    assert world.status.reason == "NothingToRestart"


def test_nothing_goes_while_kubernetes_has_not_seen_the_newest_template() -> None:
    world = World()
    world.request("monday")
    world.run(100, until_stage=RollStage.RESTARTING)
    world.change_template(restarted_at="2026-11-22T08:00:00Z")
    assert not isinstance(step_of(world.roll, decide(world.roll, world.observe())), Act)
    world.run(300, until_stage=RollStage.COMPLETED)
    assert world.evicted == ALL, "one restart for both reasons"


def test_one_pod_of_another_operators_statefulset_does_not_roll_out_a_configuration() -> None:
    world = World(statefulset=make_statefulset(controller="GreptimeDBCluster mine"))
    world.configure("aaaa")
    world.run(5)
    world.configure("bbbb")
    world.nodes[1].pod = replace(world.nodes[1].pod, restart="now")
    world.run(100, until_stage=RollStage.COMPLETED)
    world.run(5)
    assert world.evicted == ["datanode-1"]
    assert world.status.reason == "TemplateNotOurs"
