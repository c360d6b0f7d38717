"""The contract with the Spark application: the request, version 2, and the verdict of its driver, version 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1 import verification as api
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.spark_job import Outcome
from seawall.api.v1alpha1.verification import Counts
from seawall.api.v1alpha1.verification_template import VerificationTemplate
from seawall.domain.spark_job.request import PATHS, JobSummary, Subject, kafka_of, store
from seawall.domain.spark_job.selection import TopicRange

VERSION = 2
"""Since 2 with the database's version: an application that does not know it would prove too much, and refuses it."""


def write_request(
    subject: Subject,
    template: VerificationTemplate,
    kafka: ExternalKafka,
    cluster_id: str,
    topics: tuple[TopicRange, ...],
    *,
    database_version: str | None,
    files: Mapping[str, str] = PATHS,
) -> bytes:
    """The request as it is stored, compressed; the same input gives the same bytes.

    `database_version` is "major.minor" or longer; None, where nobody says it, counts as the strictest. `files` are the
    paths of the connection's files by their names in the contract.
    """
    body = {
        "version": VERSION,
        "verification": subject.to_json(),
        "level": template.level.value,
        "databaseVersion": database_version,
        "kafka": kafka_of(kafka, cluster_id, files),
        "topics": [topic.to_json() for topic in topics],
        "snapshot": None if template.snapshot is None else {"uri": template.snapshot.uri},
    }
    return store(body)


class SummaryFinding(StatusModel):
    """A finding, as the driver writes it."""

    kind: Annotated[str, Field(max_length=64)]
    severity: Literal["Error", "Warning"]
    topic: Annotated[str, Field(max_length=249)] | None = None
    offset: Annotated[int, Field(ge=0)] | None = None
    region: Annotated[int, Field(ge=0, lt=2**64)] | None = None
    message: str = ""

    def as_status(self) -> api.Finding:
        """As the status has it."""
        region = None if self.region is None else str(self.region)
        return api.Finding(
            kind=self.kind,
            severity=self.severity,
            topic=self.topic,
            offset=self.offset,
            region=region,
            message=self.message[:1024],
        )


class Summary(JobSummary):
    """The verdict."""

    version: Literal[1]
    report: Annotated[str, Field(max_length=2048)] | None = None
    counts: Counts | None = None
    topics_not_verified: tuple[str, ...] = ()
    topics_not_verified_truncated: bool = False
    findings: tuple[SummaryFinding, ...] = ()

    def proves(self, topic: str) -> bool:
        """Whether the level was proved of a topic of the request."""
        is_verdict = self.outcome in {Outcome.PASSED, Outcome.FAILED}
        return is_verdict and not self.topics_not_verified_truncated and topic not in self.topics_not_verified
