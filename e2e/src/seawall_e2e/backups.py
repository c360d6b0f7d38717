"""Backups of a WALCluster on the Spark Operator, in a claim or an object store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from seawall_e2e.cluster import REPOSITORY, WALCluster
from seawall_e2e.commands import Object, kubectl, run
from seawall_e2e.objects import apply, items
from seawall_e2e.spark_jobs import ACCOUNT, SMALL, STORAGE_USER, SparkJobs
from seawall_e2e.waiting import wait_until

BACKUPS = "backups"
"""The claim that they are kept in, where no store is given."""
POLICY, NEXT = "daily", "next"
SNAPSHOTS, STORAGE = "snapshots", "refdb-storage"
SNAPSHOT = Path(__file__).with_name("database_snapshot.py")


def build_backup_image() -> str:
    """Builds the image unless it was built, loads it into the cluster, and returns its reference."""
    return run(REPOSITORY / "spark-apps/wal-backup/image.sh", timeout=1200, show_progress=True).strip()


def once_now() -> Object:
    """What a policy needs that backs up at once, and then in a day or so."""
    before = datetime.now(UTC) - timedelta(minutes=2)
    return {"immediate": True, "schedule": f"{before.minute} {before.hour} * * *"}


@dataclass(frozen=True, slots=True)
class Backup:
    """A WALBackup, as its status says."""

    name: str
    parent: str | None
    stage: str | None
    reason: str
    chain: str | None
    verified: str | None
    ranges: Mapping[str, tuple[int, int]]
    """Topic → where it begins, and where it ends."""
    records: int
    findings: frozenset[str]
    """Kinds of what is wrong with it."""

    @classmethod
    def of(cls, found: Object) -> Backup:
        """Reads it."""
        status = found.get("status", {})
        ready: Object = next((each for each in status.get("conditions", ()) if each["type"] == "Ready"), {})
        return cls(
            found["metadata"]["name"],
            found["spec"].get("parentRef", {}).get("name"),
            status.get("stage"),
            ready.get("reason", ""),
            status.get("chain"),
            status.get("verified", {}).get("level"),
            {each["name"]: (each["start"], each["end"]) for each in status.get("topics", ())},
            status.get("counts", {}).get("records", 0),
            frozenset(str(each["kind"]) for each in status.get("findings", ())),
        )


class Backups(SparkJobs):
    """What backs one WALCluster up. `storage` is as in `spec.backup`; absent: a claim."""

    def __init__(self, wal: WALCluster, image: str, storage: Mapping[str, Any] | None = None) -> None:
        super().__init__(wal, image, "walb,walbp,walrs")
        self._storage = storage

    def declare(self) -> None:
        """Lets the WALCluster say where backups go, and which image makes them."""
        if self._storage is None:
            self.make_claim(BACKUPS)
        declared = {
            "storage": self._storage or {"persistentVolumeClaim": BACKUPS},
            "spark": {"image": self._image, "serviceAccountName": ACCOUNT, **SMALL},
        }
        kubectl(*self.wal.patch_command(json.dumps({"spec": {"backup": declared}})))

    def begin_once(self, **spec: Any) -> None:
        """Makes a policy that backs up at once, and decodes it; the next one is a day later."""
        self.declare()
        body = {
            "clusterRef": {"name": self.wal.name},
            **once_now(),
            "verify": {"level": "Integrity"},
            "timeout": "10m",
            **spec,
        }
        apply(self._object("seawall.dev/v1alpha1", "WALBackupPolicy", POLICY, body))

    def continue_from(self, parent: Backup) -> None:
        """Begins an incremental backup by hand, NEXT."""
        self.begin(NEXT, parentRef={"name": parent.name})

    def back_up(self, name: str, **spec: Any) -> Backup:
        """A full backup by hand, to its end."""
        self.begin(name, **spec)
        return self.wait_for(name)

    def begin(self, name: str, **spec: Any) -> None:
        """Begins a backup by hand."""
        body = {"clusterRef": {"name": self.wal.name}, "verify": {"level": "Integrity"}, "timeout": "10m", **spec}
        apply(self._object("seawall.dev/v1alpha1", "WALBackup", name, body))

    def wait_for(self, name: str) -> Backup:
        """Waits for the end of a backup, which completes."""

        def completed() -> Backup | None:
            found = next(each for each in self.all() if each.name == name)
            if found.stage == "Failed":
                raise AssertionError(f"{found}\n{self.explain()}")
            return found if found.stage == "Completed" else None

        return wait_until(completed, f"backup {name} completed", within=240, every=0.5, explain=self.explain)

    def begin_point(self, name: str) -> None:
        """A person begins a restore point, and waits until the log is held."""
        self.declare()
        bracket = {"name": name, "timeout": "10m"}
        body = {"clusterRef": {"name": self.wal.name}, "bracket": bracket, "timeout": "10m"}
        apply(self._object("seawall.dev/v1alpha1", "WALBackup", name, body))
        self._kubectl("wait", f"walb/{name}", "--for=condition=Bracketed", "--timeout=60s")

    def end_point(self, name: str, snapshot: str) -> Backup:
        """They say that the snapshot is taken, and wait until the log is backed up to beyond it."""
        self._kubectl("annotate", f"walb/{name}", f"seawall.dev/snapshot-done={snapshot}")
        return self.wait_for(name)

    def run_snapshot(self, verb: str, name: str) -> str:
        """Saves the reference database as a snapshot of this name in a claim, or restores it."""
        if verb == "save":
            self.make_claim(SNAPSHOTS)
        program = ["python", "-c", SNAPSHOT.read_text(), verb, "http://etcd:2379", "/storage", f"/snapshots/{name}"]
        mounts = {STORAGE: ("/storage", verb == "save"), SNAPSHOTS: ("/snapshots", False)}
        return self.run_to_end(program, STORAGE_USER, mounts)

    def all(self) -> list[Backup]:
        """All, the oldest first."""
        return sorted(map(Backup.of, items(self.wal.namespace, "walbackups")), key=lambda each: each.name)

    def wait_until_completed(self, count: int, *, within: float = 240) -> list[Backup]:
        """Waits until so many have completed; one that failed ends the wait."""

        def completed() -> list[Backup] | None:
            found = self.all()
            failed = [each for each in found if each.stage == "Failed"]
            if failed:
                raise AssertionError(f"{failed}\n{self.explain()}")
            done = [each for each in found if each.stage == "Completed"]
            return done if len(done) >= count else None

        return wait_until(completed, f"{count} backups completed", within=within, every=0.5, explain=self.explain)

    def published(self) -> str:
        """All that people with few rights may read of these jobs: objects, events, and what their drivers said.

        Executors' pods are gone when a job has ended: what they write is read in `test_attempts.py` of wal-backup.
        """
        kinds = f"{self._kinds},walc,configmaps,events,pods,sparkapplications"
        logs = self._kubectl("logs", "-l", "spark-role=driver", "--tail=-1", "--ignore-errors")
        return f"{self._kubectl('get', kinds, '-o', 'yaml')}\n{logs}"

    def table(self) -> str:
        """Policies, backups and restores as `kubectl get` prints them."""
        return self._kubectl("get", "walbp,walb,walrs", "-o", "wide")
