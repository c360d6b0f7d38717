"""Restarts of the nodes of a managed Kafka: what is rolled out, in which order, and what keeps a node from going."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Literal

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.managed_kafka import properties
from seawall.domain.managed_kafka.node import nodes_of
from seawall.domain.managed_kafka.objects import ObjectKind, spec_hash, template_hash
from seawall.handlers.metrics.rollout import RestartTelemetry
from tests.fakes.kafka_reassigner import FakeReassigner
from tests.worlds.kafka_roll_world import RollWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL, pool
from tests.worlds.purge_world import Calls

BROUGHT_UP = RollWorld().bring_up()
CONFIG = {"num.io.threads": "3"}


@pytest.fixture
def world() -> RollWorld:
    return copy.deepcopy(BROUGHT_UP)


def rolled(world: RollWorld) -> RollWorld:
    world.live(until=world.is_rolled)
    return world


def test_an_edit_restarts_each_node_once_followers_first_and_the_active_controller_last(world: RollWorld) -> None:
    world.edit(config=CONFIG)
    rolled(world)
    assert world.evicted == [101, 102, *BROKERS, 100]
    assert world.roll().restarted == 6
    world.live(until=lambda: world.says("AllOnline"))
    files = [
        each.body["data"]["server.properties"]
        for (kind, _), each in world.objects.made.items()
        if kind is ObjectKind.CONFIG_MAP
    ]
    assert sum("num.io.threads=3" in each for each in files) == 6


def test_nothing_is_restarted_where_nothing_changed(world: RollWorld) -> None:
    world.live(ticks=40)
    assert world.evicted == []
    assert world.roll().stage is None
    requests = dict(world.kafka.requests)
    process = world.process()
    for _ in range(5):
        process.tick(WAL)
    assert world.kafka.requests == requests, "Kafka is not asked where nothing is due"


def test_what_a_broker_tells_that_is_cut_off_lets_no_node_go(world: RollWorld) -> None:
    """It answers by what was true when it was cut off: all Online and in sync. It has long left every ISR."""
    asker = FakeReassigner(world.kafka)
    brokers, partitions = asker.brokers(), asker.partitions()
    world.kafka.moves.cut_off.add(2)
    world.behind[2] = 1_000
    for log in world.kafka.logs.values():
        log.isr.discard(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeReassigner, "brokers", lambda _: brokers)
        patch.setattr(FakeReassigner, "partitions", lambda *_: partitions)
        world.edit(config=CONFIG)
        world.live(ticks=60)
        assert world.evicted == []
        assert "broker 2 follows no controller, and may tell what was so before" in world.roll().message
    world.kafka.moves.cut_off.clear()
    world.behind.clear()
    rolled(world)


def test_while_the_clock_of_the_active_controller_is_set_back_no_node_goes(world: RollWorld) -> None:
    """Who was heard from later than it shows may be silent since: another one less would be no majority."""
    ahead = (world.kafka.moves.directories[each] for each in (101, 102))
    world.kafka.moves.silent.update(dict.fromkeys(ahead, -600_000))
    world.edit(config=CONFIG)
    world.live(ticks=60)
    assert world.evicted == []
    assert (world.roll().reason, "wal-102-0" in world.roll().message) == ("NodeNotOnline", True)
    world.kafka.moves.silent.clear()
    rolled(world)


def test_a_time_in_which_nobody_asked_is_no_time_in_which_a_node_was_well(world: RollWorld) -> None:
    """The operator was frozen, or not the leader: one look after it must not end the dwell that began before."""
    process = world.process()
    world.edit(config=CONFIG)
    for _ in range(100):
        if "for too short a time" in world.roll().message:
            break
        if process.tick(WAL).after != 0:
            world.pass_time()
    first, goes = world.entry(), list(world.evicted)
    assert first is not None
    world.time.time += timedelta(minutes=10)
    for _ in range(5):
        process.tick(WAL)
    assert (world.entry(), world.evicted) == (first, goes)
    for _ in range(400):
        if process.tick(WAL).after != 0:
            world.pass_time()
        if len(world.evicted) > len(goes):
            return
    raise AssertionError("the dwell never ends")


def test_while_a_node_is_away_the_others_are_told_to_be_well(world: RollWorld) -> None:
    world.edit(config=CONFIG)
    world.live(until=lambda: bool(world.absent))
    condition = world.condition()
    assert condition is not None
    assert condition[:2] == ("True", "RollingNodes")
    assert "5 of 6 nodes are Online; 5 of them run something else than is declared" in condition[2]


def test_a_node_that_dies_by_itself_comes_back_as_it_was_made(world: RollWorld) -> None:
    world.edit(config=CONFIG)
    world.live(until=lambda: world.entry() is not None)
    before = world.objects.pods[WAL][2].template
    world.kill(2)
    for _ in range(3):
        world.go_on()
    assert world.objects.pods[WAL][2].template == before
    rolled(world)
    assert Counter(world.evicted) == Counter((*CONTROLLERS, *BROKERS))


def test_a_broken_config_stops_at_one_node_and_an_edit_mends_it(world: RollWorld) -> None:
    node, others = broken_by_an_edit(world)
    for _ in range(2):
        world.go_on()
    condition = world.condition()
    assert condition is not None
    assert condition[:2] == ("False", "RollStalled")
    assert "no other Kafka node is restarted. its pod is not Ready (CrashLoopBackOff: bad)" in condition[2]
    assert {n: pod.uid for n, pod in world.objects.pods[WAL].items() if n != node} == others
    assert world.evicted == [node]
    world.edit(config=CONFIG)
    rolled(world)
    assert world.evicted[:2] == [node, node]
    assert Counter(world.evicted) == Counter((*CONTROLLERS, *BROKERS, node))


def broken_by_an_edit(world: RollWorld) -> tuple[int, dict[int, str]]:
    """The first node that is restarted does not come up, and the roll is Stalled: it, and the pods of all others."""
    world.edit(config={"num.io.threads": "0"})
    world.live(until=lambda: world.entry() is not None)
    entry = world.entry()
    assert entry is not None
    node = int(entry.name.split("-")[1])
    world.live(until=lambda: world.roll().stage is RollStage.RESTARTING and node in world.ending)
    others = {n: pod.uid for n, pod in world.objects.pods[WAL].items() if n != node}
    world.broken[node] = declared(world, node)
    world.live(until=lambda: world.roll().stage is RollStage.STALLED)
    return node, others


def declared(world: RollWorld, node: int) -> str:
    """The hash of the newest template of a node."""
    (found,) = (
        each
        for (kind, name), each in world.objects.find(WAL).objects.items()
        if kind is ObjectKind.STATEFUL_SET and name == f"wal-{node}"
    )
    return found.annotations["seawall.dev/template-hash"]


@pytest.mark.parametrize("configs", [{"min.insync.replicas": "2"}, {}], ids=["its own", "the default of all brokers"])
def test_a_topic_that_would_take_no_writes_is_named_and_a_person_may_answer_for_it(
    world: RollWorld, configs: dict[str, str]
) -> None:
    world.kafka.add_topic("pair", replicas=(0, 1), configs=configs)
    world.kafka.defaults |= {"min.insync.replicas": "1" if configs else "2"}
    world.edit(config=CONFIG)
    world.live(until=lambda: world.roll().reason == "WouldStopWrites")
    assert "pair-0: 1 left, 2 needed" in world.roll().message
    world.live(ticks=60)
    assert set(world.evicted) <= {*CONTROLLERS, 2}
    expires = (world.time.time + timedelta(hours=1)).isoformat()
    world.annotate(override_restart_gate=f"pair is a test@{expires}")
    rolled(world)
    assert any(each.reason == "RestartOverridden" for each in world.kube.events)


@pytest.mark.parametrize("lose", [RollWorld.delete_claim, RollWorld.replace_claim])
@pytest.mark.parametrize("is_let", [False, True])
def test_a_node_whose_volume_would_go_with_its_pod_is_not_restarted(
    world: RollWorld, lose: Callable[[RollWorld, int], None], *, is_let: bool
) -> None:
    """Broker 2 has the only copy of a topic; Kubernetes deletes its claim as soon as its pod is gone."""
    world.kafka.add_topic("one", replicas=(2,), configs={"min.insync.replicas": "1"})
    world.time.time += timedelta(seconds=5)
    lose(world, 2)
    if is_let:
        let_through(world)
    world.edit(config=CONFIG)
    world.live(until=lambda: {*CONTROLLERS} <= set(world.evicted))
    world.live(ticks=60)
    assert not {*BROKERS} & set(world.evicted), "the budget of 2 lets nobody go"
    assert world.roll().reason == "VolumeGoes"
    assert "(wal-2-0). Do not delete that pod" in world.roll().message
    world.annotate(format_volume=f"2: it is burnt@{in_an_hour(world)}")
    if is_let:
        world.live(until=lambda: 2 in world.evicted)
    else:
        world.live(until=lambda: world.roll().reason == "OnlyReplica")


def test_a_node_that_does_not_run_keeps_a_claim_that_is_deleted_as_well(world: RollWorld) -> None:
    """Its disk is all right; what it was made of is not."""
    node = next(node for node in world.nodes if node.id == 1)
    world.edit(config={"num.io.threads": "none"})
    world.live(until=lambda: 1 in world.evicted)
    world.broken[1] = template_hash(next(each for each in world.nodes if each.id == node.id), world.kafka.cluster_id)
    world.live(until=lambda: world.objects.pods[WAL].get(1) is not None and bool(world.objects.pods[WAL][1].trouble))
    world.delete_claim(1)
    before = list(world.evicted)
    let_through(world)
    world.edit(config=CONFIG)
    world.live(ticks=100)
    assert world.evicted == before


def test_while_a_claim_is_deleted_its_budget_lets_nobody_go(world: RollWorld) -> None:
    world.delete_claim(2)
    world.live(until=lambda: world.says("VolumeLost"))
    world.live(ticks=20)
    for node in (2, 0):
        world.drain(node)
    assert world.evicted == []
    said = world.condition()
    assert said is not None
    assert "data-wal-2 is being deleted, and only its pod keeps it: do not delete the pod before" in said[2]
    world.drain(101)
    assert world.evicted == [101]


def let_through(world: RollWorld) -> None:
    world.annotate(override_restart_gate=f"the edit is urgent@{in_an_hour(world)}")


def in_an_hour(world: RollWorld) -> str:
    return (world.time.time + timedelta(hours=1)).isoformat()


def test_a_newer_seawall_restarts_nothing_before_a_person_approves_just_that(
    world: RollWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(properties, "LOG4J", f"{properties.LOG4J}# newer\n")
    world.live(ticks=60)
    assert world.evicted == []
    found = world.kube.get(WALCluster, WAL)
    assert found is not None
    assert found.status.managed_kafka is not None
    plan = found.status.managed_kafka.awaiting_approval
    assert plan is not None
    assert all(each.outdated for each in found.status.managed_kafka.nodes)
    assert f"before seawall.dev/approve-rollout: {plan} is set" in (world.condition() or ("", "", ""))[2]
    world.annotate(approve_rollout="another")
    world.live(ticks=60)
    assert world.evicted == []
    world.annotate(approve_rollout=plan)
    rolled(world)
    assert Counter(world.evicted) == Counter((*CONTROLLERS, *BROKERS))
    world.live(until=lambda: world.says("AllOnline"))
    monkeypatch.setattr(properties, "LOG4J", f"{properties.LOG4J}# newer still\n")
    world.live(ticks=60)
    assert len(world.evicted) == 6, "that word was about another plan"


def test_what_the_spec_said_is_on_each_pod_without_defaults(world: RollWorld) -> None:
    """Else a newer Seawall with more fields, or other defaults, would take them for the spec's words."""
    assert len({pod.spec_hash for pod in world.objects.pods[WAL].values()} - {None}) == 2, "one of each pool"
    words = copy.deepcopy(world.spec)
    words["kafka"]["managed"] |= {"config": {}, "rollout": {"startBudget": "9m"}, "deletionPolicy": "Retain"}
    said, plain = (
        nodes_of(WAL, WALCluster.KIND.spec.model_validate(each).kafka.managed)  # type: ignore[attr-defined]
        for each in (words, world.spec)
    )
    assert list(map(spec_hash, said)) == list(map(spec_hash, plain))


