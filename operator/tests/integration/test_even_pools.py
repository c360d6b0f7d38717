"""Topics are made evenly over four real brokers in two racks, as kafka-topics prints them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from seawall_e2e.loopback import ApiServer, KafkaProcesses
from tests.integration.conftest import NewOperator, corner_of_its_own, operators_of
from tests.support.site import Site

pytestmark = pytest.mark.integration

RACKS = ("a", "a", "b", "b")
COUNT, MORE = 16, 22
BOUND = 120.0
LINE = re.compile(r"Topic: (\S+)\s+Partition: 0\s+Leader: (\d+)\s+Replicas: ([\d,]+)")


@dataclass(frozen=True)
class Even:
    """What kafka-topics says of a pool."""

    leaders: Mapping[str, int]
    replicas: Mapping[str, tuple[int, ...]]

    def spreads(self) -> tuple[int, int]:
        """The most less the fewest that a broker has: of leaders, and of replicas."""
        leaders, replicas = Counter(self.leaders.values()), self.loads()
        return (
            max(leaders[broker] for broker in (1, 2, 3, 4)) - min(leaders[broker] for broker in (1, 2, 3, 4)),
            max(replicas.values()) - min(replicas.values()),
        )

    def loads(self) -> dict[int, int]:
        """Replicas by broker."""
        found = Counter(broker for on in self.replicas.values() for broker in on)
        return {broker: found[broker] for broker in (1, 2, 3, 4)}


@pytest.fixture(scope="module")
def four_brokers(beds: str) -> Iterator[KafkaProcesses]:
    """Two racks of two brokers."""
    with KafkaProcesses(brokers=4, racks=RACKS) as processes:
        yield processes


@pytest.fixture
def site(api_server: ApiServer, four_brokers: KafkaProcesses) -> Iterator[Site]:
    with corner_of_its_own(api_server, four_brokers) as corner:
        yield corner


@pytest.fixture
def new_operator(site: Site) -> Iterator[NewOperator]:
    with operators_of(site) as new:
        yield new


def kafka_says(site: Site) -> Even:
    """Leaders and replicas, by Kafka's own tool."""
    reported = site.kafka.tool("org.apache.kafka.tools.TopicCommand", "--describe", "--topic", f"{site.prefix}_.*")
    found = [match.groups() for match in LINE.finditer(reported)]
    return Even(
        {topic: int(leader) for topic, leader, _ in found},
        {topic: tuple(int(broker) for broker in on.split(",")) for topic, _, on in found},
    )


def test_a_fresh_pool_and_one_that_grows_are_even_in_leaders_and_replicas_with_no_move(
    site: Site, new_operator: NewOperator
) -> None:
    new_operator().start()
    site.declare(topics={"count": COUNT, "replicationFactor": 3})
    site.wait_ready(within=BOUND)
    fresh = kafka_says(site)
    assert len(fresh.replicas) == COUNT
    assert fresh.spreads() == (0, 0)
    assert all({RACKS[broker - 1] for broker in on} == {"a", "b"} for on in fresh.replicas.values())
    site.edit(count=MORE)
    site.wait_ready(within=BOUND)
    grown = kafka_says(site)
    assert len(grown.replicas) == MORE
    assert max(grown.spreads()) <= 1, grown.loads()
    assert fresh.replicas.items() <= grown.replicas.items(), "nothing has moved"
    assert site.read()["status"].get("reassignment") is None


# In every run: the same in memory (operator/tests/cluster/test_made_topics.py), and that Kafka shows who is down
# (test_kafka_connection.py).
@pytest.mark.soak
def test_a_broker_that_is_down_gets_no_topic_and_the_event_says_so(site: Site, new_operator: NewOperator) -> None:
    new_operator().start()
    site.kafka.stop(3)
    try:
        site.declare(topics={"count": 6, "replicationFactor": 2})
        site.wait_ready(within=BOUND)
        said = site.wait_event("TopicsCreated")["message"]
        assert said.endswith("; none is on broker 4, which is not online")
        assert kafka_says(site).loads() == {1: 3, 2: 3, 3: 6, 4: 0}, "the other broker of its rack has one of each"
    finally:
        site.kafka.start(3)
