"""A world for backups: that of the verifications, with a Spark whose jobs copy the logs as they are into a store.

A job is no kinder than a real one: it fails when the log is not the one that it was told of, refuses a parent that the
store does not have, and may die after its manifest is there and before it said so.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.controllers.backup import WALBackupController
from seawall.controllers.backup_policy import WALBackupPolicyController
from seawall.domain.spark_job.application import Ended
from seawall.domain.spark_job.request import EXIT_CODES
from seawall.reconciler import Reconciler
from tests.worlds.purge_world import NAMESPACE, WAL, Calls, Guard
from tests.worlds.verification_world import VerificationWorld

FULL, NEXT, POLICY = Key(NAMESPACE, "full"), Key(NAMESPACE, "next"), Key(NAMESPACE, "p")
STORAGE: dict[str, Any] = {"s3": {"bucket": "wal", "prefix": "greptimedb"}}
BACKUP: dict[str, Any] = {"storage": STORAGE, "spark": {"image": "wal-backup:1"}}

Request = Mapping[str, Any]
Done = tuple[Outcome, str, dict[str, Any]]
"""How a job ended, its sentence, and what else it says."""


def _digest_of(request: Request) -> str:
    return sha256(json.dumps({**request, "expire": None}, sort_keys=True).encode()).hexdigest()


@dataclass
class BackupWorld(VerificationWorld):
    """All that outlives a process.

    Attributes:
        stored: the manifests of the store, by chain and name, as bytes.
        forged: manifests that somebody changed.
        damaged: whether the store loses bytes of what is written, so that the proof fails.
        dies_late: how many of the next drivers die when their manifest is there.
        locked: whether the bucket lets nothing go.
        deleted: chains that were deleted, in that order.
        old_image: whether the job knows nothing of restore points.
        declared: what the WALCluster says of backups; None: nothing.
    """

    stored: dict[tuple[str, str], bytes] = field(default_factory=dict)
    forged: set[tuple[str, str]] = field(default_factory=set)
    damaged: bool = False
    dies_late: int = 0
    old_image: bool = False
    locked: bool = False
    deleted: list[str] = field(default_factory=list)
    declared: dict[str, Any] | None = field(default_factory=lambda: dict(BACKUP))

    def spec(self, **greptimedb: Any) -> dict[str, Any]:
        """The WALCluster says where backups go."""
        found = super().spec(**greptimedb)
        return found if self.declared is None else {**found, "backup": self.declared}

    def declare(self, declared: dict[str, Any] | None) -> None:
        """Its owner edits what it says of backups."""
        self.declared = declared
        self.kube.apply(WAL, self.spec())

    def back_up(self, key: Key = FULL, **spec: Any) -> None:
        """Somebody makes a backup; others than the first continue another one."""
        self.kube.apply(key, {"clusterRef": {"name": "wal"}, **spec}, kind=WALBackup)

    def backer(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process that looks after backups."""
        calls = calls or Calls(self.check)
        controller = WALBackupController(
            calls.guard(self.kube), calls.guard(self.spark), self.observer(calls), self.time, self.meters
        )
        return Reconciler(controller, may_write=lambda: True)

    def planner(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process that looks after policies of backups."""
        calls = calls or Calls(self.check)
        controller = WALBackupPolicyController(calls.guard(self.kube), self.time, self.meters)
        return Reconciler(controller, may_write=lambda: True)

    def settle_backup(
        self, key: Key = FULL, process: Reconciler[Any, Any, Any, Any] | None = None, ticks: int = 400
    ) -> Any:
        """Ticks until the backup is over and waits for nothing, or as often as told; time goes by."""
        return self.settle_job(process or self.backer(), WALBackup, key, ticks)

    def backed_up(self, key: Key = FULL, **spec: Any) -> Any:
        """A backup, from its beginning to its end."""
        self.back_up(key, **spec)
        return self.settle_backup(key)

    def walbackup(self, key: Key = FULL) -> WALBackup:
        """The backup."""
        found = self.kube.get(WALBackup, key)
        assert found is not None
        return found

    def judge(self, key: Key) -> tuple[str, int]:
        """What the job says of its request, after it did what it says."""
        found = self.kube.get_config_map(key)
        assert found is not None
        raw = gzip.decompress(found.binary_data["request.json.gz"])
        done = self.run_job(json.loads(raw))
        if done is None:
            return super().judge(key)
        outcome, message, more = done
        body = {"version": 1, "requestDigest": sha256(raw).hexdigest(), "outcome": outcome, "message": message, **more}
        return json.dumps(body), EXIT_CODES[outcome]

    def run_job(self, request: Request) -> Done | None:
        """Does what a request says; None: it is none of `wal-backup`. Nothing is restored here (`RestoreWorld`)."""
        if "names" in request:
            return Outcome.REFUSED, "the store has no such backup", {}
        return self._copy(request) if "backup" in request else None

    def others_of(self, chain: str, end: str, name: str) -> list[str]:
        """Manifests at this place of a chain that are not of this backup, as the store's condition shows them."""
        return [each for found, each in self.stored if found == chain and each.endswith(end) and name not in each]

    def _copy(self, request: Request) -> Done:
        parent = request["parent"]
        before = None if parent is None else self.stored.get((request["chain"], parent["name"]))
        if parent is not None and (before is None or sha256(before).hexdigest() != parent["digest"]):
            return Outcome.FAILED, f"the store has no manifest {parent['name']} of this digest", {}
        place, whom = 0 if before is None else json.loads(before)["place"] + 1, request["backup"]
        end = f"-{place:06}.json.gz"
        others = self.others_of(request["chain"], end, whom["name"])
        if others:
            return Outcome.FAILED, f"the chain goes on with {others[0]} already", {}
        gone = [topic["name"] for topic in request["topics"] if not self._is_this(topic)]
        if gone:
            return Outcome.FAILED, f"topic {gone[0]} is not the log that was meant", {}
        if self.damaged:
            finding = {
                "kind": "ObjectChanged",
                "object": "data/0.parquet",
                "topic": None,
                "offset": None,
                "message": "x",
            }
            return Outcome.FAILED, "an object is not what was written", {"findings": [finding], "errors": 1}
        name = f"{whom['name']}-{whom['attempt']}{end}"
        known, digest = self.stored.get((request["chain"], name)), _digest_of(request)
        if known is not None:  # as when its application was deleted, and it is made once more
            is_same = json.loads(known)["request"] == digest
            return (
                Outcome.INTERRUPTED if is_same else Outcome.REFUSED,
                f"the manifest {name} is there already: nothing is overwritten",
                {},
            )
        topics = {topic["name"]: [topic["topicId"], topic["from"], topic["to"]] for topic in request["topics"]}
        body = {
            "request": digest,
            "place": place,
            "parent": parent,
            "topics": topics,
            "restorePoint": request["restorePoint"],
        }
        content = json.dumps(body).encode()
        self.stored[request["chain"], name] = content
        counts = {"records": sum(end - start for _, start, end in topics.values()), "bytes": 7, "storedBytes": 3}
        manifest = {"name": name, "digest": sha256(content).hexdigest()}
        more = {"manifest": manifest, "verified": request["verify"], "counts": {**counts, "objects": 1}}
        if request["restorePoint"] is not None and not self.old_image:
            more["restorePoint"] = request["restorePoint"]["name"]
        if request["expire"] is not None:
            more["expired"] = self._delete(request["expire"], request["chain"])
        return Outcome.PASSED, f"it is in {name}", more

    def _delete(self, expire: Request, own: str) -> dict[str, Any]:
        """Whole chains that are what was meant, while what is to stay is there; what is gone is gone."""
        for each in expire["stays"]:
            full = self.stored.get((each["name"], each["full"]["name"]))
            if full is None or sha256(full).hexdigest() != each["full"]["digest"]:
                return {"gone": [], "problem": "LeftAlone", "message": f"chain {each['name']} is not there"}
        names = [each["name"] for each in expire["chains"]]
        assert expire["stays"], "nothing is named that is to stay"
        assert own not in names, "a backup deletes its own chain"
        if self.locked:
            return {"gone": [], "problem": "Locked", "message": f"chain {names[0]} is locked"}
        for name in names:
            self.deleted += [name] if any(chain == name for chain, _ in self.stored) else []
            self.stored = {key: content for key, content in self.stored.items() if key[0] != name}
        return {"gone": names, "problem": None, "message": ""}

    def _is_this(self, topic: Mapping[str, Any]) -> bool:
        found = self.kafka.topics.get(topic["name"])
        is_same = found is not None and str(found.log.topic_id) == topic["topicId"]
        return is_same and self._is_there(dict(topic))

    def run_spark(self) -> None:
        """A driver whose application was deleted does what it was to do until it is ended, and nobody hears of it.

        But it deletes no chain: what cannot be stopped there is documented (docs/backup.md).
        """
        for key in self.spark.outliving():
            found = self.kube.get_config_map(key)
            if found is not None:
                request = json.loads(gzip.decompress(found.binary_data["request.json.gz"]))
                self.run_job({**request, "expire": None})
        super().run_spark()

    def _end(self, key: Key) -> None:
        if self.dies_late:
            self.dies_late -= 1
            self.judge(key)
            self.spark.report(key, "FAILED", driver=Ended(137, ""))
            return
        super()._end(key)

    def check(self, after: str = "") -> None:
        """What a status names is in the store, and continues its parent without a gap, in the same log."""
        super().check(after)
        wrong = self.wrong_with_chains()
        assert wrong is None, f"{wrong}, after {after}"

    def wrong_with_chains(self) -> str | None:
        """What a status names that is not so; None: all is."""
        children: dict[str, str] = {}
        for backup in self.kube.list(WALBackup, NAMESPACE).items:
            name, status = backup.metadata.name, backup.status
            if status.manifest is None or (status.chain, status.manifest.name) in self.forged:
                continue
            if status.chain in self.deleted:
                continue
            content = self.stored.get((status.chain or "", status.manifest.name))
            if content is None or sha256(content).hexdigest() != status.manifest.digest:
                return f"the manifest that {name} names is not in the store"
            body = json.loads(content)
            if {row.name: [row.topic_id, row.start, row.end] for row in status.topics} != body["topics"]:
                return f"the status of {name} says what its manifest does not"
            parent = body["parent"]
            before = {} if parent is None else json.loads(self.stored[status.chain or "", parent["name"]])["topics"]
            for topic, (topic_id, start, _) in body["topics"].items():
                if topic in before and [topic_id, start] != [before[topic][0], before[topic][2]]:
                    return f"{name} has a gap in {topic}"
            if parent is not None and children.setdefault(parent["name"], name) != name:
                return f"{name} and {children[parent['name']]} continue one parent"
        return None
