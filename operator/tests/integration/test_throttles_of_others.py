"""Throttles that a person set with Kafka's own tools: told with a command that really removes them, and put back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from seawall_e2e.waiting import wait_until
from tests.integration.conftest import NewOperator
from tests.integration.test_reassignment import BOUND, declare_pool, default_rates, is_throttled, replicas, run_of
from tests.support.site import Site, condition

pytestmark = pytest.mark.integration

RATE = 20_000
WAY_OUT = re.compile(r"--alter --entity-type brokers --entity-name (\d+) --delete-config ([\w.]+(?:,[\w.]+)?)")
LEADERS = "leader.replication.throttled.replicas"


@pytest.fixture
def site(own_site: Site) -> Iterator[Site]:
    """No rate of a broker outlives the test."""
    yield own_site
    for broker in (1, 2, 3):
        if (keys := own_rates(own_site, broker)) != "":
            brokers(own_site, "--alter", "--entity-name", str(broker), "--delete-config", keys)


def brokers(site: Site, *arguments: str) -> str:
    """What kafka-configs prints about brokers."""
    return site.kafka.tool("kafka.admin.ConfigCommand", "--entity-type", "brokers", *arguments)


def own_rates(site: Site, broker: int) -> str:
    """The names of a broker's own rates, as kafka-configs prints them."""
    reported = brokers(site, "--describe", "--entity-name", str(broker))
    return ",".join(re.findall(r"^\s*(\S+\.replication\.throttled\.rate)=", reported, re.MULTILINE))


def moves_by_hand_and_forgets_it(site: Site, folder: Path) -> None:
    """A person moves a topic of theirs with a throttle, and never runs --verify."""
    topic = f"theirs_{site.prefix}"
    site.eyes.create(topic, replication_factor=1)
    (partition,) = wait_until(lambda: site.eyes.topics(topic), "it is told")[topic].partitions.values()
    path = folder / "moves.json"
    target = [found for found in (1, 2) if found not in partition.replicas][:1]
    moves = [{"topic": topic, "partition": 0, "replicas": target}]
    path.write_text(json.dumps({"version": 1, "partitions": moves}))
    tool = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    site.kafka.tool(tool, "--reassignment-json-file", path, "--execute", "--throttle", str(RATE))
    site.becomes(lambda: site.eyes.topics(topic)[topic].partitions[0].replicas, target)
    site.eyes.delete(topic)


def follows_the_way_out(site: Site, message: str) -> None:
    """Runs the command that a sentence has."""
    found = WAY_OUT.search(message)
    assert found is not None, message
    broker, keys = found.groups()
    brokers(site, "--alter", "--entity-name", broker, "--delete-config", keys)
    assert own_rates(site, int(broker)) == ""


def health(site: Site) -> dict[str, str]:
    """What is said of replication."""
    found: dict[str, str] = condition(site.read(), "ReplicationHealthy")
    return found


def test_what_kafkas_tool_left_on_brokers_and_topics_is_told_until_the_command_is_run_and_lists_are_put_back(
    site: Site, new_operator: NewOperator, tmp_path: Path
) -> None:
    new_operator().start()
    declare_pool(site, replication_factor=1)
    moves_by_hand_and_forgets_it(site, tmp_path)
    throttled = [broker for broker in (1, 2, 3) if own_rates(site, broker)]
    assert throttled, "that is what the tool does"
    listed = site.topic(0)
    site.kafka.tool(
        "kafka.admin.ConfigCommand",
        *("--entity-type", "topics", "--entity-name", listed, "--alter", "--add-config", f"{LEADERS}=*"),
    )
    site.edit(replicationFactor=3)
    site.wait(lambda: run_of(site).get("throttleBytesPerSecond") == RATE, "the slowest is shown", within=BOUND)
    site.wait(lambda: f"{RATE} bytes/s" in run_of(site)["message"], "the run tells of it", within=BOUND)
    assert "wins over" in run_of(site)["message"] or "win over" in run_of(site)["message"]
    for left in range(len(throttled), 0, -1):
        site.wait(lambda: "--delete-config" in health(site)["message"], "so does the condition", within=BOUND)
        assert health(site)["status"] == "False"
        before = health(site)["message"]
        follows_the_way_out(site, before)
        site.wait(lambda said=before: health(site)["message"] != said, f"{left - 1} are left", within=BOUND)  # type: ignore[misc]
    site.wait(lambda: run_of(site).get("stage") == "Completed", "all is moved", within=BOUND)
    assert {len(found) for found in replicas(site).values()} == {3}
    assert "throttled.rate" not in default_rates(site)
    site.becomes(lambda: site.eyes.config(listed).get(LEADERS), "*")
    topics = [site.topic(index) for index in range(1, 4)]
    assert not [key for found in site.eyes.configs(*topics).values() for key in found if "throttled" in key]
    assert is_throttled(site), "only what somebody else had listed"


def test_a_rate_that_is_left_on_a_broker_while_nothing_is_moved_is_told_though_all_is_ready(
    site: Site, new_operator: NewOperator
) -> None:
    new_operator().start()
    site.declare()
    site.wait_ready()
    site.wait_brokers_told()
    rate = f"follower.replication.throttled.rate={RATE}"
    brokers(site, "--alter", "--entity-name", "2", "--add-config", rate)
    found = site.wait_for("ReplicationHealthy", "False", "BrokersThrottled", within=BOUND)
    assert condition(found, "Ready")["status"] == "True"
    (item,) = (item for item in found["status"]["kafka"]["brokers"]["items"] if item["id"] == 2)
    assert item["throttleBytesPerSecond"] == RATE
    follows_the_way_out(site, condition(found, "ReplicationHealthy")["message"])
    found = site.wait_for("ReplicationHealthy", "True", "InSync", within=BOUND)
    assert all("throttleBytesPerSecond" not in item for item in found["status"]["kafka"]["brokers"]["items"])
