"""How librdkafka connects, and what hinders it, in sentences.

librdkafka hides why it cannot connect: every call ends in `_TRANSPORT`. The cause is in its error callback or, when a
listener just closes the connection, only in its log. Both are collected here.
"""

from __future__ import annotations

import logging
import re
import threading
from enum import IntEnum

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from seawall.domain.kafka import KafkaConnection, NoKafka, Unreachable
from seawall.domain.text import few

logger = logging.getLogger(__name__)

PEM_OPTIONS = {
    "ssl.ca.pem": "CA certificate (tls.caSecretRef)",
    "ssl.certificate.pem": "client certificate (tls.clientCertSecretRef)",
    "ssl.key.pem": "private key (tls.clientCertSecretRef)",
}
SHOWN_SERVERS = 3

_DISCONNECTED = re.compile(r"\]: \S+: Disconnected: ")
_BROKER = re.compile(r"^\S+: ")
# A condition's message must not change from tick to tick: what depends on time, address or chance is left out.
_INCIDENTAL = re.compile(
    r" \(after \d+ms in state .*\)$|^Connect to \S+ failed: |^(SSL handshake|Receive|Send) failed: (?=error:)"
    r"|error:[0-9A-F]+:SSL routines::|: broker certificate could not be verified.*"
)


class Symptom(IntEnum):
    """What connections suffer from; the highest tells most."""

    SILENT = 0
    CLOSED = 1
    UNRESOLVED = 2
    TLS = 3
    AUTHENTICATION = 4


class Trouble:
    """Collects what librdkafka says about its connections: it is its error callback and its logger."""

    def __init__(self) -> None:
        self.symptom = Symptom.SILENT
        self.text = ""
        self._all_brokers_down = False
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forgets what was said before."""
        self.symptom, self.text = Symptom.SILENT, ""
        self._all_brokers_down = False

    def on_error(self, error: KafkaError) -> None:
        """The error callback."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - the public name of the constant
            self._all_brokers_down = True
        else:
            text = _BROKER.sub("", error.str())
            self._note(_symptom(error.code(), text), text)

    def log(self, _level: int, text: str, *args: object) -> None:
        """What librdkafka calls of a logging.Logger. People read conditions; its log is for debugging."""
        logger.debug(text, *args)
        if _DISCONNECTED.search(text % args):
            self._note(Symptom.CLOSED, "")

    def is_final(self) -> bool:
        """Whether waiting is vain: no broker is connected, and trying again changes nothing."""
        return self._all_brokers_down and self.symptom in {Symptom.TLS, Symptom.AUTHENTICATION}

    def _note(self, symptom: Symptom, text: str) -> None:
        text = _INCIDENTAL.sub("", text)
        with self._lock:  # any thread that polls the client comes here
            if symptom > self.symptom or (symptom is self.symptom and not "" < self.text <= text):
                self.symptom, self.text = symptom, text


def open_client(connection: KafkaConnection, trouble: Trouble) -> AdminClient | NoKafka:
    """Makes a client, without connecting it; PEM texts and names that make no sense are found here."""
    config = client_config(connection)
    for option, what in PEM_OPTIONS.items():
        # librdkafka takes an empty text for none: it would trust the system's CAs instead of a broken Secret's.
        if option in config and "-----BEGIN" not in str(config[option]):
            return _unreadable(connection, what, "it is no PEM text")
    try:
        return AdminClient(config, error_cb=trouble.on_error, logger=trouble)
    except KafkaException as failure:
        text = failure.args[0].str().removeprefix("Failed to create admin client: ")
        for option, what in PEM_OPTIONS.items():
            if option in text:
                return _unreadable(connection, what, text)
        where = f"The connection to Kafka at {_servers(connection)} makes no sense"
        return NoKafka(Unreachable.SECRET_MISSING, f"{where} ({text}): correct spec.kafka.external or its Secrets.")


def client_config(connection: KafkaConnection) -> dict[str, str | int | float | bool]:
    """The connection in librdkafka's words."""
    protocol = ("SASL_" if connection.sasl_mechanism else "") + ("SSL" if connection.tls else "PLAINTEXT")
    optional = {
        "sasl.mechanism": connection.sasl_mechanism,
        "sasl.username": connection.username,
        "sasl.password": connection.password,
        "ssl.ca.pem": connection.ca_pem,
        "ssl.certificate.pem": connection.client_cert_pem,
        "ssl.key.pem": connection.client_key_pem,
    }
    return {
        "bootstrap.servers": ",".join(connection.bootstrap_servers),
        "security.protocol": protocol,
        **{option: value for option, value in optional.items() if value is not None},
        "client.id": "seawall",
        "socket.connection.setup.timeout.ms": 5_000,  # below the deadline of a view, so that it can be told
        "reconnect.backoff.max.ms": 2_000,
        # With them, a request for a broker that is down takes a processor: it is connected to anew without any backoff.
        # Without, the end of a client may wait 5 s: librdkafka sleeps so long after a name that nobody knows.
        "enable.sparse.connections": False,
        "socket.keepalive.enable": True,
        "log.connection.close": True,  # Trouble's only hint at a listener that wants TLS
        "enable.metrics.push": False,
    }


