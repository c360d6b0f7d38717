"""The contract with the Spark application: the request, version 2, and the verdict of its driver, version 1."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1 import verification as api
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.verification import Counts, Outcome
from seawall.api.v1alpha1.verification_template import VerificationTemplate
from seawall.domain.verification.selection import TopicRange

VERSION = 2
"""Since 2 with the database's version: an application that does not know it would prove too much, and refuses it."""
FILE = "request.json.gz"
MAX_BYTES = 1_000_000
"""What a ConfigMap takes is 1 MiB, names and labels included."""

PIECE = 2**16

KAFKA_FOLDER = "/etc/seawall/kafka"
"""Where the Secrets of the connection are, in the driver."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Which attempt of which verification."""

    namespace: str
    name: str
    uid: str
    attempt: int

    def to_json(self) -> dict[str, object]:
        """As the contract has it."""
        return {"namespace": self.namespace, "name": self.name, "uid": self.uid, "attempt": self.attempt}


def write_request(
    subject: Subject,
    template: VerificationTemplate,
    kafka: ExternalKafka,
    cluster_id: str,
    topics: tuple[TopicRange, ...],
    *,
    database_version: str | None,
    files: dict[str, str] | None = None,
) -> bytes:
    """The request as it is stored, compressed; the same input gives the same bytes.

    `database_version` is "major.minor" or longer; None, where nobody says it, counts as the strictest. `files` are the
    paths of the connection's files by their names in the contract; left out, those in the driver's pod.
    """
    body = {
        "version": VERSION,
        "verification": subject.to_json(),
        "level": template.level.value,
        "databaseVersion": database_version,
        "kafka": _kafka(kafka, cluster_id, files or PATHS),
        "topics": [_topic(topic) for topic in topics],
        "snapshot": None if template.snapshot is None else {"uri": template.snapshot.uri},
    }
    return gzip.compress(json.dumps(body, separators=(",", ":")).encode(), mtime=0)


def database_version(cluster: WALCluster, spec: WALClusterSpec) -> str | None:
    """The oldest version that runs, whose reader must get along with the log; what is declared, if none is known."""
    running = None if cluster.status.data_plane is None else cluster.status.data_plane.version
    return running or (None if spec.greptimedb is None else spec.greptimedb.version)


PATHS = {
    "caFile": f"{KAFKA_FOLDER}/ca/ca.crt",
    "certFile": f"{KAFKA_FOLDER}/client/tls.crt",
    "keyFile": f"{KAFKA_FOLDER}/client/tls.key",
    "usernameFile": f"{KAFKA_FOLDER}/sasl/username",
    "passwordFile": f"{KAFKA_FOLDER}/sasl/password",
}


def digest_of(stored: bytes) -> str | None:
    """SHA-256 of a stored request's own bytes, which a verdict about it names; None: it is no compressed text.

    What somebody else stored may unpack to anything, so it is never in memory as a whole.
    """
    found = sha256()
    try:
        with gzip.open(BytesIO(stored)) as unpacked:
            while piece := unpacked.read(PIECE):
                found.update(piece)
    except (OSError, EOFError, zlib.error):
        return None
    return found.hexdigest()


def _kafka(kafka: ExternalKafka, cluster_id: str, files: dict[str, str]) -> dict[str, object]:
    tls, sasl = kafka.tls, kafka.sasl
    has_ca = tls is not None and tls.ca_secret_ref is not None
    has_cert = tls is not None and tls.client_cert_secret_ref is not None
    return {
        "bootstrapServers": list(kafka.bootstrap_servers),
        "clusterId": cluster_id,
        "tls": None
        if tls is None
        else {
            "caFile": files["caFile"] if has_ca else None,
            "certFile": files["certFile"] if has_cert else None,
            "keyFile": files["keyFile"] if has_cert else None,
        },
        "sasl": None
        if sasl is None
        else {
            "mechanism": sasl.mechanism,
            "usernameFile": files["usernameFile"],
            "passwordFile": files["passwordFile"],
        },
    }


def _topic(topic: TopicRange) -> dict[str, object]:
    regions = [{"id": each.region_id, "readsFrom": each.reads_from, "flushed": each.flushed} for each in topic.regions]
    return {
        "name": topic.name,
        "topicId": topic.topic_id,
        "logStart": topic.log_start,
        "from": topic.start,
        "to": topic.end,
        "regions": regions,
    }


EXIT_CODES = {Outcome.PASSED: 0, Outcome.FAILED: 1, Outcome.REFUSED: 2, Outcome.INTERRUPTED: 3}

OTHER_REQUEST = "the driver's verdict is about another request"


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


class Summary(StatusModel):
    """The verdict."""

    version: Literal[1]
    request_digest: str
    outcome: Outcome
    message: str = ""
    report: Annotated[str, Field(max_length=2048)] | None = None
    counts: Counts | None = None
    topics_not_verified: tuple[str, ...] = ()
    topics_not_verified_truncated: bool = False
    findings: tuple[SummaryFinding, ...] = ()

    def proves(self, topic: str) -> bool:
        """Whether the level was proved of a topic of the request."""
        is_verdict = self.outcome in {Outcome.PASSED, Outcome.FAILED}
        return is_verdict and not self.topics_not_verified_truncated and topic not in self.topics_not_verified


def read_summary(text: str, digest: str, exit_code: int) -> Summary | str:
    """The verdict about the request with this digest; or why there is none, as a clause.

    A verdict that the exit code contradicts is none: the driver died between the two.
    """
    try:
        found = Summary.model_validate_json(text)
    except ValidationError:
        what = "left no verdict" if not text.strip() else "left a verdict that cannot be read"
        return f"the driver {what} (exit code {exit_code})"
    if found.request_digest != digest:
        return OTHER_REQUEST
    if EXIT_CODES[found.outcome] != exit_code:
        return f"the driver's verdict is {found.outcome.value}, and its exit code is {exit_code}"
    return found
