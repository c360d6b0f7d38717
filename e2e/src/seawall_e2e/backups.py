"""Backups of a WALCluster on the Spark Operator, in a claim, and what a person would find there without Seawall."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seawall_e2e.cluster import REPOSITORY, WALCluster
from seawall_e2e.commands import Object, kubectl, run
from seawall_e2e.objects import apply, get, items
from seawall_e2e.spark_jobs import ACCOUNT, SMALL, SparkJobs
from seawall_e2e.waiting import wait_until

BACKUPS = "backups"
"""The claim that they are kept in."""
USER = 185
POLICY = "minutely"
OVER = frozenset({"Completed", "Failed"})
_CHECK = """
import json, sys
from wal_backup.__main__ import main
open("/tmp/request.json", "w").write(sys.argv[1])
code = main(["check", "--request", "/tmp/request.json", "--summary", "/tmp/summary.json"])
print("SUMMARY " + open("/tmp/summary.json").read())
"""


def build_backup_image() -> str:
    """Builds the image unless it was built, loads it into the cluster, and returns its reference."""
    return run(REPOSITORY / "spark-apps/wal-backup/image.sh", timeout=1200, show_progress=True).strip()


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
        )


class Backups(SparkJobs):
    """What backs one WALCluster up."""

    def __init__(self, wal: WALCluster, image: str) -> None:
        super().__init__(wal, image, "walb,walbp")

    def declare(self) -> None:
        """Lets the WALCluster say where backups go, and which image makes them."""
        self.make_claim(BACKUPS)
        declared = {
            "storage": {"persistentVolumeClaim": BACKUPS},
            "spark": {"image": self._image, "serviceAccountName": ACCOUNT, **SMALL},
        }
        kubectl(*self.wal.patch_command(json.dumps({"spec": {"backup": declared}})))

    def begin(self, **spec: Any) -> None:
        """Makes a policy that backs up every minute, and proves each backup by decoding it."""
        self.declare()
        body = {
            "clusterRef": {"name": self.wal.name},
            "schedule": "* * * * *",
            "verify": {"level": "Integrity"},
            "timeout": "10m",
            "successfulRunsHistoryLimit": 20,
            **spec,
        }
        apply(self._object("seawall.dev/v1alpha1", "WALBackupPolicy", POLICY, body))

    def suspend(self) -> None:
        """No more backups begin."""
        kubectl("-n", self.wal.namespace, "patch", "walbp", POLICY, "--type=merge", '-p={"spec":{"suspend":true}}')

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

    def wait_until_idle(self) -> list[Backup]:
        """Waits until none runs any more."""

        def idle() -> list[Backup] | None:
            found = self.all()
            return found if all(each.stage in OVER for each in found) else None

        return wait_until(idle, "no backup runs", within=180, every=0.5, explain=self.explain)

    def policy(self) -> Object:
        """The status of the policy."""
        found: Object = get(self.wal.namespace, "walbackuppolicies", POLICY).get("status", {})
        return found

    def check(self, cluster_id: str) -> Mapping[str, Any]:
        """What the application says of all that is stored, asked without Seawall: a pod with the claim, read-only."""
        request = {
            "version": 1,
            "level": "Integrity",
            "databaseVersion": None,
            "storage": {"folder": {"path": "/backups"}},
            "clusterId": cluster_id,
            "chain": None,
        }
        said = self.run_to_end(["python", "-c", _CHECK, json.dumps(request)], USER, {BACKUPS: ("/backups", True)})
        found: Mapping[str, Any] = json.loads(said.rpartition("SUMMARY ")[2].splitlines()[0])
        return found

    def table(self) -> str:
        """Policies and backups as `kubectl get` prints them."""
        return self._kubectl("get", "walbp,walb", "-o", "wide")
