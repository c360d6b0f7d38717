"""A purge takes what is backed up, and nothing that is not: real Kafka, database, API server, S3 server and job."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
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
from tests.support.typed import typed

# In every run, e2e/test_a_lost_kafka_is_restored_and_no_backed_up_row_is_missing.py asks the same on pods.
pytestmark = [pytest.mark.integration, pytest.mark.soak]

BUCKET = "wal"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
"""What kubectl asks the API server for, to print it."""
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


def policy(purged: Purged) -> str:
    """Its path."""
    return f"{OBJECTS.format(purged.site.namespace, 'walbackuppolicies')}/daily"


def printed(purged: Purged) -> dict[str, Any]:
    """What `kubectl get walbp` prints of it, by column."""
    table = purged.site.kube.request("GET", policy(purged), accept=TABLE)
    (row,) = table["rows"]
    return dict(zip((each["name"] for each in table["columnDefinitions"]), row["cells"], strict=True))


def metric(purged: Purged, name: str, of: str, more: str = "") -> float | None:
    """What the operator tells Prometheus of an object."""
    return purged.site.operators[0].metric(f'{name}{{name="{of}",namespace="{purged.site.namespace}"{more}}}')


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


def restore_point(purged: Purged, runner: BackupRunner, parent: str) -> Object:
    """As a person makes one around a snapshot of the database, by the chain of another backup."""
    words = ("--cluster", "wal", "--continues", parent, "--level", "Checksums", "--timeout", "10m")
    with typed(purged.site, "backup", "begin", "next", *words) as begun:
        said = begun.lines()
    assert said[0] == "walbackup/next created"
    assert "take the snapshot now" in said[-1], said
    with typed(purged.site, "backup", "end", "next", "--snapshot", "s1") as ended:
        _, made_ = wait_for_backups(purged, runner, 2)
        said = ended.lines()
    assert said[-2].startswith("Completed: "), said
    assert said[-1] == "Restore point next belongs to snapshot s1: keep the two together."
    point = made_["status"]["restorePoint"]
    assert (point["name"], point["snapshot"], len(point["topics"])) == ("next", "s1", 2)
    with typed(purged.site, "backup", "list") as listed:
        assert [line.split()[:5:2] for line in listed.lines()][-1] == ["next", made_["status"]["chain"], "s1"]
    return made_


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
        wait_until(lambda: metric(purged, "seawall_backups_total", "wal", ',outcome="Passed"') == 1, "it is counted")
        ended = datetime.fromisoformat(first["status"]["completionTime"]).timestamp()
        assert metric(purged, "seawall_last_backup_timestamp_seconds", "wal") == ended
        wait_until(lambda: printed(purged)["Lag"] == 0, "nothing is not backed up")
        for _ in range(3):  # a flush that is late, as on a busy machine, leaves its topic to the next run
            purged.write()
            purged.run()
            if purged.log_starts() == ends(first):
                break
        row = wait_until(lambda: found if (found := printed(purged))["Lag"] > 0 else None, "the lag rises with writes")
        assert (row["BackedUp"], row["Verified"], row["Fulls"]) == ("True", "Checksums", 1), row
        assert row["Last"] not in {"<unknown>", ""}, row
        wait_until(
            lambda: metric(purged, "seawall_backup_lag_bytes", "daily") == printed(purged)["Lag"],
            "it is told",
            explain=lambda: (metric(purged, "seawall_backup_lag_bytes", "daily"), printed(purged)),
        )
        assert purged.log_starts() == ends(first), "purged up to the end of the backup, and held from there on"
        second = restore_point(purged, runner, first["metadata"]["name"])
        assert {row["name"]: row["start"] for row in second["status"]["topics"]} == ends(first)
        found = check(runner, purged, s3, tmp_path)
        assert (found["outcome"], found["errors"]) == ("Passed", 0), found
        assert [each["backups"] for each in found["chains"]] == [2]
        assert purged.missing() == set()
