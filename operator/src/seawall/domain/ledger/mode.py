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
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from seawall.domain.dataplane.identity import is_older_than_declared, parse_version, reads_marker_at_open
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


@dataclass(frozen=True, slots=True)
class GreptimeDB:
    """What decides the regime of a GreptimeDB: its version, and `[wal]` of its metasrv (None: not set)."""

    version: str
    """As a person declared it."""
    auto_prune_seconds: float | None = None
    logical_delete: bool = False
    running: str | None = field(kw_only=True)
    """The oldest version that any of its processes runs; None: not every process has said its own."""


def prune_mode_of(database: GreptimeDB) -> PruneMode:
    """By what is declared, unless something older runs: what it reads when it opens a region is what counts."""
    if parse_version(database.version) is None:
        return PruneMode(Mode.C, Reason.DATABASE_TOO_OLD)
    if database.running is not None and is_older_than_declared(database.running, database.version):
        return PruneMode(_by_version(database, database.running).mode, Reason.VERSION_DIFFERS)
    declared = _by_version(database, database.version)
    if database.running is None and declared.report_only is None:
        return PruneMode(declared.mode, Reason.VERSION_UNKNOWN)
    return declared


def _by_version(database: GreptimeDB, version: str) -> PruneMode:
    if not reads_marker_at_open(version):
        return PruneMode(Mode.C, Reason.DATABASE_TOO_OLD)
    prunes = database.auto_prune_seconds is None or database.auto_prune_seconds > 0
    if not prunes:
        return PruneMode(Mode.B)
    return PruneMode(Mode.A) if database.logical_delete else PruneMode(Mode.A, Reason.SECOND_PRUNER)
