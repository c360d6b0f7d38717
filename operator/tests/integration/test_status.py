"""The status, as people, kubectl and monitoring read it."""

from __future__ import annotations

import pytest

from tests.integration.conftest import NewOperator
from tests.support.kube import Object
from tests.support.site import OF_BROKERS, Site, condition

pytestmark = pytest.mark.integration

KINDS = {"Ready", "Reconciling", "Stalled", "KafkaReachable", "TopicsReady", *OF_BROKERS}


def settled(site: Site) -> Object:
    """The object once there is nothing more to tell."""
    site.wait_ready()
    site.wait_brokers_told()
    site.operator.wait_for_idle_ticks()
    return site.read()


def test_it_is_written_only_when_it_changed(site: Site) -> None:
    site.declare(config_map="wal")
    before = settled(site)
    site.operator.wait_for_idle_ticks(4)
    assert site.read() == before


def test_all_conditions_are_there_also_the_false_ones(site: Site) -> None:
    site.declare()
    found = settled(site)
    statuses = {at["type"]: at["status"] for at in found["status"]["conditions"]}
    assert statuses == dict.fromkeys(KINDS, "True") | {"Reconciling": "False", "Stalled": "False"}
    site.edit(replicationFactor=7)
    site.wait_stalled("ReplicationFactorTooHigh")
    statuses = {at["type"]: at["status"] for at in site.read()["status"]["conditions"]}
    assert statuses["Ready"] == statuses["Reconciling"] == "False"
    assert set(statuses) == KINDS


def test_the_observed_generation_follows_every_edit(site: Site) -> None:
    site.declare()
    site.wait_ready()
    for count in (3, 4):
        generation = site.edit(count=count)["metadata"]["generation"]
        assert site.wait_ready()["status"]["observedGeneration"] == generation
        settled(site)
        assert {at["observedGeneration"] for at in site.read()["status"]["conditions"]} == {generation}


def test_a_transition_time_moves_only_with_the_status(site: Site) -> None:
    site.declare()
    before = condition(site.wait_ready(), "KafkaReachable")["lastTransitionTime"]
    site.edit(count=3)
    assert condition(site.wait_ready(), "KafkaReachable")["lastTransitionTime"] == before


def test_kubectl_wait_works(site: Site) -> None:
    site.declare()
    kubectl, where = site.kube.server.kubectl, ("walc/wal", "-n", site.namespace, "--timeout=60s")
    assert "condition met" in kubectl("wait", "--for=condition=Ready", *where, timeout=70)
    assert "condition met" in kubectl("wait", "--for=condition=Stalled=false", *where, timeout=70)


def test_kubectl_describe_tells_what_happened(site: Site) -> None:
    site.declare()
    site.wait_ready()
    site.wait(lambda: bool(site.events("Ready")), "the event is posted")
    described = site.kube.server.kubectl("describe", "walc", "wal", "-n", site.namespace)
    assert f"Created 2 topics ({site.topic(0)}, {site.topic(1)})" in described
    assert "2 topics are ready" in described


def test_nothing_but_the_status_is_written_to_the_object(site: Site) -> None:
    before = site.declare()
    after = site.wait_ready()
    assert after["spec"] == before["spec"]
    volatile = {"resourceVersion", "managedFields"}
    kept = [{key: value for key, value in at["metadata"].items() if key not in volatile} for at in (before, after)]
    assert kept[0] == kept[1]


def test_a_paused_wal_cluster_is_observed_and_not_repaired(site: Site) -> None:
    site.declare()
    site.wait_ready()
    site.annotate(paused="true")
    site.eyes.alter(site.topic(0), {"segment.bytes": "1048576"})
    found = site.wait_for("Ready", "False", "Paused")
    assert found["status"]["topics"]["drifted"] == 1
    assert condition(found, "Stalled")["status"] == "False"
    site.edit(count=4)
    site.wait_for("Ready", "False", "Paused")
    site.operator.wait_for_idle_ticks()
    assert site.eyes.config(site.topic(0))["segment.bytes"] == "1048576"
    assert len(site.eyes.topics(site.prefix)) == 2
    site.annotate(paused=None)
    site.wait_ready()
    site.becomes(lambda: len(site.eyes.topics(site.prefix)), 4)
    site.becomes(lambda: site.eyes.config(site.topic(0))["segment.bytes"], "67108864")


def test_a_wal_cluster_that_is_made_paused_creates_nothing(site: Site) -> None:
    site.declare(annotations={"seawall.dev/paused": "true"}, config_map="wal")
    site.wait_for("Ready", "False", "Paused")
    site.operator.wait_for_idle_ticks()
    assert not site.eyes.topics(site.prefix)
    assert site.kube.find(site.core("configmaps", "wal")) is None


def test_metrics_tell_of_the_topics_and_go_with_the_object(site: Site) -> None:
    site.declare(topics={"count": 3})
    site.wait_ready()

    def series(state: str) -> str:
        return f'seawall_topics{{name="wal",namespace="{site.namespace}",state="{state}"}}'

    assert site.operator.metric(series("Ready")) == 3
    assert site.operator.metric(series("Foreign")) == site.operator.metric(series("Missing")) == 0
    assert site.operator.metric("seawall_leader") == 1
    assert (
        site.operator.metric('seawall_reconcile_duration_seconds_count{kind="WALCluster",outcome="acted"}') or 0
    ) > 0
    assert "seawall_reconcile_in_progress_start_time_seconds" in site.operator.metrics()
    assert "seawall_topic_state{" not in site.operator.metrics()
    about = f'kind="WALCluster",name="wal",namespace="{site.namespace}",reason="Ready",status="True",type="Ready"'
    assert site.operator.metric(f"seawall_object_condition{{{about}}}") == 1
    site.delete()
    site.wait(lambda: site.namespace not in site.operator.metrics(), "its series are gone")


def test_a_series_for_each_topic_is_published_on_demand(own_site: Site, new_operator: NewOperator) -> None:
    operator = new_operator(topic_metrics=True)
    operator.start()
    own_site.declare()
    own_site.wait_ready()
    labels = f'name="wal",namespace="{own_site.namespace}",state="Ready",topic="{own_site.topic(1)}"'
    own_site.wait(lambda: operator.metric(f"seawall_topic_state{{{labels}}}") == 1, "the topic has its series")
