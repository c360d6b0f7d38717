"""A world for restores: that of the backups, whose Kafka is lost, with the StatefulSet of the datanodes.

The job is no kinder than a real one: it plans from what the store has, refuses what does not fit the database, writes
only to empty topics of the ids that it was given, and may die half-way with records in them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any, TypeVar

from seawall.api.meta import RESTORE_ANNOTATION, Key
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.api.v1alpha1.spark_job import JobStage, Outcome
from seawall.controllers.ledger import LedgerWatch
from seawall.controllers.restore import WALRestoreController
from seawall.domain.restore.contract import logs_digest
from seawall.reconciler import Reconciler
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.fakes.strimzi import FakeStrimzi
from tests.fakes.workloads import FakeWorkloads
from tests.worlds.backup_world import BackupWorld, Done, Request
from tests.worlds.purge_world import NAMESPACE, TOPICS, WAL, Calls, Guard

BACK = Key(NAMESPACE, "back")
DATANODES = Key(NAMESPACE, "datanode")
SOURCE = {"clusterId": "fake-cluster"}
CHANGES = frozenset(
    {"create", "delete", "replace_status", "write_config_map", "write", "create_topics", "delete_topics"}
)
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
"""When what comes back was written: it keeps its time."""
WRITTEN = 7
"""Rows that the database writes after the last backup, into each topic."""


@dataclass
class RestoreWorld(BackupWorld):
    """All that outlives a process.

    Attributes:
        half_written: how many of the next jobs die with records in the first topic.
        foreign_writer: whether something else writes to the first topic while the next job does.
        broken_store: whether the store lost an object.
        rotten: whether an object of the store has other bytes than were written: a plan, which reads none, is made.
        decodes_none: whether the image is an older one, which knows nothing of decoding.
        undecodable: whether what was backed up has a record that does not decode.
        lost_owners: by topic which region wrote which record, when Kafka was lost.
        ours: ids of the topics that a status has named.
    """

    half_written: int = 0
    foreign_writer: bool = False
    broken_store: bool = False
    rotten: bool = False
    decodes_none: bool = False
    undecodable: bool = False
    written_at: datetime = LONG_AGO
    """The time of what comes back."""
    lost_owners: dict[str, dict[int, int]] = field(default_factory=dict)
    ours: set[str] = field(default_factory=set)
    is_lost: bool = False
    strimzi: FakeStrimzi = field(default_factory=FakeStrimzi)
    opened_early: set[str] = field(default_factory=set)
    """Ids of topics that the database has opened before they were adopted."""
    point: dict[str, Any] | None = None
    """The restore point that the newest plan is about."""
    elsewhere: FakeKafka = field(default_factory=lambda: FakeKafka(cluster_id="another"))
    """Another Kafka, at other:9092."""
    plan_counts: dict[str, int] = field(default_factory=dict)
    """What the job says of its plan, instead of the truth."""

    def __post_init__(self) -> None:
        self.datanodes = FakeWorkloads(now=self.time.now)
        self.datanodes.apply(DATANODES, replicas=3)
        self.datanodes.scale(DATANODES, 3)
        super().__post_init__()

    def spec(self, **greptimedb: Any) -> dict[str, Any]:
        """The WALCluster says which pods the datanodes are."""
        found = super().spec(**greptimedb)
        datanodes = {"statefulSetRef": {"name": DATANODES.name}}
        return {**found, "dataPlane": {**found["dataPlane"], "datanodes": datanodes}}

    # --- what people, Kafka and the database do

    def lose_kafka(self, *topics: str) -> None:
        """Its disks are wiped: the topics are gone, and with them the rows that nobody has backed up or flushed."""
        self.is_lost = True
        kept = {row.name: row.end for row in self.walbackup().status.topics}
        keys = self.store.snapshot().region_keys
        for name in topics or TOPICS:
            self.lost_owners[name] = dict(self.kafka.topics[name].log.owners)
            del self.kafka.topics[name]
            for region in (region for topic, region in keys if topic == name):
                self.rows[region] = [row for row in self.rows[region] if row < kept.get(name, 0)]

    def write(self, topic: str, count: int) -> None:
        """The database reports up to where it has written."""
        super().write(topic, count)
        self.data_plane.newest_ids[topic] = self.kafka.topics[topic].log.end - 1

    def stop_database(self) -> None:
        """Somebody scales the datanodes to nothing. They flush all that they have, and report no more."""
        for region in self.data_plane.regions:
            self.flush(region)
        self.data_plane.reports()
        self.datanodes.scale(DATANODES, 0)
        self.data_plane.stopped = {0, 1, 2}

    def start_database(self) -> None:
        """And back. It opens the logs as they are: what is written to them later it does not have."""
        self.datanodes.scale(DATANODES, 3)
        self.data_plane.stopped = set()
        records = self.records()
        for name, topic in self.kafka.topics.items():
            adopted = name in records and records[name].topic_id == topic.log.topic_id and not records[name].broken
            self.opened_early |= set() if adopted else {str(topic.log.topic_id)}

    def bring_back(self, key: Key = BACK, **spec: Any) -> None:
        """Somebody makes a restore."""
        body = {"clusterRef": {"name": "wal"}, "source": SOURCE, "target": {"latest": True}, "padAboveFlushed": True}
        self.kube.apply(key, {**body, **spec}, kind=WALRestore)

    def approve(self, key: Key = BACK, digest: str | None = None) -> None:
        """Somebody approves the plan."""
        found = self.walrestore(key)
        assert found.status.plan is not None
        raw = self.kube._objects[("WALRestore", key)]["spec"]
        self.kube.apply(key, raw, kind=WALRestore, annotations={RESTORE_ANNOTATION: digest or found.status.plan.digest})

    # --- the operator

    def recorder(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process that watches the ledger, and writes its records."""
        observer = self.observer(calls or Calls(self.check, CHANGES))
        watching = LedgerWatch(self.kube, observer, lambda _: None, lambda _: None, self.meters)
        return Reconciler(watching, may_write=lambda: True)

    def restorer(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process that looks after restores."""
        calls = calls or Calls(self.check, CHANGES)
        clusters = calls.guard(FakeKafkaClusters({"kafka:9092": self.kafka, "other:9092": self.elsewhere}))
        controller = WALRestoreController(
            calls.guard(self.kube),
            calls.guard(self.spark),
            clusters,
            calls.guard(self.datanodes),
            self.observer(calls),
            self.time,
            self.time,
            self.meters,
            strimzi=self.strimzi,
        )
        return Reconciler(controller, may_write=lambda: True)

    def settle_restore(
        self, key: Key = BACK, process: Reconciler[Any, Any, Any, Any] | None = None, ticks: int = 400
    ) -> Any:
        """Ticks until the restore is over and waits for nothing, or as often as told; time goes by."""
        return self.settle_job(process or self.restorer(), WALRestore, key, ticks)

    def live_until(self, stage: RestoreStage, key: Key = BACK) -> WALRestore:
        """Until it is there."""
        process = self.restorer()
        for _ in range(200):
            if self.walrestore(key).status.stage is stage:
                return self.walrestore(key)
            self.settle_restore(key, process, ticks=1)
        raise AssertionError(f"it does not come to {stage}: {self.walrestore(key)}")

    def restored(self, **spec: Any) -> WALRestore:
        """From the plan to the end, as a person does it."""
        self.bring_back(**spec)
        self.live_until(RestoreStage.AWAITING_APPROVAL)
        self.stop_database()
        self.approve()
        found: WALRestore = self.settle_restore()
        return found

    def walrestore(self, key: Key = BACK) -> WALRestore:
        """The restore."""
        found = self.kube.get(WALRestore, key)
        assert found is not None
        return found

    # --- the job

    def run_job(self, request: Request) -> Done | None:
        """Plans, or restores; a plan names all topics that may be restored, and no backup."""
        if "names" in request:
            return self._plan(request)
        return self._restore(request) if "planDigest" in request else super().run_job(request)

    def _end(self, key: Key) -> None:
        found = self.kube.get_config_map(key)
        if found is None:  # its pod cannot mount it, and waits
            return
        request = json.loads(gzip.decompress(found.binary_data["request.json.gz"]))
        if "planDigest" in request and self.half_written:
            self.half_written -= 1
            first = request["topics"][0]
            topic = self.kafka.topics.get(first.get("into", first["name"]))
            if topic is not None:  # somebody may have deleted it; it dies all the same
                topic.log.append(3, self.written_at)
            self.dies += 1
        super()._end(key)

    def planned(self, request: Request) -> dict[str, tuple[int, int, int]] | str | None:
        """By topic where it begins and ends, and up to where it is padded; or a refusal; None: the chain is broken."""
        if self.broken_store:
            return None
        asked = request["target"].get("point")
        points = {key: json.loads(content)["restorePoint"] for key, content in self.stored.items()}
        meant = [key for key, found in points.items() if asked is None or (found and found["name"] == asked)]
        chains = {chain for chain, _ in meant if request["chain"] in {None, chain}}
        if len(chains) != 1:
            return f"there are {len(chains)} chains: say which"
        source = max(meant, key=lambda key: key[1][-14:])
        newest, self.point = json.loads(self.stored[source])["topics"], points[source] if asked else None
        chosen = [name for name in newest if any(fnmatchcase(name, pattern) for pattern in request["topics"])]
        if strange := set(chosen) - set(request["names"]):
            return f"the backup has topic {min(strange)}, which is none of those that may be restored"
        ends = {name: request["target"].get("offsets", {}).get(name, newest[name][2]) for name in chosen}
        found = {
            name: (int(newest[name][1]), int(end), max(int(end), request["padTo"].get(name, 0)))
            for name, end in ends.items()
        }
        for name, (start, _, pad_end) in found.items():
            needs = request["needs"].get(name)
            if self.point is not None:
                needs = {"readsFrom": self.point["readsFrom"].get(name), "end": 0}
            if needs is not None and needs["readsFrom"] is not None and start > needs["readsFrom"]:
                return f"{name} would begin at {start}, and the database reads from {needs['readsFrom']}"
            if needs is not None and pad_end < needs["end"]:
                return f"{name} would end at {pad_end}, and the database has entries up to {needs['end'] - 1}"
        return found

    def _plan(self, request: Request) -> Done:
        found = self.planned(request)
        if found is None:
            finding = {"kind": "ObjectMissing", "object": "data/0.parquet", "topic": None, "offset": None}
            return Outcome.FAILED, "object data/0.parquet is not there", {"findings": [finding]}
        if isinstance(found, str):
            return Outcome.REFUSED, found, {}
        places = ",".join(str(at) for at, name in enumerate(request["names"]) if name in found)
        records = sum(end - start for start, end, _ in found.values())
        counts = {
            "topics": len(found),
            "records": records,
            "bytes": 100 * records,
            "padding": sum(pad_end for *_, pad_end in found.values()) - records,
            "largestRecord": 100,
            "lostAtMost": sum(pad_end - end for _, end, pad_end in found.values()),
        }
        counts |= self.plan_counts
        plan: dict[str, Any] = {"name": "plans/x.json", "digest": _digest(found), "topics": places}
        if self.point is not None:
            plan["restorePoint"] = {"name": self.point["name"], "snapshot": self.point["snapshot"]}
        return Outcome.PASSED, f"{records} records come back", {"plan": plan, "counts": counts}

    def _restore(self, request: Request) -> Done:
        self.check("a job began")
        found = self.planned(request["plan"])
        if not isinstance(found, dict) or _digest(found) != request["planDigest"]:
            return Outcome.REFUSED, "the plan has another digest now", {}
        ids = {topic["name"]: topic["topicId"] for topic in request["topics"]}
        into = {topic["name"]: topic.get("into", topic["name"]) for topic in request["topics"]}
        assert ids.keys() == found.keys()
        for name, topic_id in ids.items():
            topic = self.kafka.topics.get(into[name])
            if topic is None or topic.log.topic_id != topic_id or topic.log.end > 0:
                return Outcome.REFUSED, f"topic {into[name]} is not empty, or is another", {}
            if (kind := topic.configs.get("message.timestamp.type", "CreateTime")) != "CreateTime":
                return Outcome.REFUSED, f"topic {into[name]} has message.timestamp.type={kind}", {}
        return self._written(request, found, into)

    def _written(self, request: Request, found: dict[str, tuple[int, int, int]], into: dict[str, str]) -> Done:
        """What a job answers whose topics are empty."""
        if self.rotten:
            finding = {"kind": "ObjectChanged", "object": "data/0.parquet", "topic": min(found), "offset": 1}
            return Outcome.FAILED, "object data/0.parquet has another SHA-256", {"findings": [finding]}
        for name, (start, end, pad_end) in found.items():
            log = self.kafka.topics[into[name]].log
            assert str(log.topic_id) in self.ours, "it writes to a topic that no status names"
            log.append(pad_end, self.written_at)
            log.delete_before(start)
            log.owners = {at: region for at, region in self.lost_owners.get(name, {}).items() if start <= at < end}
        if self.foreign_writer:
            first = min(found)
            self.kafka.topics[into[first]].log.append(1, LONG_AGO)  # its time is the writer's, as it likes
            finding = {"kind": "NotOurs", "object": None, "topic": first, "offset": found[first][2], "message": "x"}
            return Outcome.FAILED, f"something else wrote to {first}", {"findings": [finding]}
        logs = logs_digest((into[name], start, pad_end) for name, (start, _, pad_end) in found.items())
        more = {"restored": len(found), "logs": logs}
        if request.get("verify") != "Integrity" or self.decodes_none:
            return Outcome.PASSED, f"{len(found)} topics are restored", more
        if self.undecodable:
            finding = {"kind": "MalformedEntry", "object": None, "topic": min(found), "offset": 3, "message": "x"}
            return Outcome.FAILED, f"{min(found)} has a record that does not decode", {"findings": [finding]}
        return Outcome.PASSED, f"{len(found)} topics are restored", {**more, "verified": "Integrity"}

    # --- what is true

    def check(self, after: str = "") -> None:
        """Only topics that a status named go, and no row of the database's with them; a log that is adopted fits."""
        for restore in self.kube.list(WALRestore, NAMESPACE).items:
            self.ours |= {row.topic_id for row in restore.status.topics if row.topic_id is not None}
        if not self.is_lost:
            super().check(after)
            return
        wrong = self.wrong_with_logs()
        assert wrong is None, f"{wrong}, after {after}"

    def wrong_with_logs(self) -> str | None:
        """What a restart of the database would miss, or skip, in a log that Seawall has adopted; None: nothing."""
        snapshot, records = self.store.snapshot(), self.records()
        for topic, region in snapshot.region_keys:
            there = self.kafka.topics.get(topic)
            if there is None or topic not in records or records[topic].topic_id != there.log.topic_id:
                continue
            flushed = self.data_plane.regions[region].flushed
            needed = [row for row in self.rows[region] if row > flushed]
            if not records[topic].broken and str(there.log.topic_id) in self.opened_early:
                return f"{topic} is adopted, and the database has opened it before it was whole"
            if needed and not there.log.log_start <= min(needed) <= max(needed) < there.log.end:
                return f"a row of {topic} is missing"
            if there.log.end <= max(flushed, self.data_plane.regions[region].last):
                return f"a restart would skip new rows of {topic}"
        return None


def _digest(plan: Mapping[str, object]) -> str:
    return sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


WorldT = TypeVar("WorldT", bound=RestoreWorld)


def lost(**attributes: Any) -> RestoreWorld:
    """A world with a backup, some newer rows, and no Kafka any more; the database still runs."""
    return lose(RestoreWorld(), **attributes)


def lose(world: WorldT, **attributes: Any) -> WorldT:
    """The same with a world of one's own."""
    assert world.backed_up().status.stage is JobStage.COMPLETED
    for topic in TOPICS:
        world.write(topic, WRITTEN)
    for _ in range(3):
        world.recorder().tick(WAL)
    world.lose_kafka()
    for name, value in attributes.items():
        setattr(world, name, value)
    return world
