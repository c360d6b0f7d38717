"""Rows of a database are handed on to a topic and to a bucket: each of them is there once.

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
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, TopicPartition

from seawall_e2e.loopback import KafkaProcesses, OperatorProcess
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.loopback.s3 import S3Process
from seawall_e2e.waiting import wait_until
from tests.support.kube import OBJECTS, KubeClient, Object
from tests.support.site import Site, new_site
from tests.support.spark import SparkOperatorRole, install_spark_crd
from wal_subscription.records import process
from wal_subscription.records.jobs import Copied, Job, Sides
from wal_subscription.records.micro_batches import RecordsBatches
from wal_subscription.records.request import parse_records_request
from wal_subscription.summary import Outcome, summarize
from wal_subscription.table import process as table_process
from wal_subscription.table.jobs import Copied as TableCopied
from wal_subscription.table.jobs import Job as TableJob
from wal_subscription.table.jobs import Sides as TableSides
from wal_subscription.table.micro_batches import TableBatches
from wal_subscription.table.request import parse_table_request

pytestmark = pytest.mark.integration

SECONDS = 180.0
ROWS = "changes_of_all"


@dataclass
class HandedOn:
    """A database with its WAL on a Kafka, and a subscription that hands its rows on to another topic of that."""

    site: Site
    kafka: KafkaProcesses
    database: RefDbProcesses
    store: S3Process
    bucket: Path
    ended: set[str] = field(default_factory=set)

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

    def declare(self, folder: Path) -> None:
        """Says where rows may go."""
        kube = self.site.kube
        install_spark_crd(kube)
        kube.create(self.site.core("serviceaccounts"), {"metadata": {"name": "driver"}})
        keys = {"accessKeyId": self.store.access_key_id, "secretAccessKey": self.store.secret_access_key}
        for name, text in keys.items():
            (folder / name).write_text(text)
        kube.create(self.site.core("secrets"), {"metadata": {"name": "key"}, "stringData": keys})
        target = {"name": "here", "kafka": {"bootstrapServers": list(self.kafka.bootstrap_servers)}}
        s3 = {"bucket": self.bucket.name, "prefix": "wal", "endpoint": self.store.endpoint}
        bucket = {"name": "lake", "s3": {**s3, "credentialsSecretRef": {"name": "key"}}}
        spark = {"image": "wal-subscription:1", "serviceAccountName": "driver"}
        declared = {"spark": spark, "targets": [target], "buckets": [bucket]}
        kube.merge(self.site.path(), {"spec": {"subscription": declared}})

    def subscribe(self) -> None:
        """To the topic, and to the bucket."""
        topics = {"replicationFactor": 1, "minInSyncReplicas": 1, "partitions": 2, "by": "Table"}
        sinks = {
            "changes": {"records": {"target": "here", "topic": self.rows_topic, **topics}},
            "lake": {"table": {"target": "lake", "commitInterval": "1s"}},
        }
        for name, sink in sinks.items():
            spec = {
                "clusterRef": {"name": "wal"},
                "tables": {"include": ["public.*"], "exclude": ["public.secret*"]},
                "sink": sink,
                "lagBudget": {"maxBytes": "1Gi"},
            }
            body = {"apiVersion": "seawall.dev/v1alpha1", "kind": "WALSubscription", "metadata": {"name": name}}
            self.site.kube.create(self.path("").rstrip("/"), {**body, "spec": spec})

    def run(self, of: str, folder: Path, until: Callable[[], bool]) -> str:
        """What the application does until it is so, or until a topic must not go on: then it says so, and ends."""

        def made() -> str:
            names = [each["metadata"]["name"] for each in self.role.applications()]
            found = [name for name in names if name.startswith(f"{of}-")]
            return found[0] if len(found) == 1 and found[0] not in self.ended else ""

        name = wait_until(made, "an application is made", within=SECONDS, explain=lambda: self.explain(of))
        self.role.report(name, "RUNNING", executors=("RUNNING",))
        stored = self.site.kube.request("GET", self.site.core("configmaps", name))["binaryData"]["request.json.gz"]
        request = gzip.decompress(base64.b64decode(stored))
        running = batches_of(request, folder)
        running.require_sides()

        def is_so() -> bool:
            running.once()
            return running.is_over or until()

        wait_until(is_so, "it is so, or a topic stops", within=SECONDS, explain=lambda: self.explain(of))
        forget_all()
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

    def written(self) -> list[tuple[str, str]]:
        """Table and key of each row, as a reader of the chains finds them."""
        root, found = self.bucket / "wal", list[tuple[str, str]]()
        for path in sorted(root.glob("*/chains/*/*/*/log/*.json")):
            for file in json.loads(path.read_bytes())["files"]:
                keys = pq.read_table(root / file["path"], columns=["k"])["k"].to_pylist()
                found.extend((file["table"], key) for key in keys)
        return found

    def has_written(self, rows: Sequence[tuple[str, str]]) -> bool:
        """Whether just these are in the bucket."""
        return sorted(self.written()) == sorted(rows)

    def is_held_at_the_end(self, of: str) -> bool:
        """Whether the source keeps nothing that was handed on."""
        hold = self.site.kube.find(f"{OBJECTS.format(self.site.namespace, 'walholds')}/{of}")
        granted = {} if hold is None else hold.get("status", {}).get("granted", {})
        ends = self.site.eyes.log_ends(f"wal_{self.database.prefix}")
        return bool(granted) and granted == ends

    def wait_until_held(self, of: str) -> None:
        """Until the hold has followed."""
        wait_until(
            lambda: self.is_held_at_the_end(of), "the hold follows", within=SECONDS, explain=lambda: self.explain(of)
        )

    def wait_until_it_streams(self, of: str) -> None:
        """As people read it."""
        wait_until(lambda: self.status(of).get("state") == "Streaming", "it streams", explain=lambda: self.explain(of))

    def run_until(self, of: str, folder: Path, until: Callable[[], bool]) -> None:
        """As many runs as it takes: each stops at what it does not know."""
        for _ in range(8):
            if until():
                return
            self.run(of, folder, until)
        raise AssertionError(self.explain(of))

    def path(self, name: str) -> str:
        """A subscription."""
        return f"{OBJECTS.format(self.site.namespace, 'walsubscriptions')}/{name}"

    def status(self, of: str) -> Object:
        """Of a subscription."""
        found: Object = self.site.kube.request("GET", self.path(of))["status"]
        return found

    def explain(self, of: str) -> str:
        """The subscription, and what the operator logs."""
        return f"{json.dumps(self.status(of), indent=1)}\n{self.site.operators[0].log()[-6000:]}"


def batches_of(request: bytes, folder: Path) -> RecordsBatches | TableBatches:
    """What the driver makes of a request; its Secrets are in a folder of the test's."""
    content = request.replace(b"/etc/seawall/store/key", str(folder).encode())
    if json.loads(request)["sink"] == "Table":
        return TableBatches(parse_table_request(content), write_here)
    return RecordsBatches(parse_records_request(content), run_here)


