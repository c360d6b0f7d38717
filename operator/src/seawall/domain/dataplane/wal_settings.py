"""`[wal]` of a metasrv and of datanodes as they run, by their own word.

Who deletes from the WAL topics is decided by the metasrv, and nowhere else; how records are written and read by each
datanode.

GreptimeDB (v0.16.0 to v1.2.0-beta.2, `src/meta-srv/src/bootstrap.rs`, `src/servers/src/http.rs`): a metasrv serves its
options as TOML at `/config` of its HTTP port, as they were put together at its start of the file, of environment
variables and of defaults, so a key that nobody set is there too. They do not change before it starts anew. The text
has the password of `[wal.sasl]` in clear (`KafkaClientSaslConfig` hides it only where it is logged): nothing of it but
what is named here is kept or said.

A datanode does the same (`src/datanode/src/service.rs`), without users and without TLS. Of what it serves only three
keys mean anything to it: it neither names topics nor prunes (`topic_name_prefix` is read by the metasrv's
`wal_provider/topic_pool.rs` alone, and so are the `auto_prune_*` that a datanode of 0.14 to 0.16 still shows).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

KAFKA = "kafka"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a database says that it can do, by the contract of docs/any-database.md."""

    markers: bool
    """Its regions read the pruned marker when they open, and it moves markers by compare-and-swap."""
    durable_starts: bool
    """Each region, a new one too, has a start of its replay that survives, and reads nothing below it."""
    flush: bool
    """It flushes regions when it is asked to."""
    maintenance: bool
    """It has a switch of maintenance, which a restart of its datanodes needs."""

    @property
    def absent(self) -> tuple[str, ...]:
        """What it cannot do, and what that means, as clauses."""
        missing = (
            (self.markers or not self.durable_starts, "no markers (mode C: idle regions hold their logs back)"),
            (self.markers or self.durable_starts, "neither markers nor durable starts (nothing is deleted)"),
            (self.flush, "no flush (regions hold their logs back until they flush by themselves)"),
            (self.maintenance, "no maintenance (no datanode is restarted)"),
        )
        return tuple(clause for is_there, clause in missing if not is_there)


@dataclass(frozen=True, slots=True)
class WALSettings:
    """What a database runs with. Only a metasrv's leader prunes, and any metasrv may lead next."""

    provider: str
    """`kafka`, or where else the WAL is."""
    topic_name_prefix: str | None = None
    num_topics: int | None = None
    auto_prune_seconds: float | None = None
    """`auto_prune_interval`, 0: off; None: it did not say."""
    logical_delete: bool = False
    """`auto_prune_logical_delete`, which there is since 1.1: markers move, and no record is deleted."""
    capabilities: Capabilities | None = None
    """Of a database that serves the contract; None: it is a GreptimeDB, whose version says what it can do."""
    database: str | None = None
    """Whose they are, as `MetadataSnapshot.store_id`; None: they do not say, as GreptimeDB's."""
    heartbeat_seconds: float | None = None
    """`heartbeat_interval` of the metasrv; None: it did not say, as versions that cannot configure it."""

    soft_drop: bool = False
    """`[gc.experimental_soft_drop] enable` (Enterprise, since 1.2): a dropped table may be undropped."""

    @property
    def report_seconds(self) -> float | None:
        """How far apart reports of one datanode are: of its beats each third is stored.

        `src/meta-srv/src/handler/collect_stats_handler.rs`, `MAX_CACHED_STATS_PER_KEY`.
        """
        return None if self.heartbeat_seconds is None else 3 * self.heartbeat_seconds

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
class DatanodeSettings:
    """What a datanode runs with."""

    provider: str
    """`kafka`, or where else it writes its WAL."""
    max_batch_bytes: int | None = None
    """Largest batch that it writes; None: it did not say."""
    overwrite_entry_start_id: bool = False
    """Whether a region opens over records that are gone, instead of failing."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a WALCluster declares of a metasrv's settings."""

    topic_name_prefix: str
    num_topics: int
    prunes: bool
    logical_delete: bool


@dataclass(frozen=True, slots=True)
class DeclaredOfDatanodes:
    """What a WALCluster declares of its datanodes' settings."""

    max_batch_bytes: int
    is_rendered: bool
    """Whether the batch size is in a ConfigMap that Seawall writes; else it is what a topic takes at most."""


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


def datanode_differences(
    running: Mapping[int, DatanodeSettings], declared: DeclaredOfDatanodes
) -> Mapping[Difference, tuple[int, ...]]:
    """The keys that differ, each with the ids of the datanodes where they do so alike."""
    found: dict[Difference, list[int]] = {}
    for datanode_id, settings in sorted(running.items()):
        for difference in _datanode_differences(settings, declared):
            found.setdefault(difference, []).append(datanode_id)
    return {difference: tuple(datanodes) for difference, datanodes in found.items()}


def _datanode_differences(running: DatanodeSettings, declared: DeclaredOfDatanodes) -> Iterator[Difference]:
    if running.provider != KAFKA:
        yield Difference("provider", f'"{running.provider}"', f'"{KAFKA}"')
        return
    batch, wanted = running.max_batch_bytes, declared.max_batch_bytes
    if batch is not None and (batch != wanted if declared.is_rendered else batch > wanted):
        yield Difference("max_batch_bytes", f"{batch} bytes", f"{'' if declared.is_rendered else 'at most '}{wanted}")
    if running.overwrite_entry_start_id:
        yield Difference("overwrite_entry_start_id", "true", "false")


def _interval(running: WALSettings) -> str:
    return "not said" if running.auto_prune_seconds is None else f'"{running.auto_prune_seconds:g}s"'


def _bool(value: bool) -> str:  # noqa: FBT001 - a value of TOML
    return str(value).lower()
