"""A log is copied to a second Kafka, the first one is killed, and the database goes on with the copy.

All is real but Spark: the test plays the Spark Operator, and copies by the application's own code.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from seawall_e2e.loopback import KafkaProcesses, OperatorProcess
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import wait_until
from tests.support.kafka import KafkaEyes
from tests.support.kube import OBJECTS, KubeClient, Object
from tests.support.site import Site, new_site
from tests.support.spark import SparkOperatorRole, install_spark_crd
from wal_subscription.copier import Copied, Job, Sides, copy, forget_connections
from wal_subscription.micro_batches import MicroBatches
from wal_subscription.request import parse_request

pytestmark = pytest.mark.integration

FLUSHED, UNFLUSHED = "in_files", "in_the_log"
"""Tables of one region; each has a topic of its own."""
ROWS = 6
RUN_SECONDS, START_SECONDS = 240.0, 60.0


@dataclass
class Mirrored:
    """A database with its WAL on one Kafka, and a subscription that copies that to another."""

    site: Site
    source: KafkaProcesses
    database: RefDbProcesses
    target: KafkaProcesses
    written: dict[str, set[str]] = field(default_factory=lambda: {FLUSHED: set(), UNFLUSHED: set()})

    @property
    def path(self) -> str:
        """The subscription."""
        return f"{OBJECTS.format(self.site.namespace, 'walsubscriptions')}/dr"

    @property
    def topics(self) -> list[str]:
        """Of the pool."""
        return [f"wal_{self.database.prefix}_{number}" for number in range(2)]

    def write(self, prefix: str) -> set[str]:
        """Rows of this prefix in each table, one a record; all are acknowledged."""
        keys = {f"{prefix}{number}" for number in range(ROWS)}
        for table, known in self.written.items():
            for number, key in enumerate(sorted(keys)):
                self.database.write(f"INSERT INTO {table}(ts, k) VALUES ({number}, '{key}')")  # noqa: S608 - our own
            known.update(keys)
        return keys

    def missing(self, table: str) -> set[str]:
        """Acknowledged rows that the database does not have."""
        return self.written[table] - {row[0] for row in self.database.rows(f"SELECT k FROM {table}")}  # noqa: S608 - our own

    def subscribe(self, replicas: int = 1) -> None:
        """Declares the second Kafka, and copies to it; all but one of the replicas must have a record."""
        kube = self.site.kube
        install_spark_crd(kube)
        kube.create(self.site.core("serviceaccounts"), {"metadata": {"name": "driver"}})
        mirror = {"name": "dr", "kafka": {"bootstrapServers": list(self.target.bootstrap_servers)}}
        spark = {"image": "wal-subscription:1", "serviceAccountName": "driver"}
        kube.merge(self.site.path(), {"spec": {"subscription": {"spark": spark, "targets": [mirror]}}})
        sink = {"mirror": {"target": "dr", "replicationFactor": replicas, "minInSyncReplicas": max(1, replicas - 1)}}
        spec = {"clusterRef": {"name": "wal"}, "sink": sink, "lagBudget": {"maxBytes": "1Gi"}}
        body = {"apiVersion": "seawall.dev/v1alpha1", "kind": "WALSubscription", "metadata": {"name": "dr"}}
        kube.create(self.path.removesuffix("/dr"), {**body, "spec": spec})

    def copy(self) -> dict[str, int]:
        """What the application does until the target has all; where its logs end then."""
        role = SparkOperatorRole(self.site.kube, self.site.namespace)
        (application,) = wait_until(
            role.applications, "an application is made", within=RUN_SECONDS, explain=self.explain
        )
        name = application["metadata"]["name"]
        role.report(name, "RUNNING", executors=("RUNNING",))
        stored = self.site.kube.request("GET", self.site.core("configmaps", name))["binaryData"]["request.json.gz"]
        running = MicroBatches(parse_request(gzip.decompress(base64.b64decode(stored))), run_here)
        running.require_sides()
        sides = self.site.eyes, KafkaEyes(self.target.bootstrap_servers)

        def is_even() -> bool:
            running.once()
            theirs, ours = (eyes.log_ends(f"wal_{self.database.prefix}") for eyes in sides)
            return theirs == ours

        wait_until(is_even, "all is copied", within=RUN_SECONDS, explain=self.explain)
        assert not running.stops
        forget_connections()
        return sides[1].log_ends(f"wal_{self.database.prefix}")

    def owners(self) -> dict[str, list[Object]]:
        """By what the operator made for the subscription whose it is; and what keeps it from going with that."""
        kube, namespace = self.site.kube, self.site.namespace
        (application,) = SparkOperatorRole(kube, namespace).applications()
        name = application["metadata"]["name"]
        hold = kube.request("GET", f"{OBJECTS.format(namespace, 'walholds')}/dr")
        request = kube.request("GET", self.site.core("configmaps", name))
        found = {"hold": hold, "request": request, "application": application}
        assert not any(each["metadata"].get("finalizers") for each in found.values())
        return {what: each["metadata"]["ownerReferences"] for what, each in found.items()}

    def promote(self) -> Object:
        """What became of the copy."""
        self.site.kube.merge(self.path, {"spec": {"promote": "Failover"}})

        def status() -> Object | None:
            found: Object = self.site.kube.request("GET", self.path)["status"]
            return found if found["state"] == "Promoted" else None

        promotion: Object = wait_until(status, "it is promoted", within=RUN_SECONDS, explain=self.explain)["promotion"]
        return promotion

    def explain(self) -> str:
        """The subscription, and what the operator logs."""
        found = self.site.kube.request("GET", self.path).get("status", {})
        return f"{json.dumps(found, indent=1)}\n{self.site.operators[0].log()[-6000:]}"


def run_here(jobs: Sequence[Job], sides: Sides, _: Any) -> list[Copied]:
    """As executors do."""
    return [copy(job, sides) for job in jobs]


@pytest.fixture
def mirrored(
    kube: KubeClient, kafka: KafkaProcesses, etcd: EtcdProcess, operator: OperatorProcess
) -> Iterator[Mirrored]:
    """The tables are there, and nothing is in them. The target is the Kafka of other tests."""
    with KafkaProcesses() as source, RefDbProcesses(source.bootstrap_servers, etcd, datanodes=1) as database:
        site = new_site(kube, source, operator)
        try:
            greptimedb = database.declared(autoPrune="Disabled")
            site.declare(topics={"prefix": f"wal_{database.prefix}", "replicationFactor": 1}, greptimedb=greptimedb)
            site.wait_ready()
            for table in (FLUSHED, UNFLUSHED):
                answer = database.sql(f"CREATE TABLE {table} (ts TIMESTAMP TIME INDEX, k STRING, PRIMARY KEY(k))")
                assert "code" not in answer, answer
            yield Mirrored(site, source, database, kafka)
        finally:
            site.on(kafka).clear()  # the source is dead


def test_a_database_starts_on_its_mirror_and_misses_only_what_is_listed(mirrored: Mirrored) -> None:
    """What it has flushed is newer than the copy: without padding it could not go on."""
    first, last = mirrored.topics
    database, target = mirrored.database, mirrored.target
    mirrored.subscribe()
    mirrored.write("a")
    copied = mirrored.copy()
    subscription = mirrored.site.kube.request("GET", mirrored.path)
    owner = {
        "apiVersion": subscription["apiVersion"],
        "kind": "WALSubscription",
        "name": "dr",
        "uid": subscription["metadata"]["uid"],
    }
    for what, references in mirrored.owners().items():  # what Kubernetes deletes when that is deleted
        (reference,) = references
        assert (reference["controller"], reference.items() >= owner.items()) == (True, True), what
    lost = mirrored.write("b")  # nobody copies any more
    assert "code" not in database.sql(f"ADMIN flush_table('{FLUSHED}')")
    source_ends = mirrored.site.eyes.log_ends(f"wal_{database.prefix}")
    mirrored.source.kill(0)
    database.kill()

    database.move_to(target.bootstrap_servers)
    database.metasrv.start()
    database.datanodes[0].start()
    database.datanodes[0].wait_ended(START_SECONDS)
    assert f"topic {first} ends at {copied[first]}, before replay begins" in database.datanodes[0].log_since_start()
    database.kill()

    promotion = mirrored.promote()
    topics = {row["name"]: row for row in promotion["topics"]}
    assert {name: row["end"] for name, row in topics.items()} == copied
    assert not promotion["sourceKnown"], "where the source ended, nobody can say"
    assert promotion["lostEntries"] == sum(row["knownEnd"] - row["end"] for row in topics.values())
    for name, row in topics.items():
        assert row["end"] <= row["knownEnd"] <= source_ends[name] <= row["padTo"]

    database.start()
    assert mirrored.missing(FLUSHED) == set()
    missing = mirrored.missing(UNFLUSHED)
    assert len(missing) == source_ends[last] - topics[last]["end"], "a row each, and none before the end of the copy"
    assert missing == lost
    mirrored.written[UNFLUSHED] -= missing
    mirrored.write("c")
    for _ in range(2):
        database.datanodes[0].kill()
        database.start_datanode(0)
        assert (mirrored.missing(FLUSHED), mirrored.missing(UNFLUSHED)) == (set(), set())