def explain(connection: KafkaConnection, trouble: Trouble, seconds: float) -> NoKafka:
    """Why no broker answered within so many seconds, and what to do."""
    servers, said = _servers(connection), f" ({trouble.text})" if trouble.text else ""
    match trouble.symptom:
        case Symptom.AUTHENTICATION:
            return NoKafka(Unreachable.AUTHENTICATION_FAILED, _explain_sasl(connection, servers, trouble.text))
        case Symptom.TLS:
            return NoKafka(Unreachable.TLS_FAILED, _explain_tls(connection, servers, trouble.text))
        case Symptom.UNRESOLVED:
            advice = "correct bootstrapServers, or the DNS"
            return NoKafka(Unreachable.NOT_ANSWERING, f"Kafka's address {servers} has no IP address{said}: {advice}.")
        case Symptom.CLOSED:
            advice = "its listener may want other tls or sasl settings than declared"
            return NoKafka(Unreachable.NOT_ANSWERING, f"Kafka at {servers} closes connections: {advice}.")
        case Symptom.SILENT:
            advice = "check that the brokers run and that network policies let Seawall in"
            how = f"No broker of Kafka at {servers} answered within {seconds:g} s{said}"
            return NoKafka(Unreachable.NOT_ANSWERING, f"{how}: {advice}.")


def _explain_sasl(connection: KafkaConnection, servers: str, text: str) -> str:
    if "handshake failed" in text:
        advice = "set sasl.mechanism to one that the listener has"
        return f"Kafka at {servers} does not offer SASL {connection.sasl_mechanism} ({text}): {advice}."
    advice = "correct sasl.username, or the Secret of sasl.credentialsSecretRef"
    return f"Kafka at {servers} refused the user name or password ({text}): {advice}."


def _explain_tls(connection: KafkaConnection, servers: str, text: str) -> str:
    if "PLAINTEXT" in text:
        return f"Kafka at {servers} does not speak TLS ({text}): use the port of its TLS listener, or remove tls."
    if "alert" in text:
        advice = "set tls.clientCertSecretRef to a certificate that its CA signed"
        return f"Kafka at {servers} refused the client certificate ({text}): {advice}."
    if "verify failed" not in text:
        return f"The TLS handshake with Kafka at {servers} failed ({text}): check the listener's TLS settings."
    if connection.ca_pem is None:
        advice = "set tls.caSecretRef to the CA that signed it"
        return f"No CA that this system trusts signed the certificate of Kafka at {servers} ({text}): {advice}."
    advice = "tls.caSecretRef must hold its CA, and the certificate must be valid for the address"
    return f"The certificate of Kafka at {servers} does not fit the CA in tls.caSecretRef ({text}): {advice}."


def _symptom(code: int, text: str) -> Symptom:
    if code == KafkaError._AUTHENTICATION:  # noqa: SLF001 - the public name of the constant
        return Symptom.AUTHENTICATION
    if text.startswith("Disconnected"):
        return Symptom.CLOSED  # in a handshake with a plaintext listener, this is said now and then instead of that
    if code == KafkaError._SSL or "SSL" in text:  # noqa: SLF001 - the public name of the constant
        return Symptom.TLS
    if code == KafkaError._RESOLVE:  # noqa: SLF001 - the public name of the constant
        return Symptom.UNRESOLVED
    return Symptom.SILENT


def _unreadable(connection: KafkaConnection, what: str, text: str) -> NoKafka:
    message = f"The {what} for Kafka at {_servers(connection)} cannot be read ({text}): correct the Secret."
    return NoKafka(Unreachable.TLS_FAILED, message)


def _servers(connection: KafkaConnection) -> str:
    return few(connection.bootstrap_servers, SHOWN_SERVERS)


MEMORY_KIB = 16 * 1024
"""Of records that were fetched and not looked at yet."""


def reader_config(connection: KafkaConnection) -> dict[str, str | int | float | bool]:
    """The settings of a consumer that reads and leaves no trace."""
    return {
        **client_config(connection),
        "group.id": "seawall",  # the library requires one; no offset is committed, so no group comes into being
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 100,
        "check.crcs": True,  # the default is not to: a bit that rotted in a progress would move a hold
        "queued.max.messages.kbytes": MEMORY_KIB,
        "log_level": 0,
    }
