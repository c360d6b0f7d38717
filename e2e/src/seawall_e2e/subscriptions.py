"""WALSubscriptions of a WALCluster, as a person declares them and looks at them; rows in a topic and in a bucket."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from seawall_e2e.acked_rows import TABLE
from seawall_e2e.cluster import PLAINTEXT, REPOSITORY, WALCluster
from seawall_e2e.commands import Object, kubectl, run
from seawall_e2e.object_store import BUCKET, USER, ObjectStore
from seawall_e2e.objects import apply, find, get
from seawall_e2e.spark_jobs import ACCOUNT, SMALL, SparkJobs
from seawall_e2e.toolbox import Toolbox
from seawall_e2e.waiting import wait_until

TARGET = "here"
PREFIX = "rows"
TABLES = {"include": [f"public.{TABLE}"]}
_TOPIC_ROWS, _BUCKET_ROWS = (Path(__file__).with_name(name) for name in ("topic_rows.py", "bucket_rows.py"))
_SPARK_USER = 185
"""Of Spark's images."""


def build_subscription_image() -> str:
    """Builds the image unless it was built, loads it into the cluster, and returns its reference."""
    return run(REPOSITORY / "spark-apps/image.sh", "wal-subscription", timeout=1200, show_progress=True).strip()


class Subscription(SparkJobs):
    """One of a WALCluster, by its name."""

    def __init__(self, wal: WALCluster, image: str, name: str) -> None:
        super().__init__(wal, image, "walsub")
        self.name = name

    def allow(self, **targets: Any) -> None:
        """The WALCluster allows subscriptions to these targets and buckets."""
        spark = {"image": self._image, "serviceAccountName": ACCOUNT, **SMALL}
        kubectl(*self.wal.patch_command(json.dumps({"spec": {"subscription": {"spark": spark, **targets}}})))

    def subscribe(self, sink: Object, **spec: Any) -> None:
        """Somebody subscribes."""
        body = {"clusterRef": {"name": self.wal.name}, "sink": sink, "lagBudget": {"maxBytes": "1Gi"}, **spec}
        apply(self._object("seawall.dev/v1alpha1", "WALSubscription", self.name, body))

    def status(self) -> Object:
        """Its status; empty: nobody has looked at it."""
        found: Object = get(self.wal.namespace, "walsubscriptions", self.name).get("status", {})
        return found

    def wait(self, *states: str, within: float = 180) -> Object:
        """Waits until it is in one of these states."""

        def reached() -> Object | None:
            status = self.status()
            return status if status.get("state") in states else None

        return wait_until(reached, f"it is {' or '.join(states)}", within=within, every=0.5, explain=self.explain)

    def edit(self, **spec: Any) -> None:
        """Somebody edits it."""
        self._kubectl("patch", "walsub", self.name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def delete(self) -> None:
        """Somebody deletes it; returns when nothing that it made is left, what it has handed on apart."""
        self._kubectl("delete", "walsub", self.name, "--wait=false")
        wait_until(lambda: not self.left(), "what it owned is gone", within=120, explain=self.explain)

    def left(self) -> list[str]:
        """What there is of it: hold, requests, applications and their pods."""
        wanted = "walsubscriptions,walholds,sparkapplications,configmaps"
        names = self._kubectl("get", wanted, "-o", "name", "--ignore-not-found").split()
        pods = self._kubectl("get", "pods", "-l", "sparkoperator.k8s.io/app-name", "-o", "name", "--ignore-not-found")
        return [*pods.split(), *(name for name in names if name.partition("/")[2].partition("-")[0] == self.name)]

    def kill_driver(self) -> str:
        """The driver of its run is gone at once; its uid."""
        pod = f"{self.name}-{self.status()['run']['number']}-driver"
        uid = str(get(self.wal.namespace, "pods", pod)["metadata"]["uid"])
        self._kubectl("delete", "pod", pod, "--force", "--grace-period=0")
        return uid

    def hold(self) -> Object | None:
        """Its WALHold, if there is one."""
        return find(self.wal.namespace, "walholds", self.name)

    def held(self) -> dict[str, int]:
        """From where on the source keeps each topic for it."""
        found: dict[str, int] = (self.hold() or {})["spec"]["topics"]
        return found


class Row(NamedTuple):
    """A row of the checker's table, by where it is in the log."""

    topic: str
    offset: int
    row: int
    sequence: int
    operation: str
    key: str
    time: int
    value: str
    """Its digest."""


class RowsInTopic(Subscription):
    """Rows in a topic of the log's own Kafka, all in one partition."""

    @property
    def topic(self) -> str:
        """Where they go."""
        return f"{self.wal.namespace}-{self.name}"

    def begin(self) -> None:
        """Somebody subscribes."""
        self.subscribe({"records": {"target": TARGET, "topic": self.topic}}, tables=TABLES)

    def rows(self, toolbox: Toolbox) -> list[Row]:
        """As a reader of committed ones has them."""
        words = ("exec", "toolbox", "--", "python", "-c", _TOPIC_ROWS.read_text(), ",".join(PLAINTEXT), self.topic)
        return _rows_of(kubectl("-n", toolbox.namespace, *words, timeout=300))

    def clear(self, toolbox: Toolbox) -> None:
        """Its own topics go."""
        for prefix in (self.topic, f"seawall.{self.wal.namespace}.{self.name}."):
            toolbox.delete_topics(prefix)


class RowsInBucket(Subscription):
    """Rows in a bucket."""

    def begin(self) -> None:
        """Somebody subscribes."""
        self.subscribe({"table": {"target": TARGET, "commitInterval": "5s"}}, tables=TABLES)

    def rows(self, store: ObjectStore) -> list[Row]:
        """As a reader of the commits has them."""
        place = (store.storage["s3"]["endpoint"], BUCKET, PREFIX, *store.keys)
        return _rows_of(self.run_to_end(["python", "-c", _BUCKET_ROWS.read_text(), *place], _SPARK_USER, {}))


def targets_of(store: ObjectStore) -> Object:
    """What a WALCluster allows: its own Kafka, and a bucket."""
    s3 = {**store.storage["s3"], "prefix": PREFIX, "credentialsSecretRef": {"name": USER}}
    return {
        "targets": [{"name": TARGET, "kafka": {"bootstrapServers": list(PLAINTEXT)}}],
        "buckets": [{"name": TARGET, "s3": {**s3, "readerCredentialsSecretRef": {"name": USER}}}],
    }


def newest(rows: Sequence[Row]) -> set[tuple[str, int, str]]:
    """What a table has whose rows these are: of each key that with the highest sequence number."""
    found: dict[tuple[str, int], Row] = {}
    for row in rows:
        key = row.key, row.time
        if key not in found or row.sequence >= found[key].sequence:
            found[key] = row
    return {(row.key, row.time, row.value) for row in found.values() if row.operation == "put"}


def digested(key: str, time: int, value: str) -> tuple[str, int, str]:
    """A row that the database answers, as `newest` has them."""
    return key, time, sha256(value.encode()).hexdigest()[:16]


def _rows_of(said: str) -> list[Row]:
    return [Row(*row) for row in json.loads(said.splitlines()[-1])]
