"""The contract with the Spark application `wal-backup`: the requests of a plan and a restore, and their verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import Field

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1.backup_template import BackupLevel, BackupStorage
from seawall.api.v1alpha1.restore import RestoreTarget, WALRestoreSpec
from seawall.api.v1alpha1.restore_status import RestoredPoint, RestoredTopic
from seawall.domain.backup.contract import SummaryFinding, storage_of
from seawall.domain.spark_job.request import JobSummary, Subject, store

VERSION = 1
PLACES = r"^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$"


@dataclass(frozen=True, slots=True)
class ScratchProof:
    """What is proved of records in scratch topics, beside that each is what was backed up; as for a backup."""

    level: BackupLevel
    database_version: str | None


def plan_request(spec: WALRestoreSpec, storage: BackupStorage, topics: Sequence[RestoredTopic]) -> Mapping[str, object]:
    """What of which backup is planned: a pure function of what is recorded, so it can be made again for the restore."""
    source = spec.source
    return {
        "version": VERSION,
        "storage": storage_of(storage),
        "clusterId": source.cluster_id,
        "chain": source.chain,
        "backup": source.backup,
        "target": _target(spec.target),
        "topics": list(spec.topics),
        "padTo": {topic.name: topic.pad_to for topic in topics if topic.pad_to is not None},
        "names": [topic.name for topic in topics],
        "needs": {
            topic.name: {"readsFrom": topic.reads_from, "end": topic.needed_end}
            for topic in topics
            if topic.needed_end is not None
        },
    }


def write_plan_request(
    subject: Subject, spec: WALRestoreSpec, storage: BackupStorage, topics: Sequence[RestoredTopic]
) -> bytes:
    """The request of the plan as it is stored, compressed; no other attempt has these bytes."""
    return store({**plan_request(spec, storage, topics), "object": subject.to_json()})


def write_restore_request(
    subject: Subject,
    plan: Mapping[str, object],
    digest: str,
    kafka: Mapping[str, object],
    topics: Sequence[RestoredTopic],
    *,
    proof: ScratchProof | None = None,
) -> bytes:
    """The request of the restore as it is stored: the plan that was approved, and the topics that were made for it."""
    ids = [
        {"name": topic.name, "topicId": topic.topic_id, **({} if topic.into is None else {"into": topic.into})}
        for topic in topics
    ]
    about: dict[str, object] = {"version": VERSION, "object": subject.to_json()}
    if proof is not None:
        about |= {"verify": proof.level.value, "databaseVersion": proof.database_version}
    return store({**about, "plan": plan, "planDigest": digest, "kafka": kafka, "topics": ids})


def _target(target: RestoreTarget) -> Mapping[str, object]:
    if target.offsets is not None:
        return {"offsets": dict(target.offsets)}
    if target.point is not None:
        return {"point": target.point}
    if target.time is not None:
        return {"time": target.time.isoformat()}
    return {"latest": True}


class PlannedCounts(StatusModel):
    """What a plan comes to."""

    topics: Annotated[int, Field(ge=0)]
    records: Annotated[int, Field(ge=0)]
    bytes: Annotated[int, Field(ge=0)]
    padding: Annotated[int, Field(ge=0)]
    largest_record: Annotated[int, Field(ge=0)]
    lost_at_most: Annotated[int, Field(ge=0)]


class Planned(StatusModel):
    """A plan in the store."""

    name: Annotated[str, Field(max_length=1024)]
    digest: Annotated[str, Field(max_length=64)]
    topics: Annotated[str, Field(max_length=4096, pattern=PLACES)] = ""
    """Which of the request's `names` it has, by their places."""
    restore_point: RestoredPoint | None = None

    def places(self) -> frozenset[int]:
        """The places as numbers."""
        found = set[int]()
        for part in filter(None, self.topics.split(",")):
            first, _, last = part.partition("-")
            found.update(range(int(first), int(last or first) + 1))
        return frozenset(found)


class PlanSummary(JobSummary):
    """The verdict of a plan."""

    version: Literal[1]
    plan: Planned | None = None
    counts: PlannedCounts | None = None
    findings: tuple[SummaryFinding, ...] = ()


class RestoreSummary(PlanSummary):
    """The verdict of a restore."""

    restored: Annotated[int, Field(ge=0)] = 0
    logs: Annotated[str, Field(max_length=64)] | None = None
    """`logs_digest` of what was read back; absent: not all of it was restored."""
    verified: BackupLevel | None = None
    """Integrity if it was decoded, too."""


def logs_digest(logs: Iterable[tuple[str, int, int]]) -> str:
    """SHA-256 over names, first offsets and ends (exclusive) of logs."""
    lines = sorted(f"{name} {start} {end}\n" for name, start, end in logs)
    return sha256("".join(lines).encode()).hexdigest()
