"""Rows of a database are handed on to a topic: what a reader makes of it is what the database answers.

All is real but Spark: the test plays the Spark Operator, and hands on by the application's own code. Rows go to the
Kafka of the log itself.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from seawall_e2e.loopback import KafkaProcesses, OperatorProcess
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import wait_until
from tests.support.kube import OBJECTS, KubeClient, Object
from tests.support.site import Site, new_site
from tests.support.spark import SparkOperatorRole, install_spark_crd
from wal_subscription.records import process
from wal_subscription.records.jobs import Copied, Job, Sides
from wal_subscription.records.micro_batches import RecordsBatches
from wal_subscription.records.request import parse_records_request
from wal_subscription.summary import Outcome, summarize

pytestmark = pytest.mark.integration

SECONDS = 180.0
ROWS = "changes_of_all"


@dataclass
class HandedOn:
    """A database with its WAL on a Kafka, and a subscription that hands its rows on to another topic of that."""

    site: Site
    kafka: KafkaProcesses
    database: RefDbProcesses
    ended: set[str] = field(default_factory=set)

    @property
    def path(self) -> str:
        """The subscription."""
        return f"{OBJECTS.format(self.site.namespace, 'walsubscriptions')}/changes"

    @property
    def rows_topic(self) -> str:
        """Of this test alone."""
        return f"{ROWS}_{self.database.prefix}"

    @property
    def role(self) -> SparkOperatorRole:
        """Who runs applications."""
        return SparkOperatorRole(self.site.kube, self.site.namespace)

    def make_table(self, name: str) -> None:
        """One of one region."""
        answer = self.database.sql(f"CREATE TABLE {name} (ts TIMESTAMP TIME INDEX, k STRING, PRIMARY KEY(k))")
        assert "code" not in answer, answer

    def write(self, table: str, *keys: str) -> None:
        """Rows, one a record."""
        for number, key in enumerate(keys):
            self.database.write(f"INSERT INTO {table}(ts, k) VALUES ({number}, '{key}')")  # noqa: S608 - our own

    def subscribe(self) -> None:
        """Declares where rows may go, and which."""
        kube = self.site.kube
        install_spark_crd(kube)
        kube.create(self.site.core("serviceaccounts"), {"metadata": {"name": "driver"}})
        target = {"name": "here", "kafka": {"bootstrapServers": list(self.kafka.bootstrap_servers)}}
        spark = {"image": "wal-subscription:1", "serviceAccountName": "driver"}
        kube.merge(self.site.path(), {"spec": {"subscription": {"spark": spark, "targets": [target]}}})
        topics = {"replicationFactor": 1, "minInSyncReplicas": 1, "partitions": 2, "by": "Table"}
        spec = {
            "clusterRef": {"name": "wal"},
            "tables": {"include": ["public.*"], "exclude": ["public.secret*"]},
            "sink": {"records": {"target": "here", "topic": self.rows_topic, **topics}},
            "lagBudget": {"maxBytes": "1Gi"},
        }
        body = {"apiVersion": "seawall.dev/v1alpha1", "kind": "WALSubscription", "metadata": {"name": "changes"}}
        kube.create(self.path.removesuffix("/changes"), {**body, "spec": spec})

    def run(self, until: Callable[[], bool]) -> str:
        """What the application does until it is so, or until a topic must not go on: then it says so, and ends."""

        def made() -> str:
            names = [each["metadata"]["name"] for each in self.role.applications()]
            return names[0] if len(names) == 1 and names[0] not in self.ended else ""

        name = wait_until(made, "an application is made", within=SECONDS, explain=self.explain)
        self.role.report(name, "RUNNING", executors=("RUNNING",))
        stored = self.site.kube.request("GET", self.site.core("configmaps", name))["binaryData"]["request.json.gz"]
        request = gzip.decompress(base64.b64decode(stored))
        running = RecordsBatches(parse_records_request(request), run_here)
        running.require_sides()

        def is_so() -> bool:
            running.once()
            return running.is_over or until()

        wait_until(is_so, "it is so, or a topic stops", within=SECONDS, explain=self.explain)
        process.forget_all()
        if running.stops:
            digest = sha256(request).hexdigest()
            self.end(name, summarize(Outcome.STOPPED, running.stops[0].message, digest, running.stops).decode())
        return name

    def end(self, name: str, message: str) -> None:
        """The driver ends with its last word."""
        ended = {"terminated": {"exitCode": 0, "message": message}}
        container = {"name": "spark-kubernetes-driver", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
        self.role.report_driver(name, {"phase": "Succeeded", "containerStatuses": [{**container, "state": ended}]})
        self.role.report(name, "COMPLETED")
        self.ended.add(name)

    def handed_on(self) -> list[tuple[str, str]]:
        """Table and key of each row, as a reader of committed records finds them."""
        options = {"bootstrap.servers": ",".join(self.kafka.bootstrap_servers), "group.id": "reader"}
        consumer = Consumer({**options, "isolation.level": "read_committed", "enable.partition.eof": True})
        found, at_end = list[tuple[str, str]](), set[int]()
        try:
            consumer.assign([TopicPartition(self.rows_topic, number, 0) for number in range(2)])
            while len(at_end) < 2:
                message = consumer.poll(5.0)
                assert message is not None, "Kafka does not answer"
                if message.error() is not None:
                    at_end.add(int(message.partition() or 0))
                    continue
                row = json.loads(message.value() or b"")
                found.append((row["table"], row["values"]["k"]))
        finally:
            consumer.close()
        return found

    def has(self, rows: Sequence[tuple[str, str]]) -> bool:
        """Whether just these were handed on."""
        return sorted(self.handed_on()) == sorted(rows)

    def is_held_at_the_end(self) -> bool:
        """Whether the source keeps nothing that was handed on."""
        hold = self.site.kube.find(f"{OBJECTS.format(self.site.namespace, 'walholds')}/changes")
        granted = {} if hold is None else hold.get("status", {}).get("granted", {})
        ends = self.site.eyes.log_ends(f"wal_{self.database.prefix}")
        return bool(granted) and granted == ends

    def status(self) -> Object:
        """Of the subscription."""
        found: Object = self.site.kube.request("GET", self.path)["status"]
        return found

    def explain(self) -> str:
        """The subscription, and what the operator logs."""
        return f"{json.dumps(self.status(), indent=1)}\n{self.site.operators[0].log()[-6000:]}"


def run_here(jobs: Sequence[Job], sides: Sides, _: Any) -> list[Copied]:
    """As executors do."""
    return [process.copy(job, sides) for job in jobs]


@pytest.fixture
def handed(kube: KubeClient, kafka: KafkaProcesses, etcd: EtcdProcess, operator: OperatorProcess) -> Iterator[HandedOn]:
    """A database without tables."""
    with RefDbProcesses(kafka.bootstrap_servers, etcd, datanodes=1) as database:
        site = new_site(kube, kafka, operator)
        try:
            greptimedb = database.declared(autoPrune="Disabled")
            site.declare(topics={"prefix": f"wal_{database.prefix}", "replicationFactor": 1}, greptimedb=greptimedb)
            site.wait_ready()
            yield HandedOn(site, kafka, database)
        finally:
            process.forget_all()
            site.clear()


def test_rows_of_selected_tables_are_there_once_also_of_one_that_is_made_later(handed: HandedOn) -> None:
    for table in ("first", "secret"):
        handed.make_table(table)
        handed.write(table, "a", "b", "c")
    handed.subscribe()
    first = [("public.first", key) for key in "abc"]
    assert handed.run(lambda: handed.has(first)) == "changes-1"
    wait_until(handed.is_held_at_the_end, "the hold follows", within=SECONDS, explain=handed.explain)
    wait_until(lambda: handed.status().get("state") == "Streaming", "it streams", explain=handed.explain)
    assert handed.status()["records"]["progress"]["partitions"] == 2

    handed.make_table("later")
    handed.make_table("secrets_of_later")
    handed.write("secrets_of_later", "x")
    handed.write("later", "d", "e")
    later = [*first, *(("public.later", key) for key in "de")]
    runs = 0
    while not handed.has(later):
        handed.run(lambda: handed.has(later))
        runs += 1
        assert runs < 8, handed.explain()
    wait_until(handed.is_held_at_the_end, "the hold follows", within=SECONDS, explain=handed.explain)
    assert not [row for row in handed.status()["topics"] if "stopped" in row]

    handed.site.kube.request("DELETE", handed.path)
    wait_until(lambda: handed.site.kube.find(handed.path) is None, "it is gone", within=SECONDS)
    assert handed.has(later), "what was handed on stays"
