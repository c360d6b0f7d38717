"""The KafkaObjects port: the same promises from the real API server and from the fake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.kafka_node_pools import NodeStorage
from seawall.api.v1alpha1.managed_network import LabelSelector, NetworkPeer
from seawall.domain.errors import Conflict, Refused
from seawall.domain.managed_kafka.found import FoundObject, FoundPod, InSync, Record, VolumeSize
from seawall.domain.managed_kafka.names import (
    CERTIFICATE_ANNOTATION,
    MANAGED_ID_ANNOTATION,
    TAKEN_OUT_ANNOTATION,
    TEMPLATE_HASH_ANNOTATION,
    format_name,
    identity_name,
)
from seawall.domain.managed_kafka.network import network_policy
from seawall.domain.managed_kafka.node import cluster_labels
from seawall.domain.managed_kafka.objects import (
    Manifest,
    ObjectKind,
    budgets,
    node_objects,
    spec_digest,
    template_hash,
    volume,
)
from seawall_e2e.loopback import ApiServer
from tests.contract.kube_beds import Bed, FakeBed
from tests.contract.managed_kafka_beds import NAME, ManagedBed, bed_of, nodes
from tests.support.clock import START
from tests.support.kube import KubeClient

pytestmark = pytest.mark.xdist_group("api-server")

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
IMAGE = "apache/kafka:4.3.1"
GI = 2**30


@pytest.fixture
def managed(bed: Bed, request: pytest.FixtureRequest) -> ManagedBed:
    """A WALCluster in a namespace of its own."""
    if isinstance(bed, FakeBed):
        return bed_of(bed, None)
    server: ApiServer = request.getfixturevalue("api_server")
    return bed_of(bed, KubeClient(server))


def all_manifests(managed: ManagedBed) -> list[Manifest]:
    owner = managed.owner()
    made = [volume(node, CLUSTER_ID) for node in nodes(owner)]
    for node in nodes(owner):
        made.extend(node_objects(node, CLUSTER_ID))
    return [*made, *budgets(owner.metadata.key, nodes(owner)), policy(managed)]


def policy(managed: ManagedBed, *clients: NetworkPeer) -> Manifest:
    owner = managed.owner()
    kafka = nodes(owner)[0].kafka
    declared = kafka.network_policy.model_copy(update={"clients_from": clients})
    return network_policy(owner.metadata.key, kafka.model_copy(update={"network_policy": declared}), "seawall")


def test_where_nothing_was_made_nothing_is_found(managed: ManagedBed) -> None:
    found = managed.objects.find(managed.owner().metadata.key)
    assert (dict(found.objects), dict(found.pods), found.identity, found.tokens) == ({}, {}, None, None)


def test_all_that_six_nodes_are_made_of_is_taken_and_found_again(managed: ManagedBed) -> None:
    owner, manifests = managed.owner(), all_manifests(managed)
    for manifest in manifests:
        managed.objects.create(owner, manifest)
    found = managed.objects.find(owner.metadata.key).objects
    assert set(found) == {(each.kind, each.name) for each in manifests}
    owners = {kind: {each.owner_uid for each in found.values() if each.kind is kind} for kind in ObjectKind}
    assert owners == {kind: {None if kind is ObjectKind.VOLUME else owner.metadata.uid} for kind in ObjectKind}, (
        "volumes outlive the WALCluster, and nothing else does"
    )
    node = nodes(owner)[0]
    assert found[ObjectKind.VOLUME, node.volume].annotations[MANAGED_ID_ANNOTATION] == CLUSTER_ID
    assert found[ObjectKind.STATEFUL_SET, node.name].annotations[TEMPLATE_HASH_ANNOTATION] == template_hash(
        node, CLUSTER_ID
    )
    assert found[ObjectKind.SERVICE, node.name].node == node.id
    assert len({each.uid for each in found.values()}) == len(manifests)
    assert all(each.created is not None for each in found.values())


def test_what_is_there_is_not_made_twice(managed: ManagedBed) -> None:
    owner, manifest = managed.owner(), all_manifests(managed)[0]
    managed.objects.create(owner, manifest)
    with pytest.raises(Conflict):
        managed.objects.create(owner, manifest)


def test_a_name_that_another_object_has_is_refused_in_one_sentence(managed: ManagedBed) -> None:
    owner = managed.owner()
    (manifest,) = (each for each in node_objects(nodes(owner)[0], CLUSTER_ID) if each.kind is ObjectKind.SERVICE)
    managed.put_foreign_service(manifest.name)
    with pytest.raises(Refused, match=f"Service {manifest.name} exists and is not Seawall's"):
        managed.objects.create(owner, manifest)
    assert not managed.objects.find(owner.metadata.key).objects


def test_a_template_is_replaced_whole_at_the_version_that_was_read_and_nothing_else_is(managed: ManagedBed) -> None:
    owner = managed.owner()
    node = nodes(owner)[0]
    *_, made = node_objects(node, CLUSTER_ID)
    managed.objects.create(owner, made)
    place = (ObjectKind.STATEFUL_SET, node.name)
    before = managed.objects.find(owner.metadata.key).objects[place]
    *_, wanted = node_objects(
        replace(node, kafka=node.kafka.model_copy(update={"image": "another:1"})), CLUSTER_ID, "{}"
    )
    managed.objects.renew_template(before, owner.metadata.namespace, wanted)
    after = managed.objects.find(owner.metadata.key).objects[place]
    assert after.annotations[TEMPLATE_HASH_ANNOTATION] != before.annotations[TEMPLATE_HASH_ANNOTATION]
    assert after.annotations[CERTIFICATE_ANNOTATION] == "{}"
    assert (after.uid, after.owner_uid, after.node) == (before.uid, before.owner_uid, before.node)
    with pytest.raises(Conflict):
        managed.objects.renew_template(before, owner.metadata.namespace, made)
    managed.objects.renew_template(after, owner.metadata.namespace, made)
    back = managed.objects.find(owner.metadata.key).objects[place]
    assert back.annotations[TEMPLATE_HASH_ANNOTATION] == before.annotations[TEMPLATE_HASH_ANNOTATION]


def test_a_budget_gets_its_number_at_the_version_that_was_read(managed: ManagedBed) -> None:
    owner = managed.owner()
    fewer, wanted = (next(budgets(owner.metadata.key, nodes(owner)[:count])) for count in (1, 3))
    managed.objects.create(owner, fewer)
    place = (ObjectKind.BUDGET, fewer.name)
    before = managed.objects.find(owner.metadata.key).objects[place]
    managed.objects.change_budget(before, owner.metadata.namespace, wanted)
    after = managed.objects.find(owner.metadata.key).objects[place]
    assert before.spec_digest == spec_digest(fewer.body["spec"]), "nothing is filled in by the API server"
    assert after.spec_digest == spec_digest(wanted.body["spec"]) != before.spec_digest
    assert (after.uid, after.owner_uid) == (before.uid, before.owner_uid)
    with pytest.raises(Conflict):
        managed.objects.change_budget(before, owner.metadata.namespace, fewer)
    assert managed.objects.find(owner.metadata.key).objects[place] == after
    of_others = {**wanted.body["spec"], "selector": {"matchLabels": {"app": "another"}}}
    managed.objects.change_budget(after, owner.metadata.namespace, replace(wanted, body={"spec": of_others}))
    elsewhere = managed.objects.find(owner.metadata.key).objects[place]
    assert elsewhere.spec_digest == spec_digest(of_others)


def claim_of(managed: ManagedBed, *, may_grow: bool, is_bound: bool = True) -> FoundObject:
    """The claim of node 0, 1Gi of a class that lets volumes grow, or does not."""
    owner = managed.owner()
    node = nodes(owner)[0]
    storage = NodeStorage(size=GI, class_name=managed.storage_class(may_grow=may_grow))
    manifest = volume(replace(node, pool=node.pool.model_copy(update={"storage": storage})), CLUSTER_ID)
    managed.objects.create(owner, manifest)
    if is_bound:
        managed.bind(manifest.name)
    return managed.objects.find(owner.metadata.key).objects[ObjectKind.VOLUME, manifest.name]


def test_a_claim_asks_for_more_at_the_version_that_was_read_and_nothing_else_of_it_changes(managed: ManagedBed) -> None:
    owner, before = managed.owner(), claim_of(managed, may_grow=True)
    assert before.size == VolumeSize(GI, GI)
    managed.objects.grow(before, owner.metadata.namespace, 3 * GI)
    after = managed.objects.find(owner.metadata.key).objects[ObjectKind.VOLUME, before.name]
    assert after.size == VolumeSize(3 * GI, GI), "the driver has not done it yet"
    assert replace(after, version="", size=None) == replace(before, version="", size=None)
    with pytest.raises(Conflict):
        managed.objects.grow(before, owner.metadata.namespace, 4 * GI)


def test_another_claim_of_the_same_name_does_not_grow(managed: ManagedBed) -> None:
    owner, before = managed.owner(), claim_of(managed, may_grow=True)
    managed.objects.delete(before, owner.metadata.namespace)
    managed.forget(before.name)
    with pytest.raises(Conflict):
        managed.objects.grow(before, owner.metadata.namespace, 3 * GI)
    now = claim_of(managed, may_grow=True)
    with pytest.raises(Conflict):
        managed.objects.grow(before, owner.metadata.namespace, 3 * GI)
    assert managed.objects.find(owner.metadata.key).objects[ObjectKind.VOLUME, now.name] == now


@pytest.mark.parametrize(("may_grow", "is_bound"), [(False, True), (True, False)])
def test_what_the_class_does_not_allow_is_refused_and_so_is_a_claim_without_a_volume(
    managed: ManagedBed, *, may_grow: bool, is_bound: bool
) -> None:
    owner, before = managed.owner(), claim_of(managed, may_grow=may_grow, is_bound=is_bound)
    assert (before.size or VolumeSize(0)).capacity == (GI if is_bound else None)
    with pytest.raises(Refused):
        managed.objects.grow(before, owner.metadata.namespace, 3 * GI)
    assert managed.objects.find(owner.metadata.key).objects[ObjectKind.VOLUME, before.name] == before


ORDERS = LabelSelector(match_labels={"team": "orders"})
PEERS = (
    NetworkPeer(namespace_selector=LabelSelector()),
    NetworkPeer(namespace_selector=ORDERS, pod_selector=ORDERS),
    NetworkPeer(pod_selector=LabelSelector()),
)


def test_a_policy_is_found_as_it_was_made_and_replaced_at_the_version_that_was_read(managed: ManagedBed) -> None:
    owner = managed.owner()
    narrow, wide = policy(managed), policy(managed, *PEERS)
    managed.objects.create(owner, narrow)
    place = (ObjectKind.NETWORK_POLICY, narrow.name)
    before = managed.objects.find(owner.metadata.key).objects[place]
    assert before.spec_digest == spec_digest(narrow.body["spec"]), "nothing is filled in by the API server"
    managed.objects.change_policy(before, owner.metadata.namespace, wide)
    after = managed.objects.find(owner.metadata.key).objects[place]
    assert after.spec_digest == spec_digest(wide.body["spec"]) != before.spec_digest
    assert (after.uid, after.owner_uid) == (before.uid, before.owner_uid)
    with pytest.raises(Conflict):
        managed.objects.change_policy(before, owner.metadata.namespace, narrow)
    with pytest.raises(Conflict):
        managed.objects.delete(before, owner.metadata.namespace)
    managed.objects.delete(after, owner.metadata.namespace)
    assert place not in managed.objects.find(owner.metadata.key).objects
    with pytest.raises(Conflict):
        managed.objects.change_policy(after, owner.metadata.namespace, narrow)


def test_a_policy_of_others_is_refused_in_one_sentence(managed: ManagedBed) -> None:
    manifest = policy(managed)
    managed.put_foreign_policy(manifest.name)
    with pytest.raises(Refused, match=f"NetworkPolicy {manifest.name} exists and is not Seawall's"):
        managed.objects.create(managed.owner(), manifest)


def test_a_statefulset_makes_no_pod_any_more_at_the_version_that_was_read(managed: ManagedBed) -> None:
    owner = managed.owner()
    *_, made = node_objects(nodes(owner)[0], CLUSTER_ID)
    managed.objects.create(owner, made)
    place = (ObjectKind.STATEFUL_SET, made.name)
    before = managed.objects.find(owner.metadata.key).objects[place]
    managed.objects.stop(before, owner.metadata.namespace)
    after = managed.objects.find(owner.metadata.key).objects[place]
    assert (before.replicas, after.replicas) == (1, 0)
    assert (before.is_taken_out, after.is_taken_out) == (False, True)
    mark = {TAKEN_OUT_ANNOTATION: f"{before.uid}@{before.generation + 1}"}
    assert (after.uid, after.annotations) == (before.uid, {**before.annotations, **mark})
    managed.objects.stop(after, owner.metadata.namespace)
    again = managed.objects.find(owner.metadata.key).objects[place]
    assert (again.is_taken_out, again.annotations) == (True, after.annotations), "nothing else became of it"
    with pytest.raises(Conflict):
        managed.objects.stop(before, owner.metadata.namespace)


def test_what_was_found_is_deleted_and_no_other_of_its_name(managed: ManagedBed) -> None:
    owner = managed.owner()
    *_, made = node_objects(nodes(owner)[0], CLUSTER_ID)
    namespace, place = owner.metadata.namespace, (ObjectKind.STATEFUL_SET, made.name)
    managed.objects.create(owner, made)
    first = managed.objects.find(owner.metadata.key).objects[place]
    managed.objects.stop(first, namespace)
    with pytest.raises(Conflict):
        managed.objects.delete(first, namespace)
    managed.objects.delete(managed.objects.find(owner.metadata.key).objects[place], namespace)
    assert place not in managed.objects.find(owner.metadata.key).objects
    managed.objects.delete(first, namespace)
    managed.objects.create(owner, made)
    managed.objects.delete(first, namespace)
    assert place in managed.objects.find(owner.metadata.key).objects


@pytest.mark.parametrize("which", [identity_name, format_name])
def test_a_record_is_made_once_and_replaced_only_at_the_version_that_was_read(
    managed: ManagedBed, which: Callable[[str], str]
) -> None:
    key = Key(managed.owner().metadata.namespace, which(NAME))
    labels = cluster_labels(NAME)
    managed.objects.write_record(key, labels, {"a": "1"}, None)
    with pytest.raises(Conflict):
        managed.objects.write_record(key, labels, {"a": "2"}, None)
    first = read(managed, which)
    managed.objects.write_record(key, labels, {"b": "3"}, first.version)
    second = read(managed, which)
    assert dict(second.data) == {"b": "3"}
    with pytest.raises(Conflict):
        managed.objects.write_record(key, labels, {"a": "4"}, first.version)
    managed.objects.write_record(key, labels, {}, second.version)
    emptied = read(managed, which)
    assert dict(emptied.data) == {}


def read(managed: ManagedBed, which: Callable[[str], str]) -> Record:
    found = managed.objects.find(managed.owner().metadata.key)
    record = found.identity if which is identity_name else found.tokens
    assert record is not None
    return record


@pytest.mark.parametrize(
    "pod",
    [
        FoundPod(0, "managed-0-0", "", is_ready=True, is_started=True),
        FoundPod(0, "managed-0-0", "", is_started=True),
        FoundPod(0, "managed-0-0", "", said="VolumeEmpty: nothing is on it"),
        FoundPod(0, "managed-0-0", "", is_ready=True, is_started=True, template="0a1b2c3d4e", spec_hash="4e3d2c1b0a"),
        FoundPod(0, "managed-0-0", "", is_ready=True, is_started=True, certificate='{"digest":"0a"}'),
        FoundPod(0, "managed-0-0", "", trouble="0/1 nodes are available: too small"),
        FoundPod(0, "managed-0-0", "", is_ready=True, is_started=True, container="test://1", is_gated=True),
    ],
    ids=["ready", "started", "empty", "told", "certified", "unscheduled", "gated"],
)
def test_how_a_pod_is(managed: ManagedBed, pod: FoundPod) -> None:
    wanted = managed.put_pod(pod, IMAGE)
    (found,) = managed.objects.find(managed.owner().metadata.key).pods.values()
    assert (found.node, found.name, found.uid) == (wanted.node, wanted.name, wanted.uid)
    assert (found.is_ready, found.is_started, found.said) == (pod.is_ready, pod.is_started, pod.said)
    assert found.has_empty_volume == bool(pod.said)
    assert pod.trouble in found.trouble
    assert (found.template, found.spec_hash, found.certificate) == (pod.template, pod.spec_hash, pod.certificate)
    assert (found.container, found.is_gated, found.in_sync) == (pod.container, pod.is_gated, None)


GATED = FoundPod(0, "managed-0-0", "", is_ready=True, is_started=True, container="test://1", is_gated=True)


def only_pod(managed: ManagedBed) -> FoundPod:
    (found,) = managed.objects.find(managed.owner().metadata.key).pods.values()
    return found


def test_a_gate_is_written_of_a_pod_as_it_was_read_and_nothing_else_of_it(managed: ManagedBed) -> None:
    managed.put_pod(GATED, IMAGE)
    namespace, before = managed.owner().metadata.namespace, only_pod(managed)
    for said in (InSync(True, "InSync", "is in sync"), InSync(False, "NotHeard", "is fenced")):
        pod = only_pod(managed)
        managed.pods.say_in_sync(namespace, pod, said, START)
        assert replace(only_pod(managed), version="") == replace(before, version="", in_sync=said)
        with pytest.raises(Conflict):  # it is not as it was read any more
            managed.pods.say_in_sync(namespace, pod, said, START)


def test_of_another_pod_with_its_name_no_gate_is_written(managed: ManagedBed) -> None:
    managed.put_pod(GATED, IMAGE)
    namespace, before = managed.owner().metadata.namespace, only_pod(managed)
    managed.put_pod(GATED, IMAGE)
    now = only_pod(managed)
    assert now.uid != before.uid
    with pytest.raises(Conflict):
        managed.pods.say_in_sync(namespace, before, InSync(True, "InSync", "is in sync"), START)
    assert only_pod(managed).in_sync is None
