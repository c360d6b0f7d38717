"""The Workloads port: the same promises from the real API server and from the fake."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta

import pytest

from seawall.adapters.kube.api import KubeApi
from seawall.api.meta import Key
from seawall.domain.errors import Conflict, OutsideUnavailable
from seawall.domain.rollout.workload import (
    BudgetForbids,
    Evicted,
    NotThere,
    Pod,
    StatefulSet,
    Template,
    Termination,
    UpdateStrategy,
)
from seawall_e2e.loopback import ApiServer
from tests.contract.workload_beds import FORBIDDEN, FakeWorkloadBed, RealWorkloadBed, WorkloadBed
from tests.support.kube import KubeClient
from tests.support.patient import kube_api

pytestmark = pytest.mark.xdist_group("api-server")


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def bed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkloadBed]:
    """A namespace of its own."""
    if request.param == "fake":
        yield FakeWorkloadBed()
        return
    server: ApiServer = request.getfixturevalue("api_server")
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    client, namespace = KubeClient(server), f"datanodes-{uuid.uuid4().hex[:8]}"
    client.make_namespace(namespace)
    yield RealWorkloadBed(client, kube_api(2), namespace)


def read(bed: WorkloadBed) -> StatefulSet:
    found = bed.workloads.get(bed.key)
    assert found is not None
    return found


def pods(bed: WorkloadBed) -> tuple[Pod, ...]:
    return bed.workloads.pods(read(bed))


def make(bed: WorkloadBed) -> Pod:
    """A StatefulSet and one pod that serves."""
    bed.apply()
    bed.make_pod(0, "rev-1")
    bed.report(0, ready=True)
    (pod,) = pods(bed)
    return pod


def test_a_statefulset_that_is_not_there_is_none(bed: WorkloadBed) -> None:
    assert bed.workloads.get(Key(bed.key.namespace, "nobody")) is None


def test_a_statefulset_is_read_and_kubernetes_looks_at_it_a_moment_later(bed: WorkloadBed) -> None:
    bed.apply(template=Template(startup_seconds=300))
    found = read(bed)
    assert (found.replicas, found.strategy, found.partition) == (3, UpdateStrategy.ON_DELETE, 0)
    assert found.template == Template(startup_seconds=300)
    assert (found.observed, found.controller, found.first_ordinal) == (False, None, 0)
    bed.observe("rev-1")
    found = read(bed)
    assert (found.observed, found.update_revision) == (True, "rev-1")


def test_who_controls_a_statefulset_is_told(bed: WorkloadBed) -> None:
    bed.apply(controller="GreptimeDBCluster mine")
    assert read(bed).controller == "GreptimeDBCluster mine"


def test_its_pods_are_listed_by_their_place_and_no_others(bed: WorkloadBed) -> None:
    template = Template(config_hash="aaaa", restarted_at="2026-11-22T08:00:00Z")
    bed.apply(template=template)
    bed.make_pod(1, "rev-1")
    bed.make_pod(0, "rev-2", restart="now")
    bed.make_stranger()
    first, second = pods(bed)
    assert (first.name, first.ordinal, first.revision, first.restart) == ("datanode-0", 0, "rev-2", "now")
    assert (second.name, second.ordinal, second.revision, second.restart) == ("datanode-1", 1, "rev-1", None)
    assert (first.config_hash, first.restarted_at) == ("aaaa", "2026-11-22T08:00:00Z")
    assert (first.ready, first.address, first.restarts, first.last_termination) == (False, None, 0, None)
    assert read(bed).missing((first, second)) == ("datanode-2",)


def test_what_the_kubelet_says_of_a_pod_is_read(bed: WorkloadBed) -> None:
    bed.apply()
    bed.make_pod(0, "rev-1")
    last = Termination("Error", "MissingKey at offset 300", 137, timedelta(seconds=301))
    bed.report(0, ready=False, restarts=4, waiting="CrashLoopBackOff", last=last)
    (pod,) = pods(bed)
    assert (pod.ready, pod.address, pod.restarts, pod.waiting) == (False, "10.0.0.0", 4, "CrashLoopBackOff")
    assert pod.last_termination == last
    bed.report(0, ready=True)
    assert pods(bed)[0].ready


def test_a_pod_is_evicted_and_ends(bed: WorkloadBed) -> None:
    pod = make(bed)
    assert not pod.is_terminating
    assert bed.workloads.evict(pod) == Evicted()
    assert pods(bed)[0].is_terminating
    assert bed.workloads.evict(pod) == Evicted(), "a pod that ends already ends"
    assert pods(bed)[0].uid == pod.uid


def test_a_later_pod_of_the_same_name_is_not_touched(bed: WorkloadBed) -> None:
    before = make(bed)
    bed.make_pod(0, "rev-1")
    assert bed.workloads.evict(before) == NotThere()
    (pod,) = pods(bed)
    assert pod.uid != before.uid
    assert not pod.is_terminating


def test_a_pod_that_is_gone_is_not_there(bed: WorkloadBed) -> None:
    pod = make(bed)
    bed.remove_pod(0)
    assert bed.workloads.evict(pod) == NotThere()


def test_a_pod_is_there_whosesoever_it_is_until_it_is_gone(bed: WorkloadBed) -> None:
    key = make(bed).key
    bed.make_stranger()
    assert bed.workloads.has_pod(key)
    assert bed.workloads.has_pod(Key(key.namespace, "other-0"))
    bed.remove_pod(0)
    assert not bed.workloads.has_pod(key)


def test_a_budget_forbids_with_its_sentence_and_may_allow_later(bed: WorkloadBed) -> None:
    pod = make(bed)
    bed.budget(allows=False)
    answer = bed.workloads.evict(pod)
    assert isinstance(answer, BudgetForbids)
    assert FORBIDDEN in answer.message
    assert not pods(bed)[0].is_terminating
    bed.budget(allows=True)
    assert bed.workloads.evict(pod) == Evicted()


def test_a_partition_is_set_once_by_those_who_read_it(bed: WorkloadBed) -> None:
    bed.apply(strategy=UpdateStrategy.ROLLING_UPDATE, partition=3)
    before = read(bed)
    bed.workloads.set_partition(before, 2)
    assert (read(bed).strategy, read(bed).partition) == (UpdateStrategy.ROLLING_UPDATE, 2)
    with pytest.raises(Conflict):
        bed.workloads.set_partition(before, 1)
    assert read(bed).partition == 2


def test_a_configuration_is_written_with_the_partition_and_kubernetes_has_to_look_anew(bed: WorkloadBed) -> None:
    bed.apply(strategy=UpdateStrategy.ROLLING_UPDATE, template=Template("aaaa", "2026-11-22T08:00:00Z", 300))
    bed.observe("rev-1")
    before = read(bed)
    bed.workloads.set_config_hash(before, "bbbb", 3)
    found = read(bed)
    assert found.template == Template("bbbb", "2026-11-22T08:00:00Z", 300)
    assert (found.partition, found.observed, found.update_revision) == (3, False, "rev-1")
    with pytest.raises(Conflict):
        bed.workloads.set_config_hash(before, "cccc", None)


def test_a_configuration_alone_leaves_the_strategy_as_it_is(bed: WorkloadBed) -> None:
    bed.apply()
    bed.workloads.set_config_hash(read(bed), "bbbb", None)
    found = read(bed)
    assert (found.template.config_hash, found.strategy, found.partition) == ("bbbb", UpdateStrategy.ON_DELETE, 0)


@pytest.mark.integration
def test_a_pod_that_is_replaced_right_before_its_eviction_goes_and_no_later_one(
    api_server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The precondition is the fence. The API server tries it for ten seconds, and nobody waits for that."""
    monkeypatch.setenv("KUBECONFIG", str(api_server.kubeconfig))
    client, namespace = KubeClient(api_server), f"datanodes-{uuid.uuid4().hex[:8]}"
    client.make_namespace(namespace)
    api = kube_api(2)
    before = make(RealWorkloadBed(client, api, namespace))
    recorded = api.get(f"/api/v1/namespaces/{namespace}/pods/{before.name}")
    hasty = KubeApi(connections=2, request_seconds=1.0)
    bed = RealWorkloadBed(client, hasty, namespace)
    bed.make_pod(0, "rev-1")
    with monkeypatch.context() as patch:
        patch.setattr(hasty, "get", lambda _: recorded)  # it was read before it was replaced
        with pytest.raises((OutsideUnavailable, Conflict)):
            bed.workloads.evict(before)
    (pod,) = pods(bed)
    assert pod.uid != before.uid
    assert not pod.is_terminating
