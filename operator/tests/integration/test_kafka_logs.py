"""What only real brokers can show of logs: requests on the wire, and segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import pytest

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.adapters.kafka.logs import ConfluentKafkaLogs
from seawall.domain.kafka import KafkaConnection, NewTopic
from seawall.domain.kafka_log import (
    AskedEpoch,
    Deleted,
    DeleteRefused,
    DeleteUnknown,
    LogOffsets,
    LogSizes,
    TopicFailure,
)
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from tests.support.counting_proxy import (
    DELETE_RECORDS,
    DESCRIBE_LOG_DIRS,
    LIST_OFFSETS,
    LOG_REQUESTS,
    METADATA,
    OFFSET_FOR_LEADER_EPOCH,
    CountingProxy,
)
from tests.support.records import VALUE, produce

pytestmark = pytest.mark.integration

MIB = 2**20
COUNTED = [f"counted_{i}" for i in range(300)]


@pytest.fixture(scope="module")
def broker() -> Iterator[tuple[CountingProxy, KafkaConnection]]:
    """One broker, all of whose clients come through the proxy.

    It looks for segments to remove all the time; Kafka's default is every 5 minutes.
    """
    intervals = ("log.retention.check.interval.ms", "log.initial.task.delay.ms", "log.segment.delete.delay.ms")
    with CountingProxy() as proxy:
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}"}
        with KafkaProcesses(1, properties={**advertised, **dict.fromkeys(intervals, "500")}) as kafka:
            proxy.target = kafka.ports[0].plaintext
            yield proxy, KafkaConnection((f"127.0.0.1:{proxy.port}",))


@pytest.fixture(scope="module")
def counted(broker: tuple[CountingProxy, KafkaConnection]) -> tuple[CountingProxy, KafkaConnection]:
    """The broker with 300 topics."""
    _, connection = broker
    make_topics(connection, COUNTED)
    produce(connection.bootstrap_servers, dict.fromkeys(COUNTED, 2))
    return broker


def make_topics(connection: KafkaConnection, names: list[str], configs: Mapping[str, str] | None = None) -> None:
    ConfluentKafkaAdmin(connection).create_topics([NewTopic(name, 1, configs or {}) for name in names])
    logs = ConfluentKafkaAdmin(connection).logs

    def led() -> bool:
        return all(isinstance(answer, LogOffsets) for answer in logs.describe_offsets(names).values())

    wait_until(led, "all topics are led")


Call = Callable[[ConfluentKafkaLogs, list[str]], Mapping[str, object]]

CALLS: dict[str, tuple[Call, dict[int, int]]] = {
    "describe_topics": (lambda logs, topics: logs.describe_topics(topics), {}),
    "describe_offsets": (lambda logs, topics: logs.describe_offsets(topics), {LIST_OFFSETS: 2}),
    "describe_epoch_ends": (
        lambda logs, topics: logs.describe_epoch_ends(dict.fromkeys(topics, AskedEpoch(0, 0))),
        {OFFSET_FOR_LEADER_EPOCH: 1},
    ),
    "describe_sizes": (lambda logs, topics: logs.describe_sizes(topics), {DESCRIBE_LOG_DIRS: 1}),
    "delete_records": (
        lambda logs, topics: logs.delete_records(dict.fromkeys(topics, 1)),
        {LIST_OFFSETS: 1, DELETE_RECORDS: 1},
    ),
}
"""Each call of the port, and the requests to a broker that it takes beside metadata and those of connecting."""
MOST_METADATA = 6
"""Clients ask for metadata when they connect, by themselves, and for the topics of a call."""


@pytest.mark.parametrize(("call", "requests"), CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("count", [3, 300])
def test_requests_do_not_grow_with_the_topics(
    counted: tuple[CountingProxy, KafkaConnection], call: Call, requests: dict[int, int], count: int
) -> None:
    proxy, connection = counted
    before = Counter(proxy.requests)
    answers = call(ConfluentKafkaAdmin(connection).logs, COUNTED[:count])
    assert len(answers) == count
    assert not [
        answer for answer in answers.values() if isinstance(answer, TopicFailure | DeleteRefused | DeleteUnknown)
    ]
    made = Counter(proxy.requests) - before
    assert {key: made[key] for key in LOG_REQUESTS if made[key]} == requests
    assert made[METADATA] <= MOST_METADATA


@pytest.fixture(scope="module")
def tidy(broker: tuple[CountingProxy, KafkaConnection]) -> tuple[ConfluentKafkaLogs, KafkaConnection]:
    """What asks the broker of its logs."""
    _, connection = broker
    return ConfluentKafkaAdmin(connection).logs, connection


def size_of(logs: ConfluentKafkaLogs, topic: str) -> int:
    sizes = logs.describe_sizes([topic])[topic]
    assert isinstance(sizes, LogSizes), sizes
    return sizes.by_broker[1]


def offsets_of(logs: ConfluentKafkaLogs, topic: str) -> LogOffsets:
    offsets = logs.describe_offsets([topic])[topic]
    assert isinstance(offsets, LogOffsets), offsets
    return offsets


def test_bytes_on_disk_go_with_closed_segments_not_with_records(
    tidy: tuple[ConfluentKafkaLogs, KafkaConnection],
) -> None:
    logs, connection = tidy
    make_topics(connection, ["segments"], {"segment.bytes": str(MIB), "retention.ms": "-1"})
    records = 5 * MIB // len(VALUE)
    produce(connection.bootstrap_servers, {"segments": records})
    assert size_of(logs, "segments") > 5 * MIB
    assert logs.delete_records({"segments": records}) == {"segments": Deleted(records)}
    wait_until(lambda: size_of(logs, "segments") < 2 * MIB, "closed segments are removed")
    assert offsets_of(logs, "segments") == LogOffsets(records, records, 0)
    assert size_of(logs, "segments") > 0


def test_a_log_start_that_retention_moved_is_seen(tidy: tuple[ConfluentKafkaLogs, KafkaConnection]) -> None:
    """Kafka's own retention is somebody else who deletes."""
    logs, connection = tidy
    make_topics(connection, ["retention"], {"segment.bytes": str(MIB), "retention.bytes": str(MIB)})
    produce(connection.bootstrap_servers, {"retention": 4 * MIB // len(VALUE)})
    wait_until(lambda: offsets_of(logs, "retention").log_start > 0, "the log start moves")
