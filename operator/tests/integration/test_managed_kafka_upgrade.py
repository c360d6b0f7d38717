"""An upgrade of a managed Kafka on real parts: processes of Kafka 4.2 and 4.3, a producer; there, back, and for good.

Only the kubelet, the StatefulSet controller and the disruption controller are the test's. In every run nodes are rolled
on pods (e2e/test_a_managed_kafka.py), and upgrades in memory (tests/managed_kafka/test_kafka_upgrade*.py).
"""

from __future__ import annotations

import re
import time

import pytest

from seawall.domain.brokers.view import ELIGIBLE_LEADER_REPLICAS, METADATA_VERSION
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import KafkaConnection
from seawall.domain.managed_kafka.releases import LEVELS
from seawall.observe.connections import kafka_of
from seawall_e2e.soak import write_counts
from tests.integration.test_managed_kafka_nodes import bed as bed  # noqa: PLC0414 - a fixture
from tests.integration.test_managed_kafka_roll import NODES, TOPIC, RollBed, Writer, read_all, require_unharmed, spec
from tests.integration.test_managed_kafka_roll import rolled as rolled  # noqa: PLC0414 - a fixture
from tests.support.kafka import kafka_tool
from tests.support.kube import Object
from tests.support.kubelet import OLDER_KAFKA

pytestmark = pytest.mark.integration

NEWER_KAFKA = "4.3.1"


def of_version(version: str) -> Object:
    """The spec of a roll, of this version."""
    found = spec("2")
    found["kafka"]["managed"]["version"] = version
    return found


@pytest.mark.parametrize("release", LEVELS)
def test_releases_know_the_levels_that_kafka_says(release: str) -> None:
    printed = kafka_tool("kafka.tools.StorageTool", "version-mapping", "--release-version", release)
    found = re.search(rf"{re.escape(METADATA_VERSION)}=(\d+) \({re.escape(release)}\)", printed)
    assert found is not None, printed
    assert int(found[1]) == LEVELS[release][METADATA_VERSION]
    others = {name: int(level) for name, level in re.findall(r"^([a-z.]+[.]version)=(\d+)\s*$", printed, re.MULTILINE)}
    assert others, printed
    assert {name for name, level in others.items() if level > LEVELS[release].get(name, 0)} == set(), printed


@pytest.mark.soak
def test_an_upgrade_goes_there_and_back_until_features_are_finalized(rolled: RollBed) -> None:
    bed = rolled.bed
    bed.declare(of_version(OLDER_KAFKA))
    rolled.wait(lambda: bed.says("AllOnline") and bed.tokens() == {}, "all nodes are Online")
    bed.make_topic(TOPIC, NODES, 2)
    rolled.is_sampled = True
    of_older, of_newer = (LEVELS[release][METADATA_VERSION] for release in ("4.2", "4.3"))
    rolled.wait(lambda: features(rolled).get(METADATA_VERSION) == of_older, "it is one of 4.2")
    began, servers = time.monotonic(), rolled.connection().bootstrap_servers
    with Writer(servers) as writer:
        for version, ends in ((NEWER_KAFKA, True), (OLDER_KAFKA, False), (NEWER_KAFKA, True)):
            before = newest(rolled)
            rolled.edit(of_version(version))
            rolled.wait(lambda before=before: all(newest(rolled)[n] != before[n] for n in NODES), "all are made anew")  # type: ignore[misc]
            rolled.wait(rolled.is_completed, f"all run {version}")
            assert ("version 4.2 can be gone back to until" in message(rolled)) == ends, message(rolled)
    seconds = time.monotonic() - began
    require_unharmed(rolled, writer, servers, f"{seconds:.0f} s for 9 restarts")
    command = ("--bootstrap-server", ",".join(servers), "upgrade", "--release-version", "4.3")
    kafka_tool("org.apache.kafka.tools.FeatureCommand", *command)
    rolled.wait(lambda: features(rolled).get(METADATA_VERSION) == of_newer, "brokers hear of it")
    assert features(rolled)[ELIGIBLE_LEADER_REPLICAS] == 1
    kept = newest(rolled)
    rolled.edit(of_version(OLDER_KAFKA))
    rolled.wait(lambda: bed.says("VersionTooOld"), "it is refused")
    rolled.wait(lambda: rolled.roll().reason == "VersionTooOld", "no node goes")
    assert "metadata.version is finalized at 30, which Kafka 4.3 knows" in message(rolled)
    assert newest(rolled) == kept
    rolled.edit(of_version(NEWER_KAFKA))
    rolled.wait(rolled.is_completed, "the edit is all it takes")
    assert newest(rolled) == kept
    lost = len(writer.acknowledged - read_all(servers))
    assert lost == 0
    write_counts(
        "managed-kafka-upgrade",
        {
            "versions": [OLDER_KAFKA, NEWER_KAFKA, OLDER_KAFKA, f"{NEWER_KAFKA}, finalized"],
            "nodes restarted under a load": 3 * len(NODES),
            "seconds of it": round(seconds),
            "most nodes away at once": rolled.most_away,
            "longest gap between acknowledgements in seconds": round(writer.longest, 1),
            "acked": len(writer.acknowledged),
            "failed": len(writer.failed),
            "lost": lost,
        },
    )


def newest(rolled: RollBed) -> dict[int, str]:
    """The UID of the pod of each node."""
    return {node: pod.uid for node, pod in rolled.bed.kubelet.pods.items()}


def features(rolled: RollBed) -> dict[str, int]:
    """What is finalized, as a broker says; nothing: none answers in time."""
    nodes = rolled.bed.controller
    connection = kafka_of(nodes.kube, rolled.bed.cluster())
    assert isinstance(connection, KafkaConnection)
    try:
        return dict(nodes.kafka_clusters.reassigner(rolled.bed.key, connection).features())
    except OutsideUnavailable:
        return {}


def message(rolled: RollBed) -> str:
    """Of KafkaNodesHealthy."""
    conditions = rolled.bed.cluster().status.conditions
    return next(each.message for each in conditions if each.type == "KafkaNodesHealthy")
