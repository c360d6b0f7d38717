"""Replicas move on real brokers while a database writes; Kafka's own tools say where they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from seawall_e2e.load import Load
from tests.integration.conftest import NewOperator
from tests.support.records import produce
from tests.support.site import Site

pytestmark = pytest.mark.integration

COUNT = 4
RECORDS = 3_000
"""Of a kilobyte, in each topic: at a megabyte a second the moves last for ten seconds and more."""
BOUND = 120.0
NO_ABORT: dict[str, Any] = {"abort-reassignment": None}
THROTTLED = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


def topics_of(site: Site) -> list[str]:
    return [site.topic(index) for index in range(COUNT)]


def reassigns(site: Site, **fields: object) -> None:
    """Somebody edits spec.reassignment."""
    site.kube.merge(site.path(), {"spec": {"reassignment": fields}})


def run_of(site: Site) -> Mapping[str, Any]:
    """The run in the status; nothing while there is none."""
    found: Mapping[str, Any] = site.read().get("status", {}).get("reassignment", {})
    return found


def replicas(site: Site) -> dict[str, list[int]]:
    """The replicas of the topics, as metadata shows them."""
    return {name: topic.partitions[0].replicas for name, topic in site.eyes.topics(site.prefix).items()}


def is_under_replicated(site: Site) -> bool:
    """Whether a replica of any topic is not in sync."""
    found = (topic.partitions[0] for topic in site.eyes.topics(site.prefix).values())
    return any(len(partition.isrs) < len(partition.replicas) for partition in found)


def is_throttled(site: Site) -> bool:
    """Whether any topic has a list of throttled replicas."""
    return any(key in configs for configs in site.eyes.configs(*topics_of(site)).values() for key in THROTTLED)


def kafka_says(site: Site, folder: Path) -> str:
    """What kafka-reassign-partitions --verify prints of the replicas as they are; it must not clean up for us."""
    found = [{"topic": name, "partition": 0, "replicas": found} for name, found in sorted(replicas(site).items())]
    path = folder / "moves.json"
    path.write_text(json.dumps({"version": 1, "partitions": found}))
    tool = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    return site.kafka.tool(tool, "--reassignment-json-file", path, "--verify", "--preserve-throttles")


def default_rates(site: Site) -> str:
    """The cluster's default configs of brokers, as Kafka's own tool prints them."""
    return site.kafka.tool("kafka.admin.ConfigCommand", "--entity-type", "brokers", "--entity-default", "--describe")


def brokers_of(site: Site) -> set[int]:
    """The brokers that have replicas of the pool."""
    return {broker for found in replicas(site).values() for broker in found}


def declare_pool(site: Site, replication_factor: int, throttle: str = "1Mi") -> None:
    """A pool with records, and a throttle that makes moves last."""
    site.declare(topics={"count": COUNT, "replicationFactor": replication_factor})
    site.wait_ready()
    produce(site.kafka.bootstrap_servers, dict.fromkeys(topics_of(site), RECORDS))
    reassigns(site, throttleBytesPerSecond=throttle, maxConcurrentPartitions=2)


def test_a_replication_factor_grows_under_load_though_the_operator_is_killed_in_mid_move(
    own_site: Site, new_operator: NewOperator, tmp_path: Path
) -> None:
    site = own_site
    first, second = new_operator("first"), new_operator("second")
    first.start()
    declare_pool(site, replication_factor=1)
    with Load(site.kafka.bootstrap_servers, topics_of(site)) as load:
        site.edit(replicationFactor=3)
        site.wait(
            lambda: is_throttled(site) and max(map(len, replicas(site).values()), default=0) > 1, "a topic is moved"
        )
        first.kill()
        assert is_throttled(site), "it was killed in mid-move"
        second.start()
        site.wait_ready(within=BOUND)
    assert load.failed == []
    assert load.missing() == {}
    site.becomes(lambda: [len(found) for found in replicas(site).values()], [3] * COUNT)
    site.becomes(lambda: is_throttled(site), expected=False)
    assert "throttled.rate" not in default_rates(site)
    assert run_of(site)["stage"] == "Completed"
    said = kafka_says(site, tmp_path)
    assert said.count("is completed") == COUNT, said
    print(f"acknowledged {sum(map(len, load.acknowledged.values()))}, failed 0, lost 0")  # noqa: T201 - the evidence


# In every run, the contract of the reassigner cancels moves on real brokers.
@pytest.mark.soak
def test_a_replication_factor_falls_and_an_abort_in_mid_move_gives_replicas_back(
    own_site: Site, new_operator: NewOperator, tmp_path: Path
) -> None:
    site = own_site
    new_operator().start()
    declare_pool(site, replication_factor=1)
    before = replicas(site)
    with Load(site.kafka.bootstrap_servers, topics_of(site)) as load:
        site.edit(replicationFactor=3)
        site.wait(lambda: is_throttled(site), "a topic is moved")
        site.annotate(**{"abort-reassignment": "not now"})
        site.wait(lambda: run_of(site).get("stage") == "Aborted", "it is aborted", within=BOUND)
        site.becomes(lambda: replicas(site), before)
        site.becomes(lambda: is_throttled(site), expected=False)
        reassigns(site, throttleBytesPerSecond="1Gi")
        site.annotate(**NO_ABORT)
        site.wait_ready(within=BOUND)
        site.edit(replicationFactor=2)
        site.wait_ready(within=BOUND)
    assert load.failed == []
    assert load.missing() == {}
    site.becomes(lambda: [len(found) for found in replicas(site).values()], [2] * COUNT)
    assert kafka_says(site, tmp_path).count("is completed") == COUNT


# In every run, replicas move under a load above, and worlds drain brokers of which some die at every call.
@pytest.mark.soak
def test_a_broker_is_drained_under_load_though_another_is_killed_in_mid_move(
    own_site: Site, new_operator: NewOperator, tmp_path: Path
) -> None:
    """Two of three brokers remain, so the one that is killed is one that everything goes to, or comes from.

    Kafka places topics at random: one time in eighty a broker that is given beforehand has none to drain.
    """
    site = own_site
    new_operator().start()
    declare_pool(site, replication_factor=2)
    site.wait(lambda: not is_under_replicated(site), "all replicas are in sync", within=BOUND)
    drained = max(brokers_of(site))
    killed, other = {1, 2, 3} - {drained}
    with Load(site.kafka.bootstrap_servers, topics_of(site)) as load:
        reassigns(site, excludeBrokers=[drained])
        site.wait(lambda: is_throttled(site), "a topic is moved")
        site.kafka.kill(killed)
        try:
            reassigns(site, throttleBytesPerSecond="64Mi")
            site.wait(lambda: run_of(site).get("throttleBytesPerSecond") == 64 * 2**20, "it is edited", within=BOUND)
        finally:
            site.kafka.start(killed)
        site.wait_ready(within=BOUND)
    assert load.failed == []
    assert load.missing() == {}
    site.becomes(lambda: brokers_of(site), {killed, other})
    site.becomes(lambda: is_throttled(site), expected=False)
    assert "throttled.rate" not in default_rates(site)
    assert kafka_says(site, tmp_path).count("is completed") == COUNT


def test_what_a_person_cancels_with_kafkas_tool_is_submitted_again_and_arrives(
    own_site: Site, new_operator: NewOperator, tmp_path: Path
) -> None:
    """As docs/replication.md says: who wants a run to stop tells Seawall."""
    site = own_site
    new_operator().start()
    declare_pool(site, replication_factor=1, throttle="64Ki")  # no move ends while two tools are started
    site.edit(replicationFactor=3)
    # It is throttled first, and only then submitted: a tool that starts in between lists nothing.
    site.wait(lambda: 3 in {len(found) for found in replicas(site).values()}, "a topic is moved", within=BOUND)
    tool = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    listed = site.kafka.tool(tool, "--list")
    (moved, *_) = re.findall(rf"^({site.prefix}_\d+)-0: replicas:", listed, re.MULTILINE)
    path = tmp_path / "cancel.json"
    moves = [{"topic": moved, "partition": 0, "replicas": [1, 2, 3]}]
    path.write_text(json.dumps({"version": 1, "partitions": moves}))
    said = site.kafka.tool(tool, "--reassignment-json-file", path, "--cancel")
    assert f"Successfully cancelled partition reassignment for: {moved}-0" in said, said
    reassigns(site, throttleBytesPerSecond="1Gi")
    site.wait(lambda: run_of(site).get("stage") == "Completed", "all is moved", within=BOUND)
    assert {len(found) for found in replicas(site).values()} == {3}
    assert kafka_says(site, tmp_path).count("is completed") == COUNT
    site.becomes(lambda: is_throttled(site), expected=False)
    assert "throttled.rate" not in default_rates(site)