def test_a_restart_that_is_asked_for_restarts_each_node_once(world: RollWorld) -> None:
    templates = {node: pod.template for node, pod in world.objects.pods[WAL].items()}
    world.annotate(restart_kafka="1")
    rolled(world)
    assert Counter(world.evicted) == Counter((*CONTROLLERS, *BROKERS))
    assert {node: pod.template for node, pod in world.objects.pods[WAL].items()} == templates
    world.live(ticks=40)
    assert len(world.evicted) == 6


def test_nothing_goes_while_a_datanode_is_restarted_and_its_entry_stays(world: RollWorld) -> None:
    other = Disruption(
        kind=DisruptionKind.DATANODE_RESTART,
        name="datanode-1",
        uid="uid",
        start_time=world.time.time,
        budget_seconds=60,
    )
    world.write_entry(other)
    world.edit(config=CONFIG)
    world.live(ticks=80)
    assert (world.evicted, world.entry()) == ([], other)
    assert world.roll().reason == "SlotTaken"
    world.write_entry(None)
    rolled(world)


DATA_PLANE = {
    "greptimedb": {
        "version": "1.1",
        "metasrv": "http://metasrv:4000",
        "frontend": "http://frontend:4000",
        "metadataStore": {"etcd": {"endpoints": ["http://etcd:2379"]}},
    },
    "datanodes": {"statefulSetRef": {"name": "datanode"}},
}


