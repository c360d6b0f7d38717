"""Options of confluent-kafka in kafka-python's words."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from typing import Any

from sparkjob.errors import Refused


def raw_options(options: Mapping[str, str]) -> dict[str, Any]:
    """What `sparkjob.kafka_options.librdkafka_options` gives, for a connection of kafka-python.

    Raises:
        Refused: a PEM text makes no sense.
    """
    protocol = options.get("security.protocol", "PLAINTEXT")
    return {
        "bootstrap_servers": options["bootstrap.servers"].split(","),
        "client_id": "seawall",
        "security_protocol": protocol,
        "ssl_context": _tls(options) if protocol.endswith("SSL") else None,
        "sasl_mechanism": options.get("sasl.mechanism"),
        "sasl_plain_username": options.get("sasl.username"),
        "sasl_plain_password": options.get("sasl.password"),
    }


def _tls(options: Mapping[str, str]) -> ssl.SSLContext:
    """What librdkafka checks: the chain up to the given CA, or the system's, and the address in the certificate."""
    cert, key = options.get("ssl.certificate.pem"), options.get("ssl.key.pem")
    try:
        context = ssl.create_default_context(cadata=options.get("ssl.ca.pem"))
        # Python 3.13 wants key identifiers that many certificates lack; Java, Go and OpenSSL's default do not.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if cert is not None and key is not None:
            _load_client(context, cert, key)
    except (ssl.SSLError, ValueError) as error:
        raise Refused(f"a PEM file of Kafka's connection makes no sense: {error}") from None
    return context


def _load_client(context: ssl.SSLContext, cert: str, key: str) -> None:
    """OpenSSL's binding reads files only: this one is in memory, and gone when this returns."""
    file = os.memfd_create("client", os.MFD_CLOEXEC)
    try:
        os.write(file, f"{cert}\n{key}\n".encode())
        context.load_cert_chain(f"/proc/self/fd/{file}", password="")  # else an encrypted key would ask the terminal
    finally:
        os.close(file)
