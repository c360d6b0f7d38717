"""A broker gets its share on real brokers while a database writes, as `seawall plan` said before."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from seawall_e2e.load import Load
from seawall_e2e.waiting import wait_until
from tests.integration.conftest import NewOperator
from tests.support.records import produce
from tests.support.site import Site

# In every run, test_reassignment.py moves replicas under a load; what is planned is asked of the planner alone.
pytestmark = [pytest.mark.integration, pytest.mark.soak]

COUNT = 6
RECORDS = 200
BOUND = 120.0


def reassigns(site: Site, **fields: object) -> None:
    """Somebody edits spec.reassignment."""
    site.kube.merge(site.path(), {"spec": {"reassignment": fields}})


def replicas(site: Site) -> dict[str, list[int]]:
    """The replicas of the pool."""
    return {name: topic.partitions[0].replicas for name, topic in site.eyes.topics(site.prefix).items()}


def loads(site: Site) -> list[int]:
    """Replicas of the pool by broker."""
    found = Counter(broker for listed in replicas(site).values() for broker in listed)
    return [found[broker] for broker in (1, 2, 3)]


def test_a_broker_that_comes_back_empty_gets_its_share_under_load(own_site: Site, new_operator: NewOperator) -> None:
    site, its_operator = own_site, new_operator()
    its_operator.start()
    site.declare(topics={"count": COUNT, "replicationFactor": 2})
    site.wait_ready(within=BOUND)
    reassigns(site, excludeBrokers=[3])
    site.wait(lambda: sum(loads(site)) == 2 * COUNT and loads(site)[2] == 0, "broker 3 is drained", within=BOUND)
    site.wait_ready(within=BOUND)
    produce(site.kafka.bootstrap_servers, {site.topic(index): RECORDS for index in range(COUNT)})
    reassigns(site, approval="Manual", rebalance="OnExpansion", excludeBrokers=[])

    def run() -> dict[str, str]:
        found: dict[str, str] = site.read().get("status", {}).get("reassignment", {})
        return found

    site.wait(lambda: run().get("stage") == "AwaitingApproval", "a person is asked", within=BOUND)
    assert loads(site)[2] == 0
    page = f"/reassignment/{site.namespace}/wal"
    plan = json.loads(wait_until(lambda: its_operator.page(site.with_key(page)), "the operator tells its plan"))
    assert (plan["digest"], plan["copies"]) == (run()["digest"], 4)
    with Load(site.kafka.bootstrap_servers, [site.topic(index) for index in range(COUNT)]) as load:
        site.annotate(**{"approve-reassignment": plan["digest"]})
        site.wait(lambda: run().get("stage") == "Completed", "all is moved", within=BOUND)
    assert load.failed == []
    assert load.missing() == {}
    site.becomes(lambda: loads(site), [4, 4, 4])
    moved = {move["topic"]: move["wanted"] for move in plan["moves"]}
    site.becomes(lambda: {topic: found for topic, found in replicas(site).items() if topic in moved}, moved)
    site.becomes(lambda: Counter(found[0] for found in replicas(site).values()), {1: 2, 2: 2, 3: 2})
