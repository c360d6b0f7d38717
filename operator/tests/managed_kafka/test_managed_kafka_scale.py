"""A managed Kafka gets more brokers: nobody who is there is restarted, or told to be unwell, for it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import pytest

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, BrokerState, BrokerStatus, KafkaStatus
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.domain.managed_kafka import objects, properties
from seawall.domain.managed_kafka.node import nodes_of
from seawall.domain.managed_kafka.objects import ObjectKind
from tests.managed_kafka.test_kafka_roll import BROUGHT_UP as ROLLED
from tests.managed_kafka.test_managed_kafka_crash import identity
from tests.worlds.kafka_roll_world import RollWorld
from tests.worlds.managed_world import BROKERS, CHANGES, WAL, ManagedWorld, pool
from tests.worlds.purge_world import Calls

BROUGHT_UP = ManagedWorld().bring_up()


@pytest.fixture
def world() -> ManagedWorld:
    return copy.deepcopy(BROUGHT_UP)


def uids(world: ManagedWorld) -> dict[int, str]:
    return {node: pod.uid for node, pod in world.objects.pods[WAL].items()}


def sentence(world: ManagedWorld) -> str:
    found = world.condition()
    return "" if found is None else found[2]


def budget(world: ManagedWorld) -> int:
    found = world.objects.made[ObjectKind.BUDGET, Key(WAL.namespace, "wal-kafka-brokers")]
    return int(found.body["spec"]["minAvailable"])


def test_a_broker_more_joins_by_a_token_and_nobody_is_restarted_for_it(world: ManagedWorld) -> None:
    before = uids(world)
    world.scale(4)
    world.live(until=lambda: world.says("AllOnline") and 3 in world.kafka.brokers and not world.tokens())
    after = uids(world)
    assert {node: after[node] for node in before} == before
    assert after.keys() - before.keys() == {3}
    assert [node for node, _ in world.formatted].count(3) == 1
    assert identity(world).nodes[3].registered
    assert budget(world) == 3
    assert sentence(world) == "7 nodes are Online"


def test_a_pool_may_be_added_and_its_ids_are_its_own(world: ManagedWorld) -> None:
    world.scale(3, fast=2)
    world.live(until=lambda: world.says("AllOnline") and {200, 201} <= set(world.kafka.brokers))
    assert sorted(uids(world)) == [0, 1, 2, 100, 101, 102, 200, 201]
    assert budget(world) == 4


def test_who_joins_is_told_as_such_and_who_is_away_beside_it_is_not_hidden(world: ManagedWorld) -> None:
    world.held.add(3)
    world.scale(4)
    world.live()
    assert world.condition() == ("False", "ScalingUp", "node 3: it has no pod yet")
    world.held.add(1)
    world.kill(1)
    world.live()
    assert world.condition() == ("False", "NodesNotOnline", "node 1: it has no pod yet; node 3: it has no pod yet")
    world.held.clear()
    world.live()
    assert world.says("AllOnline")


def test_a_kafka_that_was_never_whole_is_brought_up_and_not_scaled() -> None:
    world = ManagedWorld()
    world.held.add(2)
    world.live()
    assert world.says("BringingUp")
    world.held.clear()
    world.bring_up()


def test_a_volume_that_is_refused_keeps_no_other_node_from_being_mended(world: ManagedWorld) -> None:
    world.objects.refuses["data-wal-3"] = "exceeded quota"
    world.scale(4)
    world.live(ticks=60)
    assert "exceeded quota" in sentence(world)
    assert budget(world) == 2, "a node that cannot begin keeps no other from being drained"
    service = Key(WAL.namespace, "wal-1")
    world.objects.remove(ObjectKind.SERVICE, service)
    world.live(ticks=60)
    assert (ObjectKind.SERVICE, service) in world.objects.made
    world.objects.refuses.clear()
    world.live(until=lambda: world.says("AllOnline") and 3 in world.kafka.brokers)


def test_the_budget_counts_a_node_before_it_is_there(world: ManagedWorld) -> None:
    """The world checks that after each change."""
    world.scale(4)
    calls = Calls(world.check, CHANGES)
    world.live(calls)
    assert calls.names.count("change_budget") == 1
    assert budget(world) == 3


def test_whoever_changes_whom_a_budget_counts_it_counts_the_nodes_again(world: ManagedWorld) -> None:
    place = (ObjectKind.BUDGET, Key(WAL.namespace, "wal-kafka-brokers"))
    made = world.objects.made[place]
    of_others = {**made.body["spec"], "selector": {"matchLabels": {"app": "another"}}}
    changed = replace(made, body={"spec": of_others})
    world.objects.change_budget(world.objects.meta[place], WAL.namespace, changed)
    calls = Calls(world.check, CHANGES)
    world.live(calls, ticks=20)
    assert world.objects.made[place].body["spec"] == made.body["spec"]
    assert calls.names.count("change_budget") == 1


@dataclass
class BothWorld(ManagedWorld):
    """Nodes with both roles vote."""

    def __post_init__(self) -> None:
        super().__post_init__()
        both = {**pool("both", "controller", 0, 3), "roles": ["controller", "broker"], "heap": "128Mi"}
        self.spec = {**self.spec, "kafka": {"managed": {**self.spec["kafka"]["managed"], "nodePools": [both]}}}
        self.kube.apply(WAL, self.spec)

    def has_quorum(self) -> bool:
        """Whether more than half of them run."""
        return len(self.running) > 1

    def hear_controllers(self) -> None:
        """The voters are the nodes."""
        moves = self.kafka.moves
        moves.controllers, moves.controllers_down = BROKERS, {*BROKERS} - self.running
        found = {node: disk.directory for node in BROKERS if (disk := self.disk_of(node)) and disk.directory}
        moves.directories.update(found)
        moves.unheard = {*BROKERS} - moves.directories.keys()


BOTH_UP = BothWorld().bring_up()
SCALED = "its StatefulSet has replicas 0, and not by Seawall: kubectl scale statefulset wal-2 --replicas=1 -n db"


@pytest.mark.parametrize("start", [BROUGHT_UP, BOTH_UP], ids=["separate", "both"])
def test_a_node_that_somebody_scales_to_0_stays_declared(start: ManagedWorld) -> None:
    world = copy.deepcopy(start)
    before, budgets = uids(world), {key.name: made.body for (_, key), made in world.objects.made.items()}
    world.scale_set(2)
    world.live(ticks=100)
    assert world.condition() == ("False", "NodesNotOnline", f"node 2: {SCALED} brings it back")
    assert uids(world) == {node: uid for node, uid in before.items() if node != 2}, "no other is made, or goes"
    assert {key.name: made.body for (_, key), made in world.objects.made.items()}.keys() == budgets.keys()
    assert budget(world) == 2, "no other one may be evicted"
    world.scale_back()
    world.live()
    assert world.says("AllOnline")
    assert budget(world) == 2
    assert [node.id for node in world.nodes] == sorted(before)


def test_what_is_wrong_with_its_volume_is_told_beside_it(world: ManagedWorld) -> None:
    world.scale_set(2)
    world.lose_volume(2)
    world.live(ticks=20)
    found = sentence(world)
    assert "its volume data-wal-2 is gone" in found
    assert SCALED in found


LACKS = "node 200 of this Kafka is not declared, and what is on its volume may be needed"


def test_a_walcluster_that_is_made_again_without_a_pool_says_whom_it_lacks(world: ManagedWorld) -> None:
    world.scale(3, fast=1)
    world.live()
    world.scale(3)
    world.delete_and_apply()
    world.live()
    assert world.condition() == (
        "False",
        "NodesNotDeclared",
        f"{LACKS}: give its pool as many replicas as it had",
    )
    assert (ObjectKind.VOLUME, Key(WAL.namespace, "data-wal-200")) in world.objects.made
    formatted = len(world.formatted)
    world.scale(3, fast=1)
    world.live()
    assert world.says("AllOnline")
    assert len(world.formatted) == formatted, "it goes on with what it had"


def test_a_pool_that_is_not_declared_is_known_by_its_volumes_when_the_identity_is_lost(world: ManagedWorld) -> None:
    world.scale(3, fast=1)
    world.live()
    world.scale(3)
    world.delete_and_apply()
    world.lose_record("wal-kafka-identity")
    world.live()
    assert world.condition() == ("False", "NodesNotDeclared", f"{LACKS}: give its pool as many replicas as it had")
    assert identity(world).nodes[200].registered


def broker(number: int, replicas: int, state: BrokerState = BrokerState.ONLINE) -> BrokerStatus:
    return BrokerStatus(
        id=number, state=state, leaders=0, replicas=replicas, under_replicated=0, under_min_in_sync_replicas=0
    )


HAS_NONE = (
    "6 nodes are Online; broker 2 has no replica: set seawall.dev/rebalance to a new value to have the load evened out"
)


@pytest.mark.parametrize(
    ("items", "reassignment", "told"),
    [
        ([broker(0, 2), broker(1, 2), broker(2, 0)], {}, HAS_NONE),
        ([broker(0, 2), broker(1, 2), broker(2, 1)], {}, "6 nodes are Online"),
        ([broker(0, 1), broker(1, 1), broker(2, 0)], {}, "6 nodes are Online"),
        ([broker(0, 2), broker(1, 2), broker(2, 0, BrokerState.FENCED)], {}, "6 nodes are Online"),
        ([broker(0, 2), broker(1, 2), broker(2, 0)], {"excludeBrokers": [2]}, "6 nodes are Online"),
        ([broker(0, 2), broker(1, 2), broker(2, 0)], {"rebalance": "OnExpansion"}, "6 nodes are Online"),
        (
            [broker(0, 4), broker(1, 0), broker(2, 0)],
            {},
            HAS_NONE.replace("broker 2 has", "brokers 1, 2 have"),
        ),
    ],
)
def test_what_a_person_can_do_about_a_broker_without_replicas_is_told_where_there_are_enough(
    world: ManagedWorld, items: list[BrokerStatus], reassignment: dict[str, Any], told: str
) -> None:
    world.spec = {**world.spec, "reassignment": reassignment}
    world.kube.apply(WAL, world.spec)
    found = world.kube.get(WALCluster, WAL)
    assert found is not None
    said = BrokersStatus(total=len(items), online=len(items), items=tuple(items))
    kafka = KafkaStatus(cluster_id=world.kafka.cluster_id, brokers=said)
    world.kube.replace_status(found, found.status.model_copy(update={"kafka": kafka}))
    world.live()
    assert world.condition() == ("True", "AllOnline", told)


def rolls_nothing(world: RollWorld) -> bool:
    before = uids(world)
    world.live()
    return {node: uid for node, uid in uids(world).items() if node in before} == before


def test_a_newer_seawall_asks_first_also_after_a_broker_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the spec said of a node is the same as before, so what changes is not the spec's doing."""
    world = copy.deepcopy(ROLLED)
    world.scale(4)
    world.rolls = False
    world.live(until=lambda: world.says("AllOnline") and 3 in world.kafka.brokers)
    world.rolls = True
    assert rolls_nothing(world)
    with monkeypatch.context() as patch:
        files = properties.config_files
        patch.setattr(objects, "config_files", lambda *of: {**files(*of), "jvm.options": "-XX:+Newer"})
        assert rolls_nothing(world)
        found = world.kube.get(WALCluster, WAL)
        assert found is not None
        assert found.status.managed_kafka is not None
        assert found.status.managed_kafka.awaiting_approval is not None


def test_brokers_that_new_topics_have_to_use_are_an_edit_of_all_nodes() -> None:
    """From one broker to three Kafka's own defaults change, and nodes read them when they begin."""
    two, three, four = ({node.id: objects.spec_hash(node) for node in nodes_of(WAL, brokers(n))} for n in (2, 3, 4))
    assert {node: four[node] for node in three} == three
    assert {node: three[node] for node in BROKERS[:2]} != {node: two[node] for node in BROKERS[:2]}


def brokers(count: int) -> ManagedKafka:
    """So many are declared."""
    world = ManagedWorld()
    world.spec = {**world.spec, "topics": {"count": 1, "replicationFactor": 1}}
    world.scale(count)
    found = world.kube.get(WALCluster, WAL)
    assert found is not None
    assert not isinstance(found.spec, InvalidSpec)
    assert found.spec.kafka.managed is not None
    return found.spec.kafka.managed
