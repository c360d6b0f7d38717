"""`[wal]` of a metasrv as it runs, by its own word: who deletes from the WAL topics is decided there, and nowhere else.

GreptimeDB (v0.16.0 to v1.2.0-beta.2, `src/meta-srv/src/bootstrap.rs`, `src/servers/src/http.rs`): a metasrv serves its
options as TOML at `/config` of its HTTP port, as they were put together at its start of the file, of environment
variables and of defaults, so a key that nobody set is there too. They do not change before it starts anew. The text
has the password of `[wal.sasl]` in clear (`KafkaClientSaslConfig` hides it only where it is logged): nothing of it but
what is named here is kept or said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

KAFKA = "kafka"


@dataclass(frozen=True, slots=True)
class WALSettings:
    """What a metasrv runs with. Only its leader prunes, and any metasrv may lead next."""

    provider: str
    """`kafka`, or where else the WAL is."""
    topic_name_prefix: str | None = None
    num_topics: int | None = None
    auto_prune_seconds: float | None = None
    """`auto_prune_interval`, 0: off; None: it did not say."""
    logical_delete: bool = False
    """`auto_prune_logical_delete`, which there is since 1.1: markers move, and no record is deleted."""

    @property
    def is_kafka(self) -> bool:
        """Whether the WAL is in Kafka at all."""
        return self.provider == KAFKA

    @property
    def prunes(self) -> bool:
        """Whether the database moves markers; one that does not say how often does."""
        return self.is_kafka and self.auto_prune_seconds != 0

    @property
    def deletes(self) -> bool:
        """Whether the database deletes records by itself, through any hold."""
        return self.prunes and not self.logical_delete


@dataclass(frozen=True, slots=True)
class Declared:
    """What a WALCluster declares of the same."""

    topic_name_prefix: str
    num_topics: int
    prunes: bool
    logical_delete: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """A key of `[wal]` that is not as declared."""

    key: str
    running: str
    declared: str

    def __str__(self) -> str:
        return f"{self.key} is {self.running} and {self.declared} is declared"


def differences(running: WALSettings, declared: Declared) -> tuple[Difference, ...]:
    """The keys that differ, as TOML has them; those of pruning first."""
    return tuple(_differences(running, declared))


def _differences(running: WALSettings, declared: Declared) -> Iterator[Difference]:
    if not running.is_kafka:
        yield Difference("provider", f'"{running.provider}"', f'"{KAFKA}"')
        return
    if running.prunes is not declared.prunes:
        yield Difference("auto_prune_interval", _interval(running), "an interval" if declared.prunes else '"0s"')
    elif running.prunes and running.logical_delete is not declared.logical_delete:
        yield Difference("auto_prune_logical_delete", _bool(running.logical_delete), _bool(declared.logical_delete))
    if running.topic_name_prefix != declared.topic_name_prefix:
        yield Difference("topic_name_prefix", f'"{running.topic_name_prefix}"', f'"{declared.topic_name_prefix}"')
    if running.num_topics != declared.num_topics:
        yield Difference("num_topics", str(running.num_topics), str(declared.num_topics))


def _interval(running: WALSettings) -> str:
    return "not said" if running.auto_prune_seconds is None else f'"{running.auto_prune_seconds:g}s"'


def _bool(value: bool) -> str:  # noqa: FBT001 - a value of TOML
    return str(value).lower()
