"""What all requests to Spark applications have alike: how they are stored, known again, and name Kafka."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from typing import TypeVar

from pydantic import ValidationError

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.spark_job import Outcome

FILE = "request.json.gz"
MAX_BYTES = 1_000_000
"""What a ConfigMap takes is 1 MiB, names and labels included."""

PIECE = 2**16

KAFKA_FOLDER = "/etc/seawall/kafka"
"""Where the Secrets of the connection are, in the driver."""


def paths_in(folder: str) -> dict[str, str]:
    """The files of a connection to Kafka by their names in the contracts."""
    return {
        "caFile": f"{folder}/ca/ca.crt",
        "certFile": f"{folder}/client/tls.crt",
        "keyFile": f"{folder}/client/tls.key",
        "usernameFile": f"{folder}/sasl/username",
        "passwordFile": f"{folder}/sasl/password",
    }


PATHS = paths_in(KAFKA_FOLDER)


@dataclass(frozen=True, slots=True)
class Subject:
    """Which attempt of which object."""

    namespace: str
    name: str
    uid: str
    attempt: int

    def to_json(self) -> dict[str, object]:
        """As the contracts have it."""
        return {"namespace": self.namespace, "name": self.name, "uid": self.uid, "attempt": self.attempt}


def store(body: object) -> bytes:
    """The request as it is stored, compressed; the same input gives the same bytes."""
    return gzip.compress(json.dumps(body, separators=(",", ":")).encode(), mtime=0)


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


def kafka_of(kafka: ExternalKafka, cluster_id: str, files: Mapping[str, str]) -> dict[str, object]:
    """The `kafka` of a request. `files` are the paths of the connection's files by their names in the contract."""
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
            **({"usernameFile": files["usernameFile"]} if sasl.username is None else {"username": sasl.username}),
            "passwordFile": files["passwordFile"],
        },
    }


def database_version(cluster: WALCluster, spec: WALClusterSpec) -> str | None:
    """The oldest version that runs, whose reader must get along with the log; what is declared, if none is known."""
    running = None if cluster.status.data_plane is None else cluster.status.data_plane.version
    return running or spec.declared_version


EXIT_CODES = {Outcome.PASSED: 0, Outcome.FAILED: 1, Outcome.REFUSED: 2, Outcome.INTERRUPTED: 3}

OTHER_REQUEST = "the driver's verdict is about another request"


class JobSummary(StatusModel):
    """What every driver's verdict has."""

    request_digest: str
    outcome: Outcome
    message: str = ""

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        return self.message or f"the driver's verdict is {self.outcome.value}"


SummaryT = TypeVar("SummaryT", bound=JobSummary)


def read_summary(model: type[SummaryT], text: str, digest: str, exit_code: int) -> SummaryT | str:
    """The verdict about the request with this digest; or why there is none, as a clause.

    A verdict that the exit code contradicts is none: the driver died between the two.
    """
    try:
        found = model.model_validate_json(text)
    except ValidationError:
        what = "left no verdict" if not text.strip() else "left a verdict that cannot be read"
        return f"the driver {what} (exit code {exit_code})"
    if found.request_digest != digest:
        return OTHER_REQUEST
    if EXIT_CODES[found.outcome] != exit_code:
        return f"the driver's verdict is {found.outcome.value}, and its exit code is {exit_code}"
    return found
