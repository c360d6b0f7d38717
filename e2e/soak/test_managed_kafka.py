"""A Kafka that Seawall runs, for long, with a database that writes into it. Counts: results/managed-kafka.json.

More brokers and fewer, more controllers and fewer, a lost disk of each; then a node is killed every half minute, while
datanodes are rolled, topics are purged, and their replicas become two and three again. An upgrade, and its way back,
are lived on processes (operator/tests/integration/test_managed_kafka_upgrade.py).
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

import pytest

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.cluster import signal_in_pod
from seawall_e2e.commands import CommandFailed, Object, kubectl
from seawall_e2e.kafka_drains import Drains
from seawall_e2e.managed_kafka import ManagedKafka, example
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import RefDb, RefDbImages, in_sight
from seawall_e2e.restarts import RIGHTS, SAFETY, STATEFUL_SET, DownSampler, Restarts
from seawall_e2e.site import Site
from seawall_e2e.soak import OFTEN, SECONDS, write_counts
from seawall_e2e.waiting import wait_until

KILLS_EVERY = 30.0
WITHIN = 600.0
"""A roll of datanodes waits for nodes that come back, and they for one another."""
FIRST_CONTROLLER = 100


@dataclass
class Life:
    """What is declared, and what happened."""

    site: Site
    kafka: ManagedKafka
    brokers: int = 3
    controllers: int = 3
    replicas: int = 3
    happened: Counter[str] = field(default_factory=Counter)

    def declare(self, **changes: int) -> None:
        """Applies the WALCluster with these numbers."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.kafka.apply(self._object())

    def _object(self) -> Object:
        found = example(self.site.namespace, self.site.prefix)
        found["metadata"]["name"] = self.kafka.wal.name
        for pool in found["spec"]["kafka"]["managed"]["nodePools"]:
            pool["replicas"] = self.brokers if pool["name"] == "brokers" else self.controllers
        found["spec"]["topics"] |= {"count": 4, "replicationFactor": self.replicas, "maxMessageBytes": "16Ki"}
        named = {"datanodes": {"statefulSetRef": {"name": STATEFUL_SET}}, "restart": {"replayBudget": "5m"}}
        found["spec"]["dataPlane"] = {**in_sight(self.site.namespace), **named}
        return found

    def status(self) -> Object:
        """The WALCluster's; empty while it has none."""
        found: Object = (self.kafka.wal.find() or {}).get("status", {})
        return found

    def nodes(self) -> list[int]:
        """Their ids, as the status has them."""
        return [node["id"] for node in self.status().get("managedKafka", {}).get("nodes", ())]

    def wait_for(self, nodes: int) -> None:
        """Until there are so many, each Online, and all of them said to be in sync."""

        def is_so() -> bool:
            conditions = {each["type"]: each for each in self.status().get("conditions", ())}
            healthy, in_sync = (conditions.get(kind, {}) for kind in ("KafkaNodesHealthy", "KafkaNodesInSync"))
            said = (healthy.get("reason"), in_sync.get("status"))
            return len(self.nodes()) == nodes and said == ("AllOnline", "True")

        wait_until(is_so, f"{nodes} nodes are in sync", within=WITHIN, explain=self.kafka.wal.explain)

    def scale(self) -> None:
        """More, and fewer."""
        for change in ({"brokers": 4}, {"brokers": 3}, {"controllers": 5}, {"controllers": 3}):
            self.declare(**change)
            self.wait_for(self.brokers + self.controllers)
            self.happened[f"{next(iter(change))} changed"] += 1

    def lose_disk(self, node: int) -> None:
        """A volume and its pod go; another volume is made, and formatted by who vouches for it."""
        claim, pod = f"data-{self.kafka.wal.name}-{node}", f"{self.kafka.wal.name}-{node}-0"
        namespace = self.site.namespace
        before = kubectl("-n", namespace, "get", "pvc", claim, "-o", "jsonpath={.metadata.uid}")
        kubectl("-n", namespace, "delete", "pvc", claim, "--wait=false")
        kubectl("-n", namespace, "delete", "pod", pod, "--force", "--grace-period=0")

        def is_another() -> bool:
            found = kubectl(
                "-n", namespace, "get", "pvc", claim, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}"
            )
            return found not in {"", before}

        wait_until(is_another, f"there is another volume of node {node}", within=WITHIN)
        self.wait_for(self.brokers + self.controllers)
        self.happened["disks lost"] += 1

    def kill(self, chance: random.Random) -> None:
        """SIGKILL of a node's Java; one that is not there at the moment is not killed."""
        node = chance.choice(self.nodes())
        try:
            signal_in_pod(self.site.namespace, self.kafka.pod(node), "java")
        except (CommandFailed, AssertionError):
            self.happened["kills that met nobody"] += 1
            return
        self.happened["controllers killed" if node >= FIRST_CONTROLLER else "brokers killed"] += 1


