"""What became of a flush that was asked for, and how far regions had flushed when something was decided by it.

A datanode that starts from an older manifest needs rows again which a marker that is moved now would have it skip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from seawall.domain.dataplane.metadata import Route
from seawall.domain.dataplane.region_reports import RegionReports
from seawall.domain.dataplane.reports import RegionReport, RegionRole

FLUSH_BATCH = 20
"""Regions that one tick asks to flush: it waits for their answers, a minute each, and must not take minutes."""


@dataclass(frozen=True, slots=True)
class FlushFailure:
    """A region that was not flushed, in the database's words.

    `final` means that asking again changes nothing: there is no such region. Otherwise it is busy, moving, or its
    datanode is away, and asking again may help.
    """

    message: str
    final: bool


@dataclass(frozen=True, slots=True)
class Flushed:
    """What the leader of a region had flushed.

    Attributes:
        leader: the datanode.
        data: the flushed entry id of the region, or of the metric engine's data region.
        metadata: that of the metric engine's second region; None: there is none.
        followers: datanodes that follow it, as was decided by; None: they do not count.
        unnamed: datanodes that said to follow it and that no route named, as was decided by: the last report of a
            former follower, or of a candidate that was given up, stays.
        claimants: datanodes that said to lead it, as was decided by: a former leader says so for as long as it is
            remembered.
    """

    leader: int
    data: int
    metadata: int | None = None
    followers: frozenset[int] | None = None
    claimants: frozenset[int] = frozenset()
    unnamed: frozenset[int] = frozenset()


def why_less_flushed(decided: Mapping[int, Flushed], reports: Iterable[RegionReport]) -> str | None:
    """Which region has flushed less than was decided by, or is not reported by its leader; None: none of them.

    A leader that changed counts as one that is silent: the next look sees who leads. So does one more that says to
    lead: the former leader's last report may still be there, and the new one need not open where that one was. A
    follower that was not there may need what those did not that were; of one that said so already, and that no route
    named, the routes tell whether it is one by now (`why_followed`).
    """
    missing = dict(decided)
    for report in RegionReports.of(reports).of_regions(decided.keys()):
        before = decided[report.region_id]
        if report.datanode_id != before.leader:
            if _is_new(report, before):
                who = "a follower" if report.role is RegionRole.FOLLOWER else "a leader"
                return f"region {report.region_id} has {who} on datanode {report.datanode_id} that is new"
            continue
        metadata = None if report.metadata is None else report.metadata.flushed_entry_id
        if _is_less(report.data.flushed_entry_id, before.data) or _is_less(metadata, before.metadata):
            return f"region {report.region_id} has flushed less than when it was looked at"
        missing.pop(report.region_id, None)
    return f"region {min(missing)} is not reported by its leader any more" if missing else None


def why_followed(decided: Mapping[int, Flushed], routes: Mapping[int, Route]) -> str | None:
    """Which region has a follower by its route that was none when it was decided; None: none of them."""
    for region, before in decided.items():
        route = routes.get(region)
        new = set() if route is None or before.followers is None else set(route.followers) - before.followers
        if new:
            return f"region {region} has a follower on datanode {min(new)} that is new"
    return None


def _is_new(report: RegionReport, before: Flushed) -> bool:
    """Whether who is not the leader that was decided by has another role than then."""
    if report.role is RegionRole.FOLLOWER:
        return before.followers is not None and report.datanode_id not in before.followers | before.unnamed
    return report.datanode_id not in before.claimants


def _is_less(now: int | None, before: int | None) -> bool:
    return before is not None and (now is None or now < before)
