"""Who moves the pruned marker, and whether Seawall may delete at all.

GreptimeDB by version (facts of its sources):

| | 0.14 to 0.16 | 0.17 to 1.0 | 1.1 and newer |
|---|---|---|---|
| reads the marker when it opens a region | no | no | yes |
| `auto_prune_interval` unless set | 0s | 30m | 30m |
| `auto_prune_logical_delete` | absent | absent | yes |
| what Seawall does | reports | reports | mode A or B |

Before 1.1 a region that was created cold may start at 0 and would read what was deleted: no boundary is safe. A
pre-release of 1.1.0 counts as older: it may lack the reading. A declared version is not believed: what runs is asked
(`information_schema.cluster_info`), the oldest process counts, and while any has not said its own, nothing is deleted.

Nor is it believed who prunes: a metasrv is asked what it runs with (`/config`). One that deletes by itself does so
through any hold, whatever is declared: nothing is promised and nothing deleted. One that does not say may be one of
those: nothing new is promised, nothing deleted, and what was promised stands until something is known. One that runs
otherwise than declared and deletes nothing endangers nothing, but somebody is wrong: nothing is deleted until both say
the same.

One opener does not read it: UNDROP TABLE (Enterprise, since 1.2.0-beta.1; `src/common/meta/src/ddl/undrop_table.rs`,
`open_regions`) opens a region by its flushed ids. Where the metasrv says that tables are dropped softly, mode B goes no
further than those (ADR 81); in mode A the marker is the database's own, and so is its mistake.

Any other database says itself what it can do (docs/any-database.md), and is asked again right before each act:

| it declares | what Seawall does |
|---|---|
| that it deletes records by itself | reports |
| markers | mode B |
| no markers, durable starts | mode C |
| neither | reports: a region that is born may need what was deleted |
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from seawall.domain.dataplane.identity import is_older_than_declared, parse_version, reads_marker_at_open
from seawall.domain.dataplane.wal_settings import WALSettings
from seawall.domain.ledger.reasons import Reason


class Mode(StrEnum):
    """How the pruned marker and the deletes are shared between the database and Seawall."""

    A = "A"
    """The database moves the marker and deletes nothing; Seawall deletes below it and never writes it."""
    B = "B"
    """Seawall announces the marker in one metadata transaction, and deletes below it."""
    C = "C"
    """No marker is read when a region opens; every region, a new one too, has a durable start."""

    @property
    def reads_marker(self) -> bool:
        """Whether the database begins to read beyond the marker when it opens a region."""
        return self is not Mode.C


@dataclass(frozen=True, slots=True)
class PruneMode:
    """The mode, and why Seawall only reports and plans (None: it may delete)."""

    mode: Mode
    report_only: Reason | None = None
    database_deletes: bool | None = False
    """Whether the database deletes records by itself, so that no hold is worth anything; None: nobody knows."""
    cure: str = ""
    """Of a database that deletes: what ends it, as a clause."""
    undrops: bool = False
    """A dropped table may come back, and opens by its flushed ids alone: `Mode.B` announces nothing beyond them."""

    @property
    def may_announce(self) -> bool:
        """Whether Seawall moves markers, and nothing is against it."""
        return self.mode is Mode.B and self.report_only is None and self.database_deletes is False


@dataclass(frozen=True, slots=True)
class VersionedDatabase:
    """Of whom the version decides what it can do: that, and `[wal]` of its metasrv (None: not set)."""

    version: str
    """As a person declared it."""
    auto_prune_seconds: float | None = None
    logical_delete: bool = False
    running: str | None = field(kw_only=True)
    """The oldest version that any of its processes runs; None: not every process has said its own."""
    wal: WALSettings | None = field(kw_only=True)
    """What its metasrv runs with; None: it did not say."""

    @property
    def prunes(self) -> bool:
        """Whether it is declared that the database moves markers."""
        return self.auto_prune_seconds is None or self.auto_prune_seconds > 0

    @property
    def is_declared_to_delete(self) -> bool:
        """Whether it is declared that the database deletes by itself."""
        return self.prunes and not self.logical_delete


INTERVAL_OFF = 'auto_prune_interval = "0s"'
LOGICAL = "auto_prune_logical_delete = true"


def prune_mode_of(database: VersionedDatabase) -> PruneMode:
    """By what runs; where that is not known, nothing may be deleted."""
    found = replace(_by_versions(database), undrops=database.wal is not None and database.wal.soft_drop)
    deletes = database_deletes(database)
    if deletes:
        cure = f"set {cure_of(database.running or database.version)}, in the [wal] of every metasrv"
        return replace(found, report_only=Reason.SECOND_PRUNER, database_deletes=True, cure=cure)
    reason = found.report_only
    if database.wal is None:
        reason = reason or Reason.SETTINGS_UNKNOWN
    elif not _runs_as_declared(database, database.wal):
        reason = reason or Reason.SETTINGS_DIFFER
    return replace(found, report_only=reason, database_deletes=deletes)


STOP_DELETING = "make it stop, and say so in wal.deletesRecords"


def prune_mode_by_contract(wal: WALSettings | None) -> PruneMode:
    """Of a database that serves the contract, by what it says; None: it did not say."""
    if wal is None or wal.capabilities is None:
        return PruneMode(Mode.C, Reason.SETTINGS_UNKNOWN, database_deletes=None)
    mode = Mode.B if wal.capabilities.markers else Mode.C
    if wal.deletes:
        return PruneMode(mode, Reason.SECOND_PRUNER, database_deletes=True, cure=STOP_DELETING)
    may_delete = wal.capabilities.markers or wal.capabilities.durable_starts
    return PruneMode(mode, None if may_delete else Reason.STARTS_NOT_DURABLE)


def cure_of(version: str) -> str:
    """What of a metasrv's `[wal]` ends that the database deletes: two keys, of which one is new in 1.1."""
    return f"{LOGICAL}, or {INTERVAL_OFF}" if reads_marker_at_open(version) else INTERVAL_OFF


def database_deletes(database: VersionedDatabase) -> bool | None:
    """Whether the database deletes records by itself; one that does not say and is declared to do so, does."""
    if database.wal is not None:
        return database.wal.deletes
    return True if database.is_declared_to_delete else None


def _runs_as_declared(database: VersionedDatabase, wal: WALSettings) -> bool:
    return wal.is_kafka and wal.prunes is database.prunes and wal.deletes is database.is_declared_to_delete


def _by_versions(database: VersionedDatabase) -> PruneMode:
    """By what is declared, unless something older runs: what it reads when it opens a region is what counts."""
    if parse_version(database.version) is None:
        return PruneMode(Mode.C, Reason.DATABASE_TOO_OLD)
    if database.running is not None and is_older_than_declared(database.running, database.version):
        return PruneMode(_by_version(database, database.running).mode, Reason.VERSION_DIFFERS)
    declared = _by_version(database, database.version)
    if database.running is None and declared.report_only is None:
        return PruneMode(declared.mode, Reason.VERSION_UNKNOWN)
    return declared


def _by_version(database: VersionedDatabase, version: str) -> PruneMode:
    if not reads_marker_at_open(version):
        return PruneMode(Mode.C, Reason.DATABASE_TOO_OLD)
    prunes = database.prunes if database.wal is None else database.wal.prunes
    return PruneMode(Mode.A if prunes else Mode.B)
