"""What the operator asks of `wal-backup` and takes from it is what the application's contract has as examples."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seawall.api.v1alpha1.backup import BackupManifest, RestorePoint
from seawall.api.v1alpha1.backup_policy import BackupChain
from seawall.api.v1alpha1.backup_template import BackupLevel, BackupStorage
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.domain.backup.contract import BackupPlan, Summary, backup_name, write_request
from seawall.domain.backup.retention import Expiry
from seawall.domain.spark_job.request import PATHS, Subject, kafka_of, read_summary
from seawall.domain.spark_job.selection import RegionRange, TopicRange

CONTRACT = Path(__file__).parents[3] / "spark-apps" / "wal-backup" / "contract"


def example(name: str) -> Any:
    return json.loads((CONTRACT / name).read_text())


def point_of(wanted: Any) -> RestorePoint:
    rows = [{"name": name, "topicId": "any", "readsFrom": at} for name, at in wanted["readsFrom"].items()]
    return RestorePoint.model_validate({**{k: v for k, v in wanted.items() if k != "readsFrom"}, "topics": rows})


def chain_of(wanted: Any) -> BackupChain:
    time = datetime(2026, 11, 1, tzinfo=UTC)
    return BackupChain(**wanted, location="s3://wal", cluster_id="kafka", full_time=time, newest_time=time)


def test_a_request_is_written_as_its_example() -> None:
    wanted = example("backup.json")
    subject = Subject(**wanted["object"], attempt=wanted["backup"]["attempt"])
    storage = BackupStorage.model_validate(
        {
            "s3": {
                "bucket": "wal",
                "prefix": "greptimedb",
                "endpoint": "https://s3.example",
                "expiryCredentialsSecretRef": {"name": "expiry"},
            }
        }
    )
    parent = BackupManifest.model_validate(wanted["parent"])
    plan = BackupPlan(
        backup_name(subject),
        wanted["chain"],
        storage,
        parent,
        BackupLevel.INTEGRITY,
        wanted["databaseVersion"],
        {"max.message.bytes": "1048588"},
        point_of(wanted["restorePoint"]),
        Expiry(*(tuple(map(chain_of, wanted["expire"][name])) for name in ("chains", "stays"))),
    )
    tls = {"bootstrapServers": wanted["kafka"]["bootstrapServers"], "tls": {"caSecretRef": {"name": "ca"}}}
    kafka = kafka_of(ExternalKafka.model_validate(tls), wanted["kafka"]["clusterId"], PATHS)
    (topic,) = wanted["topics"]
    regions = tuple(RegionRange(each["id"], each["readsFrom"], each["flushed"]) for each in topic["regions"])
    ranges = TopicRange(topic["name"], topic["topicId"], topic["logStart"], topic["from"], topic["to"], regions)
    assert json.loads(gzip.decompress(write_request(subject, plan, kafka, (ranges,)))) == wanted


def test_a_verdict_is_read_as_its_example() -> None:
    wanted = example("summary.json")
    found = read_summary(Summary, json.dumps(wanted), wanted["requestDigest"], 0)
    assert isinstance(found, Summary)
    assert found.manifest is not None
    assert found.counts is not None
    assert (found.outcome, found.manifest.name) == (Outcome.PASSED, wanted["manifest"]["name"])
    assert found.expired is not None
    gone = tuple(wanted["expired"]["gone"])
    assert found.expired.as_status(gone).gone == gone
    assert found.expired.as_status(("another",)).gone == ()
    assert (found.verified, found.counts.stored_bytes) == (BackupLevel.INTEGRITY, wanted["counts"]["storedBytes"])
