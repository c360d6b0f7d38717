"""Kafka's client options out of a request. Secrets are read here and go into options only: they are never logged."""

from __future__ import annotations

from pathlib import Path

from replay_verification.errors import Refused
from replay_verification.request import Kafka, Sasl, Tls

_PLAIN, _SCRAM = "PLAIN", ("SCRAM-SHA-256", "SCRAM-SHA-512")
_LOGIN = "org.apache.kafka.common.security"


def client_options(kafka: Kafka) -> dict[str, str]:
    """Options of a Kafka client in Java, PEM inline: executors have no files.

    Raises:
        Refused: A file cannot be read, or a mechanism is not known.
    """
    options = {"bootstrap.servers": ",".join(kafka.bootstrap_servers)}
    match kafka.tls is not None, kafka.sasl is not None:
        case True, True:
            options["security.protocol"] = "SASL_SSL"
        case True, False:
            options["security.protocol"] = "SSL"
        case False, True:
            options["security.protocol"] = "SASL_PLAINTEXT"
    if kafka.tls is not None:
        options |= _tls(kafka.tls)
    if kafka.sasl is not None:
        options |= _sasl(kafka.sasl)
    return options


def _tls(tls: Tls) -> dict[str, str]:
    options: dict[str, str] = {}
    if tls.ca_file is not None:
        options |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _read(tls.ca_file)}
    if tls.cert_file is not None and tls.key_file is not None:
        options |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _read(tls.cert_file),
            "ssl.keystore.key": _read(tls.key_file),
        }
    return options


def _sasl(sasl: Sasl) -> dict[str, str]:
    if sasl.mechanism == _PLAIN:
        module = f"{_LOGIN}.plain.PlainLoginModule"
    elif sasl.mechanism in _SCRAM:
        module = f"{_LOGIN}.scram.ScramLoginModule"
    else:
        raise Refused(f"SASL mechanism {sasl.mechanism} is none of {_PLAIN}, {', '.join(_SCRAM)}")
    user, password = (_quoted(_read(path).rstrip("\r\n")) for path in (sasl.username_file, sasl.password_file))
    return {
        "sasl.mechanism": sasl.mechanism,
        "sasl.jaas.config": f"{module} required username={user} password={password};",
    }


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(
            f"{path}, which the request names for Kafka's connection, cannot be read: {error.strerror}"
        ) from None
