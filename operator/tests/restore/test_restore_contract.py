"""What the operator asks of `wal-backup` for a restore, and takes from it, is what the application's contract has."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from seawall.api.v1alpha1.backup_template import BackupStorage
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.restore import WALRestoreSpec
from seawall.api.v1alpha1.restore_status import RestoredTopic
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.domain.restore.contract import (
    Planned,
    PlanSummary,
    RestoreSummary,
    logs_digest,
    plan_request,
    write_plan_request,
    write_restore_request,
)
from seawall.domain.spark_job.request import PATHS, Subject, kafka_of, read_summary

CONTRACT = Path(__file__).parents[3] / "spark-apps" / "wal-backup" / "contract"
CLAIM = BackupStorage(persistent_volume_claim="backups")
SUBJECT = Subject("greptimedb", "after-the-fire", "0f6b2f7e-6d2b-4c51-9e0b-0a8f1a1f7c11", 2)
TOPICS = (
    RestoredTopic(
        name="wal_0", pad_to=4800, reads_from=20, needed_end=4800, planned=True, topic_id="6h5pFq2vQ0yFZ8mJ1rT3bw"
    ),
    RestoredTopic(name="wal_1"),
)


def example(name: str) -> Any:
    return json.loads((CONTRACT / name).read_text())


def spec(wanted: dict[str, Any]) -> WALRestoreSpec:
    source = {name: wanted[name] for name in ("clusterId", "chain", "backup")}
    body = {"clusterRef": {"name": "wal"}, "source": source, "target": wanted["target"], "topics": wanted["topics"]}
    return WALRestoreSpec.model_validate(body, by_alias=True, by_name=False)


def test_the_request_of_a_plan_is_written_as_its_example() -> None:
    wanted = example("plan.json")
    written = json.loads(gzip.decompress(write_plan_request(SUBJECT, spec(wanted), CLAIM, TOPICS)))
    assert written.pop("target") == {"time": "2026-11-24T18:29:00+00:00"}
    assert written == {name: value for name, value in wanted.items() if name != "target"}


def test_the_request_of_a_restore_is_written_as_its_example() -> None:
    wanted = example("restore.json")
    kafka = {"bootstrapServers": wanted["kafka"]["bootstrapServers"], "tls": {"caSecretRef": {"name": "ca"}}}
    reached = kafka_of(ExternalKafka.model_validate(kafka), wanted["kafka"]["clusterId"], PATHS)
    plan = plan_request(spec(wanted["plan"]), CLAIM, TOPICS)
    assert (
        json.loads(gzip.decompress(write_restore_request(SUBJECT, plan, wanted["planDigest"], reached, TOPICS[:1])))
        == wanted
    )


def test_verdicts_are_read_as_their_examples() -> None:
    wanted = example("plan-summary.json")
    found = read_summary(PlanSummary, json.dumps(wanted), wanted["requestDigest"], 0)
    assert isinstance(found, PlanSummary)
    assert found.plan is not None
    assert found.counts is not None
    assert (found.plan.places(), found.plan.digest) == (frozenset({0}), wanted["plan"]["digest"])
    assert (found.counts.records, found.counts.largest_record, found.counts.lost_at_most) == (4691, 1021, 88)
    wanted = example("restored-summary.json")
    whole = read_summary(RestoreSummary, json.dumps(wanted), wanted["requestDigest"], 0)
    assert isinstance(whole, RestoreSummary)
    assert whole.logs == logs_digest([("wal_0", 20, 4800)])
    wanted = example("restore-summary.json")
    restored = read_summary(RestoreSummary, json.dumps(wanted), wanted["requestDigest"], 1)
    assert isinstance(restored, RestoreSummary)
    assert (restored.outcome, restored.restored) == (Outcome.FAILED, 0)
    assert [each.kind for each in restored.findings] == ["NotOurs"]


@pytest.mark.parametrize(
    ("text", "places"), [("", set()), ("0", {0}), ("1-3", {1, 2, 3}), ("0-1,4,7-8", {0, 1, 4, 7, 8})]
)
def test_places_are_read_as_ranges(text: str, places: set[int]) -> None:
    assert Planned(name="x", digest="d", topics=text).places() == places


@pytest.mark.parametrize("text", ["-1", "1-", "a", "1,,2", "1-2-3"])
def test_what_is_no_range_is_no_verdict(text: str) -> None:
    with pytest.raises(ValidationError):
        Planned(name="x", digest="d", topics=text)
