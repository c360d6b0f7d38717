"""Where a log is, as a request says it. Secrets are named by their files and read elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sparkjob.errors import Refused
from sparkjob.fields import Fields


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files; without a CA the machine's own are trusted."""

    ca_file: str | None
    cert_file: str | None
    key_file: str | None


@dataclass(frozen=True, slots=True)
class Sasl:
    """A user. A path is the file that has the name."""

    mechanism: str
    username: Path | str
    password_file: str


@dataclass(frozen=True, slots=True)
class Kafka:
    """Where the log is."""

    bootstrap_servers: tuple[str, ...]
    cluster_id: str | None
    tls: Tls | None
    sasl: Sasl | None


def parse_kafka(fields: Fields) -> Kafka:
    """The `kafka` of a request.

    Raises:
        Refused: It is incomplete, or names no server.
    """
    servers = fields.texts("bootstrapServers")
    if not servers:
        raise Refused(f"{fields.where}.bootstrapServers is empty")
    tls, sasl = fields.object_or_none("tls"), fields.object_or_none("sasl")
    return Kafka(
        servers,
        fields.text_or_none("clusterId"),
        None
        if tls is None
        else Tls(tls.text_or_none("caFile"), tls.text_or_none("certFile"), tls.text_or_none("keyFile")),
        None if sasl is None else _parse_sasl(sasl),
    )


def _parse_sasl(sasl: Fields) -> Sasl:
    name, file = sasl.text_or_none("username"), sasl.text_or_none("usernameFile")
    if name is not None and file is not None:
        raise Refused(f"{sasl.where} has username and usernameFile: one of them names the user")
    return Sasl(sasl.text("mechanism"), name or Path(sasl.text("usernameFile")), sasl.text("passwordFile"))
