"""Who reaches which port of a managed Kafka: a NetworkPolicy that is kept as it is declared, and restarts nobody."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.domain.decision import settle
from seawall.domain.errors import Conflict
from seawall.domain.managed_kafka.actions import ChangePolicy, RemovePolicy
from seawall.domain.managed_kafka.names import KAFKA_LABEL
from seawall.domain.managed_kafka.network import network_policy
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.step import Act
from tests.managed_kafka.test_managed_kafka_crash import gets_other_clients
from tests.worlds.managed_world import OPERATOR, POLICY, SPEC, WAL, ManagedWorld
from tests.worlds.secured_world import SECURED

BROUGHT_UP = ManagedWorld().bring_up()


@pytest.fixture
def world() -> ManagedWorld:
    return copy.deepcopy(BROUGHT_UP)


def uids(world: ManagedWorld) -> dict[int, str]:
    return {node: pod.uid for node, pod in world.objects.pods[WAL].items()}


def who_reaches(world: ManagedWorld) -> dict[int, list[dict[str, Any]]]:
    """By port."""
    spec = world.objects.made[POLICY].body["spec"]
    assert spec["podSelector"] == {"matchLabels": {KAFKA_LABEL: "wal"}}
    assert spec["policyTypes"] == ["Ingress"]
    return {each["port"]: rule["from"] for rule in spec["ingress"] for each in rule["ports"]}


NODES = {"podSelector": {"matchLabels": {KAFKA_LABEL: "wal"}}}
SPARK = {"podSelector": {"matchExpressions": [{"key": "spark-role", "operator": "Exists"}]}}
SEAWALL = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": OPERATOR}},
    "podSelector": {"matchLabels": {"app.kubernetes.io/component": "operator", "app.kubernetes.io/part-of": "seawall"}},
}


def test_controllers_are_reached_by_nodes_alone_brokers_also_by_seawall_and_clients_by_the_namespace(
    world: ManagedWorld,
) -> None:
    clients = [{"podSelector": {}}, SEAWALL, SPARK]  # this Kafka is insecure: nobody has a certificate for 9091
    assert who_reaches(world) == {9090: [NODES], 9091: [NODES, SEAWALL, SPARK], 9092: clients}
    assert world.objects.meta[POLICY].owner_uid == world.found().metadata.uid


@pytest.mark.parametrize("spec", [SPEC, SECURED])
def test_the_operator_and_its_jobs_reach_the_port_that_they_are_told(spec: dict[str, Any]) -> None:
    found = WALClusterSpec.model_validate(spec).kafka
    assert found.managed is not None
    ports = {int(server.rpartition(":")[2]) for server in found.access(WAL).bootstrap_servers}
    rules = network_policy(WAL, found.managed, OPERATOR).body["spec"]["ingress"]
    let_in = {rule["ports"][0]["port"] for rule in rules if SEAWALL in rule["from"] and SPARK in rule["from"]}
    assert ports <= let_in


def test_other_clients_are_let_in_by_an_edit_and_nobody_is_restarted_for_it(world: ManagedWorld) -> None:
    before = uids(world)
    labels = {"namespaceSelector": {"matchLabels": {"team": "orders"}}, "podSelector": {}}
    world.network(clientsFrom=[{**labels, "podSelector": {"matchLabels": {"app": "db"}}}, {"namespaceSelector": {}}])
    world.live()
    wanted = [{**labels, "podSelector": {"matchLabels": {"app": "db"}}}, {"namespaceSelector": {}}]
    assert who_reaches(world)[9092] == [*wanted, SEAWALL, SPARK]
    assert (world.condition(), uids(world)) == (("True", "AllOnline", "6 nodes are Online"), before)


def test_whoever_changes_it_it_says_what_is_declared_again(world: ManagedWorld) -> None:
    world.open_policy()
    assert not world.is_policy_as_declared()
    world.live()
    assert world.is_policy_as_declared()
    world.remove_policy()
    world.live()
    assert world.is_policy_as_declared()


def test_without_one_in_the_spec_it_goes_and_comes_back_with_the_next_edit(world: ManagedWorld) -> None:
    world.network(enabled=False)
    world.live()
    assert POLICY not in world.objects.made
    world.network(enabled=True)
    world.live()
    assert world.is_policy_as_declared()


SENTENCE = "NetworkPolicy wal-kafka exists and is not Seawall's: rename or remove it"


def test_no_node_begins_without_it() -> None:
    world = ManagedWorld()
    world.objects.foreign.add(POLICY)
    world.live(ticks=60)
    assert world.condition() == ("False", "ChangeRefused", SENTENCE)
    assert not [kind for kind, _ in world.objects.made if kind is ObjectKind.STATEFUL_SET]
    world.objects.foreign.clear()
    world.bring_up()
    assert world.is_policy_as_declared()


def test_no_node_of_one_that_is_applied_again_begins_without_it(world: ManagedWorld) -> None:
    world.delete_and_apply()
    world.objects.foreign.add(POLICY)
    world.live(ticks=60)
    assert world.condition() == ("False", "ChangeRefused", SENTENCE)
    assert not [kind for kind, _ in world.objects.made if kind is ObjectKind.STATEFUL_SET]
    world.objects.foreign.clear()
    world.live(until=lambda: world.says("AllOnline"))


def test_one_that_is_refused_keeps_no_node_from_being_mended_or_added(world: ManagedWorld) -> None:
    world.remove_policy()
    world.objects.foreign.add(POLICY)
    service = Key(WAL.namespace, "wal-1")
    world.objects.remove(ObjectKind.SERVICE, service)
    world.scale(4)
    world.live(ticks=120)
    assert (ObjectKind.SERVICE, service) in world.objects.made
    assert 3 in world.kafka.brokers
    assert world.condition() == ("False", "ChangeRefused", SENTENCE)
    world.objects.foreign.clear()
    world.live(until=lambda: world.says("AllOnline"))


def test_one_of_a_former_life_has_to_go_first(world: ManagedWorld) -> None:
    former = world.objects.made[POLICY]
    meta = world.objects.meta[POLICY]
    world.delete_and_apply()
    world.objects.made[POLICY], world.objects.meta[POLICY] = former, meta
    process = world.process()
    for _ in range(5):
        process.tick(WAL)
    assert world.condition() == (
        "False",
        "FormerLife",
        "NetworkPolicy wal-kafka is of an earlier WALCluster of this name: it has to go first",
    )
    world.live()
    assert world.says("AllOnline")


@pytest.mark.parametrize(
    ("edit", "kind"), [({"clientsFrom": [{"podSelector": {}}]}, ChangePolicy), ({"enabled": False}, RemovePolicy)]
)
def test_what_is_not_declared_any_more_is_not_done(edit: dict[str, Any], kind: type) -> None:
    world = copy.deepcopy(BROUGHT_UP)
    world.open_policy()
    world.network(**edit)
    controller = world.process().controller
    found = world.found()
    controller.record(found, decision(controller, found).publish(decision(controller, found).verdict).status)
    found = world.found()
    step = settle(found, decision(controller, found))
    assert isinstance(step, Act)
    (action,) = step.actions
    assert isinstance(action, kind)
    gets_other_clients(world)
    with pytest.raises(Conflict):
        controller.perform(found, action)


def decision(controller: Any, found: Any) -> Any:
    return controller.decide(found, controller.observe(found))
