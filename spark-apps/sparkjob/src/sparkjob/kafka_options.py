"""Kafka's client options out of a request. Secrets are read here and go into options only: they are never logged."""

from __future__ import annotations

from pathlib import Path

from sparkjob.errors import Refused
from sparkjob.kafka import Kafka, Sasl

_PLAIN, _SCRAM = "PLAIN", ("SCRAM-SHA-256", "SCRAM-SHA-512")
_RECONNECTING = {
    # With them, an admin's request for a broker that is down takes a processor: each failure asks for a connection
    # anew, which ends the backoff (RD_KAFKA_OP_CONNECT in rdkafka_broker.c of librdkafka 2.15; so is 2.16).
    "enable.sparse.connections": "false",
    "reconnect.backoff.max.ms": "2000",  # a broker that was restarted is found soon
}


def librdkafka_options(kafka: Kafka) -> dict[str, str]:
    """Options of a confluent-kafka client, PEM inline: executors have no files.

    Raises:
        Refused: A file cannot be read, or a mechanism is not known.
    """
    options = {**_addresses(kafka), **_RECONNECTING}
    if kafka.tls is not None:
        files = {
            "ssl.ca.pem": kafka.tls.ca_file,
            "ssl.certificate.pem": kafka.tls.cert_file,
            "ssl.key.pem": kafka.tls.key_file,
        }
        options |= {name: _read(path) for name, path in files.items() if path is not None}
    if kafka.sasl is not None:
        _check_mechanism(kafka.sasl.mechanism)
        user, password = _credentials(kafka.sasl)
        options |= {"sasl.mechanism": kafka.sasl.mechanism, "sasl.username": user, "sasl.password": password}
    return options


def _addresses(kafka: Kafka) -> dict[str, str]:
    options = {"bootstrap.servers": ",".join(kafka.bootstrap_servers)}
    match kafka.tls is not None, kafka.sasl is not None:
        case True, True:
            options["security.protocol"] = "SASL_SSL"
        case True, False:
            options["security.protocol"] = "SSL"
        case False, True:
            options["security.protocol"] = "SASL_PLAINTEXT"
    return options


def _check_mechanism(mechanism: str) -> None:
    if mechanism != _PLAIN and mechanism not in _SCRAM:
        raise Refused(f"SASL mechanism {mechanism} is none of {_PLAIN}, {', '.join(_SCRAM)}")


def _credentials(sasl: Sasl) -> tuple[str, str]:
    user = sasl.username if isinstance(sasl.username, str) else _read(sasl.username).rstrip("\r\n")
    return user, _read(sasl.password_file).rstrip("\r\n")


def _read(path: Path | str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(
            f"{path}, which the request names for Kafka's connection, cannot be read: {error.strerror}"
        ) from None