def forget_all() -> None:
    """As processes that end."""
    process.forget_all()
    table_process.forget()


def run_here(jobs: Sequence[Job], sides: Sides, _: Any) -> list[Copied]:
    """As executors do."""
    return [process.copy(job, sides) for job in jobs]


def write_here(jobs: Sequence[TableJob], sides: TableSides, _: Any) -> list[TableCopied]:
    """The same, of a bucket."""
    return [table_process.copy(job, sides) for job in jobs]


@pytest.fixture
def handed(
    kube: KubeClient, kafka: KafkaProcesses, etcd: EtcdProcess, operator: OperatorProcess, tmp_path: Path
) -> Iterator[HandedOn]:
    """A database without tables."""
    with RefDbProcesses(kafka.bootstrap_servers, etcd, datanodes=1) as database, S3Process() as store:
        site = new_site(kube, kafka, operator)
        try:
            greptimedb = database.declared(autoPrune="Disabled")
            site.declare(topics={"prefix": f"wal_{database.prefix}", "replicationFactor": 1}, greptimedb=greptimedb)
            site.wait_ready()
            found = HandedOn(site, kafka, database, store, store.make_bucket("lake"))
            found.declare(tmp_path)
            yield found
        finally:
            forget_all()
            site.clear()


def test_rows_of_selected_tables_are_there_once_also_of_one_that_is_made_later(
    handed: HandedOn, tmp_path: Path
) -> None:
    has = {"changes": handed.has, "lake": handed.has_written}
    for table in ("first", "secret"):
        handed.make_table(table)
        handed.write(table, "a", "b", "c")
    handed.subscribe()
    first = [("public.first", key) for key in "abc"]
    for of, has_all in has.items():
        assert handed.run(of, tmp_path, lambda has_all=has_all: has_all(first)) == f"{of}-1"  # type: ignore[misc]
    for of in has:
        handed.wait_until_held(of)
        handed.wait_until_it_streams(of)
    assert handed.status("changes")["records"]["progress"]["partitions"] == 2

    handed.make_table("later")
    handed.make_table("secrets_of_later")
    handed.write("secrets_of_later", "x")
    handed.write("later", "d", "e")
    later = [*first, *(("public.later", key) for key in "de")]
    for of, has_all in has.items():
        handed.run_until(of, tmp_path, lambda has_all=has_all: has_all(later))  # type: ignore[misc]
    for of, has_all in has.items():
        handed.wait_until_held(of)
        assert not [row for row in handed.status(of)["topics"] if "stopped" in row]
        handed.site.kube.request("DELETE", handed.path(of))
        wait_until(lambda of=of: handed.site.kube.find(handed.path(of)) is None, "it is gone", within=SECONDS)  # type: ignore[misc]
        assert has_all(later), "what was handed on stays"
