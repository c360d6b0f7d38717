"""What becomes of topics when their WALCluster is deleted."""

from __future__ import annotations

import pytest

from tests.integration.conftest import NewOperator
from tests.support.site import FINALIZER, Site

pytestmark = pytest.mark.integration

DELETE = {"deletionPolicy": "Delete"}


def finalizers(site: Site) -> list[str]:
    found: list[str] = site.read()["metadata"].get("finalizers", [])
    return found


def test_with_retain_the_object_goes_and_the_topics_stay(site: Site) -> None:
    site.declare()
    site.wait_ready()
    assert finalizers(site) == []
    site.delete()
    assert not site.exists()
    site.becomes(lambda: len(site.eyes.topics(site.prefix)), 2)


def test_with_retain_the_object_goes_even_without_an_operator(own_site: Site, new_operator: NewOperator) -> None:
    operator = new_operator()
    operator.start()
    own_site.declare()
    own_site.wait_ready()
    operator.kill()
    own_site.delete()
    assert not own_site.exists()
    own_site.becomes(lambda: len(own_site.eyes.topics(own_site.prefix)), 2)


def test_with_delete_the_topics_go_first(site: Site) -> None:
    site.eyes.create(site.topic(5))
    site.declare(topics=DELETE)
    site.wait_ready()
    assert finalizers(site) == [FINALIZER]
    site.delete()
    site.wait_gone()
    # A foreign topic is not ours to delete.
    site.becomes(lambda: list(site.eyes.topics(site.prefix)), [site.topic(5)])
    # Told again by an operator that then asks a broker which has not heard of it.
    site.wait(lambda: bool(site.events("TopicsDeleted")), "it is told that topics were deleted")
    site.wait_event("FinalizerRemoved")


def test_with_delete_and_no_operator_the_object_waits_for_one(own_site: Site, new_operator: NewOperator) -> None:
    operator = new_operator()
    operator.start()
    own_site.declare(topics=DELETE)
    own_site.wait_ready()
    operator.kill()
    own_site.delete()
    assert own_site.exists()
    operator.start()
    own_site.wait_gone()
    own_site.becomes(lambda: own_site.eyes.topics(own_site.prefix), {})


def test_a_paused_object_is_released_and_its_topics_stay(site: Site) -> None:
    site.declare(topics=DELETE)
    site.wait_ready()
    site.annotate(paused="true")
    site.delete()
    site.wait_gone()
    site.becomes(lambda: len(site.eyes.topics(site.prefix)), 2)
    event = site.wait_event("FinalizerRemoved")
    assert event["type"] == "Warning"
    assert "seawall.dev/paused is set" in event["message"]


def test_retain_again_takes_the_finalizer_off(site: Site) -> None:
    site.declare(topics=DELETE)
    site.wait_ready()
    site.edit(deletionPolicy="Retain")
    site.wait_object(lambda found: not found["metadata"].get("finalizers"), "the finalizer is off")
    site.delete()
    assert not site.exists()
    site.becomes(lambda: len(site.eyes.topics(site.prefix)), 2)


def test_the_finalizers_of_others_stay(site: Site) -> None:
    site.declare(topics=DELETE)
    site.kube.merge(site.path(), {"metadata": {"finalizers": ["example.com/other", FINALIZER]}})
    site.wait_ready()
    site.delete()
    site.wait_object(lambda found: found["metadata"]["finalizers"] == ["example.com/other"], "only the other is left")
    site.becomes(lambda: site.eyes.topics(site.prefix), {})


def test_an_unreachable_kafka_is_waited_for(site: Site) -> None:
    site.declare(topics=DELETE)
    site.wait_ready()
    unreachable(site)
    site.delete()
    site.operator.wait_for_idle_ticks(1)
    assert finalizers(site) == [FINALIZER]
    servers = {"bootstrapServers": list(site.kafka.bootstrap_servers)}
    site.kube.merge(site.path(), {"spec": {"kafka": {"external": servers}}})
    site.wait_gone()
    site.becomes(lambda: site.eyes.topics(site.prefix), {})


def test_a_terminating_namespace_is_not_held(site: Site) -> None:
    site.declare(topics=DELETE)
    site.wait_ready()
    site.kube.delete(f"/api/v1/namespaces/{site.namespace}")
    site.delete()  # what the namespace controller does
    site.wait_gone()
    site.becomes(lambda: len(site.eyes.topics(site.prefix)), 2)


def unreachable(site: Site) -> None:
    site.kube.merge(site.path(), {"spec": {"kafka": {"external": {"bootstrapServers": ["127.0.0.1:1"]}}}})
    site.wait_for("KafkaReachable", "False", "KafkaUnreachable")