@pytest.mark.timeout(SECONDS + 5_400)
def test_a_managed_kafka_lives_for_long_and_no_acknowledged_row_is_lost(
    site: Site, refdb_images: RefDbImages, checker_image: str
) -> None:
    site.install(RIGHTS, "managedKafka.enabled=true")
    life = Life(site, ManagedKafka(site.wal_cluster()))
    began = time.monotonic()
    life.declare()
    life.wait_for(6)
    life.kafka.wal.wait("Ready", within=120)
    database = RefDb(site.namespace, refdb_images, region_failover=True)
    database.start()
    restarts, purges = Restarts(site, database), Purges(site.wal_cluster(), site.operator)
    drains = Drains(site.namespace, life.kafka.wal.name, {"brokers": 3, "controllers": 3})
    with AckedRows(database, checker_image, period=OFTEN) as rows:
        with DownSampler(database) as down, drains.sampled():
            life.scale()
            life.lose_disk(1)
            life.lose_disk(FIRST_CONTROLLER + 1)
        assert drains.errors == []
        purges.apply_policy(interval="60s", safety=SAFETY)
        one_dies_after_another(life, restarts, rows)
        purges.suspend()
        purges.wait_until_over()
    verdict = rows.judge()
    counts = {
        "seconds": round(time.monotonic() - began),
        **life.happened,
        "mostDatanodesDownAtOnceWhileScaled": len(down.most),
        "runsOfPurges": Counter(one.stage for one in purges.runs()),
        "entriesDeleted": purges.entries_deleted(),
        "acked": verdict["acked"],
        "lost": verdict["lost"],
    }
    write_counts("managed-kafka", counts)
    assert verdict["holds"]
    assert verdict["lost"] == 0
    assert len(down.most) <= 1
    assert purges.entries_deleted() > 0
    assert not database.in_maintenance()


def one_dies_after_another(life: Life, restarts: Restarts, rows: AckedRows) -> None:
    """A node every half minute; each time a roll of datanodes is over another begins, and so do moves."""
    chance, end = random.Random(26), time.monotonic() + SECONDS  # noqa: S311 - an order
    asked = (f"soak-{number}" for number in count())
    value = next(asked)
    restarts.ask(value)
    while time.monotonic() < end:
        next_kill = time.monotonic() + KILLS_EVERY
        life.kill(chance)
        if restarts.status().get("doneRequest") == value:
            life.happened["rolls of datanodes"] += 1
            value = next(asked)
            restarts.ask(value)
        moves = life.status().get("reassignment") or {}
        if moves.get("stage") in {None, "Completed"}:
            life.happened["moves begun"] += 1
            life.declare(replicas=5 - life.replicas)
        time.sleep(max(0.0, next_kill - time.monotonic()))
    life.declare(replicas=3)
    life.wait_for(6)
    life.kafka.wal.wait("Ready", within=WITHIN)
    wait_until(lambda: restarts.status().get("doneRequest") == value, "the last roll is over", within=WITHIN)
    rows.wait_until_written_everywhere()
