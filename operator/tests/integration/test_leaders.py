"""Leaders after the restart of a broker whose Kafka elects nobody by itself, as kafka-topics prints them."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.integration.conftest import NewOperator
from tests.support.site import Site, condition

pytestmark = pytest.mark.integration

BOUND = 120.0
LINE = re.compile(r"Topic: \S+\s+Partition: 0\s+Leader: (\d+)\s+Replicas: (\d+)")


def leads(site: Site) -> tuple[list[int], list[int]]:
    """How many topics the brokers 1 to 3 lead, and how many they should."""
    reported = site.kafka.tool("org.apache.kafka.tools.TopicCommand", "--describe", "--topic", f"{site.prefix}_.*")
    pairs = [match.groups() for match in LINE.finditer(reported)]
    lead, should = Counter(leader for leader, _ in pairs), Counter(preferred for _, preferred in pairs)
    return [lead[broker] for broker in "123"], [should[broker] for broker in "123"]


def test_leaders_that_stay_away_after_a_restart_are_told_and_come_back_on_request(
    own_site: Site, new_operator: NewOperator
) -> None:
    site = own_site
    new_operator().start()
    site.declare(topics={"count": 6, "replicationFactor": 3})
    site.wait_ready()
    site.wait_brokers_told()
    assert leads(site) == ([2, 2, 2], [2, 2, 2])
    site.kafka.stop(1)
    site.kafka.start(1)

    def says_so() -> bool:
        said = condition(site.read(), "ReplicationHealthy")
        return said["status"] == "True" and "a new value of seawall.dev/rebalance" in said["message"]

    site.wait(says_so, "it is told", within=BOUND)
    lead, should = leads(site)
    assert (lead[1], sum(lead), should) == (0, 6, [2, 2, 2])
    site.annotate(rebalance="after the restart of broker 2")
    site.wait(
        lambda: site.read()["status"].get("reassignment", {}).get("rebalancedFor") == "after the restart of broker 2",
        "it is answered",
        within=BOUND,
    )
    assert leads(site) == ([2, 2, 2], [2, 2, 2])
    assert site.read()["status"]["reassignment"].get("stage") is None, "nothing was moved for it"
