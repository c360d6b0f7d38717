"""What Kafka says, as values, and the names of topics that it takes."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

MAX_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


_NUMBER = re.compile(r"([0-9]+)")


def by_number(name: str) -> tuple[tuple[str | int, ...], str]:
    """Sorts names as people count: `wal_2` before `wal_10`. Text and numbers take turns, so that any two compare."""
    parts = _NUMBER.split(name)
    return tuple(int(part) if number % 2 else part for number, part in enumerate(parts)), name


def id_text(raw: bytes) -> str:
    """An id of 16 bytes (of a cluster, a topic, a directory) as Kafka writes it (Uuid.toString)."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def describe_illegal_name(name: str) -> str | None:
    """Why Kafka takes no such name, in Kafka's words; None when it does."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in {".", ".."}:
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {MAX_LENGTH}"
    if not _LEGAL.fullmatch(name):
        allowed = "ASCII alphanumerics, '.', '_' and '-'"
        return f"Topic name is invalid: '{name}' contains one or more characters other than {allowed}"
    return None


MIN_ISR = "min.insync.replicas"
"""The config of a topic: with fewer replicas in sync, Kafka refuses writes of producers that wait for all of them."""
AS_THEY_ARE = {
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": str(2**63 - 1),
    "message.timestamp.after.max.ms": str(2**63 - 1),
}
"""Configs of a topic whose records keep the timestamps that they have elsewhere; what fills gaps has none."""
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state")
"""Kafka makes them when they are first used. `__share_group_state` is no WAL writer's business."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the brokers' metadata shows it; replicas, in-sync replicas and leader are those of partition 0."""

    name: str
    partitions: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None


@dataclass(frozen=True, slots=True)
class KafkaView:
    """One answer to a metadata request: the cluster, the brokers that are alive, and all topics by name.

    Objects on one Kafka share views, so what each needs of all topics is found out once.
    """

    cluster_id: str
    online: frozenset[int]
    topics: Mapping[str, Topic]
    _known: list[frozenset[int]] = field(default_factory=list, init=False, repr=False, compare=False)
    _by_prefix: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def known_brokers(self) -> frozenset[int]:
        """The live brokers and those that replica lists name: Kafka's metadata leaves fenced brokers out."""
        if not self._known:
            self._known.append(self.online.union(*{topic.replicas for topic in self.topics.values()}))
        return self._known[0]

    def topics_of(self, prefix: str) -> Sequence[str]:
        """The names `<prefix>_<rest>`, whose rest has no underscore."""
        if not self._by_prefix:
            found: dict[str, list[str]] = {}
            for name in self.topics:
                found.setdefault(name.rpartition("_")[0], []).append(name)
            self._by_prefix.update(found)  # at once: other threads may read it
        return self._by_prefix.get(prefix, ())


Configs = Mapping[str, str]
"""The configs that are set on a topic itself, by name; what brokers default to is not in it."""


def command_without(broker: int, keys: Iterable[str]) -> str:
    """What takes configs back that were set on one broker; Kafka's tool refuses those that were not."""
    return (
        f"kafka-configs --bootstrap-server … --alter --entity-type brokers --entity-name {broker}"
        f" --delete-config {','.join(keys)}"
    )


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create.

    Attributes:
        replicas: the brokers that it shall be on, the preferred leader first; empty: Kafka chooses.
        partitions: one of a topic of the WAL, so that its offsets are the entry ids.
    """

    name: str
    replication_factor: int
    configs: Mapping[str, str]
    replicas: tuple[int, ...] = ()
    partitions: int = 1


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """Configs to set on a topic and configs to reset to the brokers' default."""

    topic: str
    set: Mapping[str, str] = field(default_factory=dict)
    reset: tuple[str, ...] = ()

    def is_needed(self) -> bool:
        """Whether there is anything to set or reset."""
        return bool(self.set or self.reset)


class Unreachable(StrEnum):
    """Why Kafka could not be asked; each member says the state of the WALCluster, and what ends it."""

    AUTHENTICATION_FAILED = "AuthenticationFailed"
    """Stalled. The brokers refused the user name or password: mend the Secret; it is read again by itself."""
    TLS_FAILED = "TLSFailed"
    """Stalled. The TLS handshake failed, CA, host name or client certificate: mend the Secret."""
    NOT_ANSWERING = "KafkaUnreachable"
    """Reconciling. No broker answered: check the network, the addresses and the brokers."""
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason, no secret
    """Stalled. A Secret or a key in it, which the connection needs, does not exist or makes no sense: create it."""
    SECRET_FORBIDDEN = "SecretForbidden"  # noqa: S105 - a reason, no secret
    """Stalled. The operator may not read a Secret that the connection needs: name it in the chart's `secrets.names`."""


@dataclass(frozen=True, slots=True)
class NoKafka:
    """Kafka could not be asked, and why in one sentence."""

    why: Unreachable
    message: str


@dataclass(frozen=True, slots=True)
class KafkaConnection:
    """All that is needed to connect: addresses in host:port form, PEM texts and credentials, never logged."""

    bootstrap_servers: tuple[str, ...]
    tls: bool = False
    ca_pem: str | None = None
    client_cert_pem: str | None = None
    client_key_pem: str | None = None
    sasl_mechanism: str | None = None
    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"KafkaConnection({','.join(self.bootstrap_servers)})"
