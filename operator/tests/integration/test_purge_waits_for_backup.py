"""A purge takes what is backed up, and nothing that is not: real Kafka, database, API server, S3 server and job."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from seawall_e2e.backups import once_now
from seawall_e2e.loopback.s3 import S3Process
from seawall_e2e.waiting import wait_until
from tests.integration.test_purge import RUN_SECONDS, Purged, purged_cluster  # noqa: F401 - a fixture
from tests.support.backups import BackupRunner
from tests.support.kube import OBJECTS, Object
from tests.support.spark import SparkOperatorRole, install_spark_crd

pytestmark = pytest.mark.integration

BUCKET = "wal"
SPEC = {"clusterRef": {"name": "wal"}, "verify": {"level": "Checksums"}}
SPARK = {"image": "wal-backup:1", "serviceAccountName": "driver"}


def backups(purged: Purged) -> list[Object]:
    """All, the oldest first."""
    found = purged.site.kube.request("GET", OBJECTS.format(purged.site.namespace, "walbackups"))["items"]
    return sorted(found, key=lambda each: "parentRef" in each["spec"])


def declare(purged: Purged, s3: S3Process) -> None:
    """A backup at once, in a bucket, and the next one a day later."""
    kube, site = purged.site.kube, purged.site
    install_spark_crd(kube)
    kube.create(site.core("serviceaccounts"), {"metadata": {"name": "driver"}})
    storage = {"s3": {"bucket": BUCKET, "endpoint": s3.endpoint, "region": s3.region}}
    kube.merge(site.path(), {"spec": {"backup": {"storage": storage, "spark": SPARK}}})
    spec = {**SPEC, **once_now()}
    kube.create(OBJECTS.format(site.namespace, "walbackuppolicies"), made("WALBackupPolicy", "daily", spec))


def made(kind: str, name: str, spec: dict[str, Any]) -> Object:
    return {"apiVersion": "seawall.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def wait_for_backups(purged: Purged, runner: BackupRunner, count: int) -> list[Object]:
    """Waits until so many are over, which must be well."""

    def over() -> list[Object] | None:
        runner.run_new()
        found = [each for each in backups(purged) if each.get("status", {}).get("stage") in {"Completed", "Failed"}]
        return found if len(found) >= count else None

    def explain() -> str:
        return f"{json.dumps(backups(purged), indent=1)}\n{purged.site.operators[0].log()[-4000:]}"

    found = wait_until(over, f"{count} backups are over", within=2 * RUN_SECONDS, explain=explain)
    assert {each["status"]["stage"] for each in found} == {"Completed"}, explain()
    return found


def ends(backup: Object) -> dict[str, int]:
    return {row["name"]: row["end"] for row in backup["status"]["topics"]}


def check(runner: BackupRunner, purged: Purged, s3: S3Process, folder: Path) -> Any:
    """What the store has, asked without Seawall."""
    kafka = purged.site.read()["status"]["kafka"]["clusterId"]
    storage = {"s3": {"bucket": BUCKET, "endpoint": s3.endpoint, "region": s3.region}}
    request = {"version": 1, "level": "Checksums", "storage": storage, "clusterId": kafka, "chain": None}
    (folder / "check.json").write_text(json.dumps(request))
    _, summary = runner.wal_backup("check", folder / "check.json")
    return json.loads(summary)


def test_a_purge_takes_what_is_backed_up_and_nothing_that_is_not(
    purged_cluster: Callable[..., AbstractContextManager[Purged]],  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    with purged_cluster() as purged, S3Process() as s3:
        s3.make_bucket(BUCKET)
        runner = BackupRunner(SparkOperatorRole(purged.site.kube, purged.site.namespace), s3)
        purged.write()
        declare(purged, s3)
        (first,) = wait_for_backups(purged, runner, 1)
        for _ in range(3):  # a flush that is late, as on a busy machine, leaves its topic to the next run
            purged.write()
            purged.run()
            if purged.log_starts() == ends(first):
                break
        assert purged.log_starts() == ends(first), "purged up to the end of the backup, and held from there on"
        spec = {**SPEC, "parentRef": {"name": first["metadata"]["name"]}}
        purged.site.kube.create(OBJECTS.format(purged.site.namespace, "walbackups"), made("WALBackup", "next", spec))
        _, second = wait_for_backups(purged, runner, 2)
        assert {row["name"]: row["start"] for row in second["status"]["topics"]} == ends(first)
        found = check(runner, purged, s3, tmp_path)
        assert (found["outcome"], found["errors"]) == ("Passed", 0), found
        assert [each["backups"] for each in found["chains"]] == [2]
        assert purged.missing() == set()
