"""`seawall report`: all that may be read is in the archive, and no secret that was planted anywhere."""

from __future__ import annotations

import argparse
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from seawall.cli.redaction import REMOVED, clean_text
from seawall.cli.report import collect, write
from seawall.domain.errors import Forbidden

PLANTED = "hunter2-planted"
"""Below the length at which a word is taken for data: what is around it must give it away."""
RECORD = "cGxhbnRlZCByZWNvcmQ" * 6
PAGE_KEY = "page-key-of-the-operator-xxxxxxxxxxxxxxxxxx"
PEM = f"-----BEGIN PRIVATE KEY-----\n{PLANTED}\n-----END PRIVATE KEY-----"
BASE = "/apis/seawall.dev/v1alpha1/namespaces/db"
PAGES = "/api/v1/namespaces/seawall/pods/https:seawall-0:8443/proxy"
CLUSTER: dict[str, Any] = {
    "metadata": {
        "name": "wal",
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": PLANTED,
            "seawall.dev/readopt": f"restored with token={PLANTED}@2026-11-25T12:00:00Z",
        },
        "managedFields": [{"f": PLANTED}],
    },
    "spec": {
        "kafka": {"external": {"sasl": {"credentialsSecretRef": {"name": "kafka-user"}}}},
        "backup": {"storage": {"uri": f"s3://me:{PLANTED}@bucket/wal"}},
        "env": [{"name": "KAFKA_PASSWORD", "value": PLANTED}],
        "password": f"several lines\n{PLANTED}\n",
        "message": f"{'many words ' * 20} password: {PLANTED}",
        "verification": {"spark": {"conf": {"spark.hadoop.fs.s3a.secret.key": PLANTED}}},
    },
    "status": {"conditions": [{"type": "Ready", "reason": "Ready", "message": "digest " + "a" * 64}]},
}
LOG = f"""INFO seawall: the ledger was looked at
ERROR client: sasl.password={PLANTED} was refused; "password": "{PLANTED}"
DEBUG http: Authorization: Bearer {PLANTED}
DEBUG http: GET /ledger/db/wal?key={PAGE_KEY}
DEBUG record {RECORD} of wal_0
{PEM}
INFO seawall: it goes on
"""


class FakeApi:
    """An API server where everything may be read but backups."""

    def get(self, path: str) -> dict[str, Any] | None:
        page, _, query = path.partition("?")
        if page.endswith("walbackups"):
            raise Forbidden("walbackups is forbidden")
        lease = {
            "metadata": {"annotations": {"seawall.dev/page-key": PAGE_KEY, "seawall.dev/version": "9.9.9"}},
            "spec": {"holderIdentity": "seawall-0"},
        }
        events = [
            {"involvedObject": {"apiVersion": "seawall.dev/v1alpha1"}, "message": f"secret: {PLANTED} is wrong"},
            {"involvedObject": {"apiVersion": "v1"}, "message": "of somebody else"},
        ]
        assert not query or PAGE_KEY in query
        found: dict[str, dict[str, Any]] = {
            f"{BASE}/walclusters": {"items": [CLUSTER]},
            f"{BASE}/walholds": {"items": []},
            "/apis/coordination.k8s.io/v1/namespaces/seawall/leases/seawall": lease,
            "/version": {"gitVersion": "v1.34.4"},
            "/api/v1/namespaces/db/events": {"items": events},
            f"{PAGES}/ledger/db/wal": {"topics": [{"name": "wal_0"}], "lookedAt": "now"},
        }
        return found.get(page)

    def read_text(self, path: str) -> str | None:
        return {f"{PAGES}/metrics?key={PAGE_KEY}": "seawall_leader 1\n"}.get(path, LOG)


def texts() -> dict[str, str]:
    arguments = argparse.Namespace(operator="seawall/seawall", namespace="db", walcluster="wal")
    return collect(arguments, FakeApi(), lambda: "WALCluster db/wal: Ready")


def test_no_planted_secret_nor_record_is_in_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "report.tar.gz"
    write(path, texts(), datetime(2026, 11, 25, tzinfo=UTC))
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as archive:
        members = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        whole = {name: found.read().decode() for name, found in members.items() if found is not None}
    assert len(whole) > 8
    for name, text in whole.items():
        for secret in (PLANTED, PAGE_KEY, RECORD, RECORD[:40]):
            assert secret not in text, name
    with pytest.raises(FileExistsError):
        write(path, {}, datetime(2026, 11, 25, tzinfo=UTC))


def test_what_helps_is_left() -> None:
    found = texts()
    assert "operator 9.9.9" in found["versions.txt"]
    assert "v1.34.4" in found["kubernetes.yaml"]
    assert found["status.txt"] == "WALCluster db/wal: Ready"
    assert "a" * 64 in found["objects/walclusters.yaml"], "a digest stays"
    assert "reason: Ready" in found["objects/walclusters.yaml"]
    assert "of somebody else" not in found["events.yaml"]
    assert "wal_0" in found["ledger.yaml"]
    assert found["operator/metrics.txt"] == "seawall_leader 1\n"
    log = found["operator/log.txt"]
    assert log.startswith("INFO seawall: the ledger was looked at\n")
    assert log.endswith("INFO seawall: it goes on\n")
    assert f"record {REMOVED} of wal_0" in log


def test_what_may_not_be_read_is_said() -> None:
    lines = texts()["not-read.txt"].splitlines()
    assert "objects/walbackups.yaml: walbackups is forbidden" in lines
    assert "objects/walpurges.yaml: there is none" in lines


@pytest.mark.parametrize(
    "text",
    [
        f"password: {PLANTED}",
        f'"apiKey" : "{PLANTED}"',
        f"--token={PLANTED} --other",
        f"kafka://user:{PLANTED}@host:9092",
        f"redis://:{PLANTED}@host:6379",
        f"postgresql://user:a/{PLANTED}@host",
        f'{{"password": "a\\"{PLANTED}"}}',
        f"sasl.jaas.config='x password={PLANTED}'",
        f"basic {PLANTED}",
        f"https://store/x?X-Amz-Signature={PLANTED}&y=1",
        PEM,
        PEM.partition("-----END")[0],
    ],
)
def test_a_secret_is_known_by_what_is_around_it(text: str) -> None:
    assert PLANTED not in clean_text(text)
    assert REMOVED in clean_text(text)