@pytest.mark.parametrize("said", ["False", "Unknown", None])
def test_nothing_goes_while_a_datanode_is_not_known_to_serve(
    world: RollWorld, said: Literal["False", "Unknown"] | None
) -> None:
    world.declare(dataPlane=DATA_PLANE)
    world.say_of_datanodes(said)
    world.edit(config=CONFIG)
    world.live(until=lambda: world.roll().reason == "DatanodeAway")
    world.live(ticks=40)
    assert world.evicted == []
    world.say_of_datanodes("True")
    rolled(world)


def test_a_person_who_pauses_right_before_the_act_is_in_time(world: RollWorld) -> None:
    world.edit(config=CONFIG)
    world.live(until=lambda: world.entry() is not None)
    calls = Calls(world.check)
    process, gets = world.process(calls), Counter[str]()

    def before(name: str) -> None:
        gets[name] += 1
        if gets["get"] == 2:
            world.annotate(paused="true")

    calls.before = before
    for _ in range(20):
        gets.clear()
        if process.tick(WAL).after != 0:
            world.pass_time()
    assert world.annotations
    assert world.evicted == []
    world.annotate(paused="false")
    rolled(world)


def test_a_budget_that_forbids_is_waited_for(world: RollWorld) -> None:
    world.edit(config=CONFIG)
    world.live(until=lambda: world.entry() is not None)
    world.held.add(101)
    world.held.add(102)
    world.kill(102)
    world.live(ticks=30)
    assert world.evicted == []
    world.held.clear()
    rolled(world)


