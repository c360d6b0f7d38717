"""What was read for one look, and what a process remembers of the looks before.

Who reads must keep this order, and read everything anew: the time, reports, metadata, Kafka's offsets, intents,
holds, the run's status, the time again. Reports before metadata: a region that was born meanwhile is never forgotten,
and the sample of a leader that was replaced is seen to be one. Reports before offsets: what they name is in the log.
Offsets before intents: the deletes of another operator are not taken for somebody else's. Intents before holds: a
hold that is not listed yet will read them before it is granted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from seawall.domain.dataplane.metadata import MetadataSnapshot, StoreHead
from seawall.domain.dataplane.reports import RegionReport
from seawall.domain.ledger.bounds import Verified
from seawall.domain.ledger.dead_watch import RegionWatch
from seawall.domain.ledger.declarations import DeadRegions, Unused
from seawall.domain.ledger.fence import Finding, Readoption
from seawall.domain.ledger.flushed_ids import FlushedIds
from seawall.domain.ledger.held import Hold
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.report_history import ReportHistory
from seawall.domain.ledger.restarts import RestartClaims
from seawall.domain.ledger.tables import TopicLog
from seawall.domain.ledger.unplaced import UnplacedWatch


@dataclass(frozen=True, slots=True)
class Read:
    """What was read, in the order of the fields."""

    began: int
    """Milliseconds of the operator's monotonic clock, before the reports were read."""
    reports: Sequence[RegionReport]
    snapshot: MetadataSnapshot
    logs: Mapping[str, TopicLog]
    epoch_ends: Mapping[str, int]
    """Where the leader epoch of a topic's record ends now; a topic is left out when Kafka does not know it."""
    records: Mapping[str, FenceRecord]
    holds: Iterable[Hold] | None
    recorded: Mapping[str, int]
    """The values in the run's status, by topic; empty: no run, or it has seen none yet."""
    ended: int
    """As `began`, after everything was read."""
    now: datetime
    """The operator's wall clock."""
    shared_now: datetime | None = None
    """The API server's clock, by which verdicts are written; None: nobody knows it."""
    unreadable_records: frozenset[str] = frozenset()
    verified: tuple[Verified, ...] = ()
    stopped: bool = False
    readoption: Readoption | None = None
    unused: Unused | None = None
    """The topics that a person declared unused."""
    dead: DeadRegions | None = None
    """The regions that a person declared dead."""
    lapsed: frozenset[int] = frozenset()
    """Those that the annotation names, if it declares nothing now."""
    processes: Mapping[int, int] = field(default_factory=dict)
    """By datanode the epoch of its process, as the reports say; of those too that report no region."""
    restarts: RestartClaims = field(default_factory=RestartClaims)
    """The datanodes that restart, as the WALCluster's status says."""
    lost_records: frozenset[str] = frozenset()
    """Topics whose shard of records is gone, although it was written once."""
    begun_anew: frozenset[str] = frozenset()
    """Topics of which that is so, and whose records begin anew because a person says so."""
    contested: bool = False
    """Another WALCluster claims the same topics."""
    newest_head: StoreHead | None = None
    """The metadata store's after the records were read, where any of them is newer than the snapshot."""
    newest_ids: Mapping[str, int] = field(default_factory=dict)
    """By topic the greatest id that any datanode's statistics know."""
    newest_of: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    """The same by datanode."""
    earlier: Mapping[str, FenceRecord] = field(default_factory=dict)
    """The records as they were before the reports were read; only needed of a process that remembers none."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """By topic where the log ends now that this process saw in `Memory.logs`, if it ended later then."""
    went_back: bool = False
    """The readoption that is followed is of metadata that had gone back, of which nothing was believed until then."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process remembers of its looks. All of it may be lost: then it waits again."""

    reports_history: ReportHistory
    flushed: FlushedIds = field(default_factory=FlushedIds.none)
    findings: Mapping[str, Finding] = field(default_factory=dict)
    recorded_since: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """By topic and value, when this process first knew that the value is recorded."""
    dead: Mapping[int, RegionWatch] = field(default_factory=dict)
    """The regions that are declared dead, by their ids."""
    logs: Mapping[str, TopicLog] = field(default_factory=dict)
    """Each log as it was observed last: what is cut off between two observations is noticed by it."""
    records: Mapping[str, FenceRecord] | None = None
    """The records as they were when this process began: newer ones may know of flushes that came after the reports."""
    unplaced: tuple[UnplacedWatch, ...] = ()
    """Reports of regions that no metadata know."""
    markers: Mapping[str, int] = field(default_factory=dict)
    """By topic the greatest pruned marker: it only rises."""

    @classmethod
    def at_start(cls, now: int) -> Memory:
        """A process that starts now remembers nothing."""
        return cls(ReportHistory.none(now))

    def without(self, topics: Collection[str], regions: Iterable[int]) -> Memory:
        """Without what is known of regions that wrote to other logs than those which these topics are now."""
        if not topics:
            return self
        kept = {name: record for name, record in (self.records or {}).items() if name not in topics}
        return replace(
            self,
            flushed=self.flushed.forget(regions),
            records=None if self.records is None else kept,
            markers={name: marker for name, marker in self.markers.items() if name not in topics},
        )
