"""Makes a Kafka connection from a spec and the Secrets that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.domain.errors import Forbidden
from seawall.domain.kafka import KafkaConnection, NoKafka, Unreachable

ReadSecret = Callable[[str], Mapping[str, bytes] | None]
"""Reads the Secret of this name; None when there is none."""


class _SecretProblem(Exception):  # noqa: N818 - never leaves this module
    """What is wrong with a Secret, in one sentence."""

    def __init__(self, sentence: str, why: Unreachable = Unreachable.SECRET_MISSING) -> None:
        super().__init__(sentence)
        self.why = why


def resolve_connection(kafka: ExternalKafka, read_secret: ReadSecret) -> KafkaConnection | NoKafka:
    """Reads the Secrets anew, so that renewed certificates and passwords are used at the next tick."""
    try:
        return _resolve(kafka, read_secret)
    except _SecretProblem as problem:
        return NoKafka(problem.why, str(problem))


def _resolve(kafka: ExternalKafka, read_secret: ReadSecret) -> KafkaConnection:
    def text(secret: str, key: str) -> str:
        try:
            data = read_secret(secret)
        except Forbidden as error:
            sentence = f"the operator may not read Secret {secret}: name it in the chart's value secrets.names"
            raise _SecretProblem(sentence, Unreachable.SECRET_FORBIDDEN) from error
        if data is None:
            raise _SecretProblem(f"Secret {secret} does not exist")
        if key not in data:
            raise _SecretProblem(f"Secret {secret} has no key {key}")
        try:
            return data[key].decode()
        except UnicodeDecodeError as error:
            raise _SecretProblem(f"key {key} of Secret {secret} is no UTF-8 text") from error

    ca = kafka.tls.ca_secret_ref if kafka.tls else None
    client = kafka.tls.client_cert_secret_ref if kafka.tls else None
    user = kafka.sasl.credentials_secret_ref if kafka.sasl else None
    return KafkaConnection(
        bootstrap_servers=kafka.bootstrap_servers,
        tls=kafka.tls is not None,
        ca_pem=text(ca.name, ca.key) if ca else None,
        client_cert_pem=text(client.name, client.cert_key) if client else None,
        client_key_pem=text(client.name, client.key_key) if client else None,
        sasl_mechanism=kafka.sasl.mechanism if kafka.sasl else None,
        username=text(user.name, user.username_key) if user else None,
        password=text(user.name, user.password_key) if user else None,
    )