def reported(world: RollWorld) -> list[str]:
    """The series of what the controller measured last."""
    registry = CollectorRegistry()
    RestartTelemetry(registry).measure_kafka_nodes(WAL, *world.meters.kafka_nodes[WAL])
    lines = generate_latest(registry).decode().splitlines()
    return sorted(line.replace('name="wal",namespace="db"', "") for line in lines if not line.startswith("#"))


def test_prometheus_hears_how_nodes_are_and_how_far_the_roll_is(world: RollWorld) -> None:
    world.process().tick(WAL)
    assert reported(world) == ['seawall_kafka_nodes{,state="Online"} 6.0']
    world.edit(config=CONFIG)
    world.live(until=lambda: 'seawall_kafka_roll_stage{,stage="Restarting"} 1.0' in reported(world))
    world.live(until=lambda: 'seawall_kafka_nodes{,state="Online"} 5.0' in reported(world))
    rolled(world)
    world.kube.remove(WAL)
    world.process().tick(WAL)
    assert world.meters.kafka_nodes == {}


def test_a_controller_that_votes_no_more_keeps_no_restart_waiting(world: RollWorld) -> None:
    """It is to be taken out, and its turn has not come; it is restarted, too, and is back without a vote."""
    brokers = pool("brokers", "broker", 0, 3)
    world.edit(nodePools=[pool("controllers", "controller", 100, 5), brokers])
    world.live(until=lambda: {103, 104} <= world.running and not world.tokens())
    world.evicted.clear()
    world.edit(nodePools=[pool("controllers", "controller", 100, 3), brokers], config=CONFIG)
    world.live(until=lambda: world.roll().stage is RollStage.COMPLETED and world.roll().restarted == 8)
    assert sorted(world.evicted) == [*BROKERS, *CONTROLLERS, 103, 104]


def test_a_paused_one_is_not_rolled(world: RollWorld) -> None:
    world.annotate(paused="true")
    world.edit(config=CONFIG)
    world.live(ticks=40)
    assert world.evicted == []
    assert world.roll().reason == "Paused"


def test_a_pause_keeps_templates_as_they_are_where_nobody_would_be_restarted_either(world: RollWorld) -> None:
    """An edit is taken back when the template has it, and the pod that is to go has not gone yet."""
    broken = {"num.io.threads": "0"}
    world.edit(config=broken)
    world.live(until=lambda: bool(world.ending))
    (node,) = world.ending
    before = world.broken[node] = declared(world, node)
    world.live(until=lambda: world.roll().stage is RollStage.STALLED)
    world.edit(config=CONFIG)
    world.live(until=lambda: declared(world, node) != before)
    template = declared(world, node)
    world.annotate(paused="true")
    world.edit(config=broken)
    world.live(ticks=40)
    assert declared(world, node) == template
    world.annotations.clear()
    world.edit(config=broken)
    world.live(ticks=40)
    assert declared(world, node) == before


def test_a_status_that_somebody_empties_in_mid_roll_lets_no_second_node_go(world: RollWorld) -> None:
    world.edit(config=CONFIG)
    world.live(until=lambda: bool(world.absent))
    world.forget_status()
    rolled(world)
    assert world.violations == []
    assert set(world.evicted) == {*CONTROLLERS, *BROKERS}


def test_the_bound_of_a_start_is_the_specs(world: RollWorld) -> None:
    world.edit(config=CONFIG, rollout={"startBudget": "3m"})
    world.live(until=lambda: world.entry() is not None)
    entry = world.entry()
    assert entry is not None
    assert entry.budget_seconds == 180
    assert all(pod.spec_hash for pod in world.objects.pods[WAL].values())
