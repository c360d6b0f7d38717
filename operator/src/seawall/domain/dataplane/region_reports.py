"""Reports of regions as columns: a million of them take 80 MB so, and ten times that as objects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from seawall.domain.columns import Mask, Numbers, RegionIds, Words
from seawall.domain.dataplane.reports import DatanodeReport, InnerReport, RegionReport, RegionRole

Codes = npt.NDArray[np.uint8]

ROLES: tuple[RegionRole, ...] = tuple(RegionRole)
"""Their numbers are those of the column."""
ENGINES = ("mito", "metric", "")
"""As reports name them; any other is the last, because nothing depends on which it is."""
_NUMBER_OF_ROLE = {role: number for number, role in enumerate(ROLES)}
_NUMBER_OF_ENGINE = {engine: number for number, engine in enumerate(ENGINES)}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, eq=False)
class RegionReports(Sequence[RegionReport]):
    """One row for each report, in the order in which they came; a row is a `RegionReport`."""

    region: RegionIds
    datanode: RegionIds
    epoch: RegionIds
    role: Codes
    reported_at: Numbers
    """In microseconds since 1970."""
    engine: Codes
    memtable_bytes: RegionIds
    flushed: Words
    idle: Words
    has_metadata: Mask
    metadata_flushed: Words
    metadata_idle: Words

    @classmethod
    def of(cls, reports: Iterable[RegionReport]) -> RegionReports:
        """These; columns stay as they are."""
        if isinstance(reports, cls):
            return reports
        listed = list(reports)
        count, metadata = len(listed), [report.metadata or _NOTHING for report in listed]
        return cls(
            region=_words((report.region_id for report in listed), count),
            datanode=_words((report.datanode_id for report in listed), count),
            epoch=_words((report.node_epoch for report in listed), count),
            role=_codes((_NUMBER_OF_ROLE[report.role] for report in listed), count),
            reported_at=np.fromiter((microseconds(report.reported_at) for report in listed), np.int64, count=count),
            engine=_codes((engine_number(report.engine) for report in listed), count),
            memtable_bytes=_words((report.memtable_bytes for report in listed), count),
            flushed=Words.of([report.data.flushed_entry_id for report in listed]),
            idle=Words.of([report.data.idle_entry_id for report in listed]),
            has_metadata=np.fromiter((report.metadata is not None for report in listed), np.bool_, count=count),
            metadata_flushed=Words.of([inner.flushed_entry_id for inner in metadata]),
            metadata_idle=Words.of([inner.idle_entry_id for inner in metadata]),
        )

    @classmethod
    def joined(cls, parts: Sequence[RegionReports]) -> RegionReports:
        """All rows, one part after another."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls.of(())
        columns = [[getattr(part, column.name) for part in parts] for column in fields(cls)]
        return cls(*(_joined(column) for column in columns))

    def take(self, rows: npt.NDArray[Any] | slice) -> RegionReports:
        """These rows, in this order."""
        return RegionReports(*(_taken(getattr(self, column.name), rows) for column in fields(self)))

    def of_regions(self, regions: Collection[int]) -> RegionReports:
        """Those of these regions."""
        return self.take(np.flatnonzero(np.isin(self.region, _words(regions, len(regions)))))

    @property
    def claims_to_lead(self) -> Mask:
        """Of which regions a datanode believes that it leads them, or may."""
        claims: Mask = self.role != _NUMBER_OF_ROLE[RegionRole.FOLLOWER]
        return claims

    def claimants(self) -> dict[int, frozenset[int]]:
        """By region which datanodes believe that they lead it, where several do."""
        region, datanode = self.region[self.claims_to_lead], self.datanode[self.claims_to_lead]
        order = np.argsort(region, kind="stable")
        region, datanode = region[order], datanode[order]
        same = region[1:] == region[:-1]
        several = np.zeros(len(region), np.bool_)
        several[1:] |= same
        several[:-1] |= same
        return _datanodes_by(region[several], datanode[several])

    def followers(self) -> dict[int, frozenset[int]]:
        """By region which datanodes believe that they follow it, whomever its route names."""
        follows = ~self.claims_to_lead
        return _datanodes_by(self.region[follows], self.datanode[follows])

    @property
    def is_plain_leader(self) -> Mask:
        """Where the datanode is a leader, and nothing else."""
        leads: Mask = self.role == _NUMBER_OF_ROLE[RegionRole.LEADER]
        return leads

    @property
    def is_metric(self) -> Mask:
        """Also of a metric region whose report lacks the metadata half: its start is then unknown."""
        metric: Mask = self.engine == _NUMBER_OF_ENGINE["metric"]
        return self.has_metadata | metric

    @property
    def with_rows_in_memory(self) -> RegionReports:
        """Those of regions that are not flushed up to their end."""
        return self.take(np.flatnonzero(self.memtable_bytes))

    @property
    def bytes_in_memory(self) -> dict[int, int]:
        """By region the most that any datanode says; of none that has nothing: a flush of that moves nothing."""
        found: dict[int, int] = {}
        rows = self.with_rows_in_memory
        for region, size in zip(rows.region.tolist(), rows.memtable_bytes.tolist(), strict=True):
            found[region] = max(size, found.get(region, 0))
        return found

    @property
    def bytes_in_memory_by_datanode(self) -> dict[tuple[int, int], int]:
        """The same by region and datanode: the last report of one that is gone stays for long."""
        rows = self.with_rows_in_memory
        keys = zip(rows.region.tolist(), rows.datanode.tolist(), strict=True)
        return dict(zip(keys, rows.memtable_bytes.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.region)

    @overload
    def __getitem__(self, at: int) -> RegionReport: ...

    @overload
    def __getitem__(self, at: slice) -> RegionReports: ...

    def __getitem__(self, at: int | slice) -> RegionReport | RegionReports:
        if isinstance(at, slice):
            return self.take(at)
        has_metadata = bool(self.has_metadata[at])
        return RegionReport(
            region_id=int(self.region[at]),
            datanode_id=int(self.datanode[at]),
            node_epoch=int(self.epoch[at]),
            role=ROLES[self.role[at]],
            reported_at=EPOCH + int(self.reported_at[at]) * _MICROSECOND,
            engine=ENGINES[self.engine[at]],
            memtable_bytes=int(self.memtable_bytes[at]),
            data=InnerReport(self.flushed.at(at), self.idle.at(at)),
            metadata=InnerReport(self.metadata_flushed.at(at), self.metadata_idle.at(at)) if has_metadata else None,
        )

    def __iter__(self) -> Iterator[RegionReport]:
        return (self[row] for row in range(len(self)))


def _datanodes_by(region: RegionIds, datanode: RegionIds) -> dict[int, frozenset[int]]:
    found: dict[int, set[int]] = {}
    for one, node in zip(region.tolist(), datanode.tolist(), strict=True):
        found.setdefault(one, set()).add(node)
    return {one: frozenset(nodes) for one, nodes in found.items()}


def region_reports(reports: Iterable[DatanodeReport]) -> RegionReports:
    """All reports of regions, those of followers and of former leaders too: two of one region are both kept."""
    return RegionReports.joined([RegionReports.of(datanode.regions) for datanode in reports])


def engine_number(engine: str) -> int:
    """The number of an engine in the column."""
    return _NUMBER_OF_ENGINE.get(engine, len(ENGINES) - 1)


def microseconds(when: datetime) -> int:
    """Since 1970."""
    return (when - EPOCH) // _MICROSECOND


_NOTHING = InnerReport(None, None)


def _words(numbers: Iterable[int], count: int) -> RegionIds:
    return np.fromiter(numbers, np.uint64, count=count)


def _codes(numbers: Iterable[int], count: int) -> Codes:
    return np.fromiter(numbers, np.uint8, count=count)


def _taken(column: Any, rows: npt.NDArray[Any] | slice) -> Any:
    return column.take(rows) if isinstance(column, Words) else column[rows]


def _joined(columns: Sequence[Any]) -> Any:
    if isinstance(columns[0], Words):
        return Words(
            np.concatenate([column.numbers for column in columns]), np.concatenate([column.known for column in columns])
        )
    return np.concatenate(columns)
