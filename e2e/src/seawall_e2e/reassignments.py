"""Where the replicas of a site's topics are, as clients and Kafka's own tools see it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from seawall_e2e.commands import kubectl
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

WITHIN = 240.0
"""Seconds for a run, brokers that are killed meanwhile included."""


class Reassignments:
    """Edits a site's WALCluster `wal` so that its replicas move, and looks at them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.wal = site.wal_cluster()
        self.verified = 0
        """Partitions of which Kafka's own tool said that they are where Seawall put them."""

    def declare(self, count: int, replication_factor: int, **reassignment: Any) -> None:
        """Applies the WALCluster."""
        self.wal.apply(self.site.pool(count, replicationFactor=replication_factor), reassignment=reassignment)

    def replicas(self) -> dict[str, list[int]]:
        """The replicas of the site's topics, without those whose place is not known."""
        return {name: topic["replicas"]["0"] for name, topic in self.site.topics().items()}

    def brokers(self) -> set[int]:
        """The brokers with any replica."""
        return set(self.loads())

    def loads(self) -> Counter[int]:
        """How many replicas each broker has, of those that have any."""
        return Counter(broker for found in self.replicas().values() for broker in found)

    def preferred_leaders(self) -> Counter[int]:
        """How many topics each broker should lead, of those that should lead any."""
        return Counter(found[0] for found in self.replicas().values())

    def factors(self) -> set[int]:
        """The replication factors that there are."""
        return {len(found) for found in self.replicas().values()}

    def throttled(self) -> list[str]:
        """The topics with a list of throttled replicas."""
        topics = self.site.topics()
        return [name for name, topic in topics.items() if any("throttled" in key for key in topic["configs"])]

    def run(self) -> dict[str, Any]:
        """The run in the status; nothing while there is none."""
        found: dict[str, Any] = ((self.wal.find() or {}).get("status") or {}).get("reassignment") or {}
        return found

    def known_brokers(self) -> dict[int, dict[str, Any]]:
        """What the status says of each broker, by its id."""
        items = self.wal.status().get("kafka", {}).get("brokers", {}).get("items", ())
        return {item["id"]: item for item in items}

    def wait(self, holds: Callable[[], object], what: str) -> None:
        """Waits for something of the run."""
        wait_until(holds, what, within=WITHIN, explain=self.wal.explain)

    def check(self) -> None:
        """No throttle is left, and Kafka's own tool agrees with where the replicas are.

        Raises:
            AssertionError: it is not so.
        """
        rates = kafka_tool("kafka-configs", "--entity-type", "brokers", "--entity-default", "--describe")
        if left := self.throttled() or "throttled.rate" in rates:
            raise AssertionError(f"a throttle is left: {left} {rates}")
        found = self.replicas()
        said = verified_by_kafka(found)
        if said.count("is completed") != len(found):
            raise AssertionError(said)
        self.verified += len(found)


def kafka_tool(*words: str, stdin: str = "") -> str:
    """What one of Kafka's own tools prints, in a broker's pod; `stdin` is in the file /tmp/moves.json."""
    script = 'cat >/tmp/moves.json; exec "$@"'
    tool = ("bash", "-c", script, "-", *words, "--bootstrap-server", "localhost:9092")
    return kubectl("-n", "kafka", "exec", "-i", "kafka-0", "--", *tool, stdin=stdin)


def verified_by_kafka(replicas: dict[str, list[int]]) -> str:
    """What kafka-reassign-partitions says of topics that should have these replicas; it must not clean up for us."""
    moves = [{"topic": name, "partition": 0, "replicas": found} for name, found in replicas.items()]
    text = json.dumps({"version": 1, "partitions": moves})
    verify = ("--reassignment-json-file", "/tmp/moves.json", "--verify", "--preserve-throttles")  # noqa: S108 - of the pod
    return kafka_tool("kafka-reassign-partitions", *verify, stdin=text)
