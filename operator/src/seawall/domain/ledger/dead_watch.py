"""Whether regions that a person declared dead are dead: nothing that somebody has of them moves while they are watched.

From the look that first knows of the declaration, a region is watched for openGrace and staleAfter, whichever is
longer. A *sign of life* begins the watch anew: a report by any datanode, whatever its role, that was not seen before; a
new leader, or a new revision of the route or of the topic's key; a new process of the leader's datanode, which may be
opening the region without reporting it yet. What disappears is no sign, and what was seen before is none when it is
repeated. A pause in the looks of more than staleAfter begins it anew as well: nobody watched.

It is memory: an operator that restarts begins with nothing. That a report was not seen to advance *yet* is no proof.

What survives a restart, and the declaration's expiry, is the annotation. A region that it names when it is not in force
any more may have been relied on as dead: if it reports again and has flushed less than the marker, nobody goes by that
marker until it has flushed, or a person has taken it out of the annotation (`back_behind_marker`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from seawall.domain.columns import Mask, Numbers
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.metadata_tables import RegionKeys
from seawall.domain.dataplane.region_reports import RegionReports
from seawall.domain.dataplane.reports import RegionReport
from seawall.domain.ledger import offsets
from seawall.domain.ledger.declarations import DeadRegions, contradicted_problem, lapsed_problem, unknown_problem
from seawall.domain.ledger.mode import Mode
from seawall.domain.ledger.regions import RegionsOfTopics
from seawall.domain.ledger.tables import Regions, Topics


class Fact(StrEnum):
    """What contradicts a declaration; each member is the clause that people read."""

    REPORTS = "reports"
    """A datanode reported it, or reports it freshly."""
    MOVES = "was moved or touched in the metadata, or the datanode that leads it started anew, a moment ago"
    """It may be open, or about to be."""
    OPENING = "is being opened, moved or staged"
    """The route says so, or the last thing that its leader said."""
    DROPPED = "is being dropped, which may be rolled back"
    """Only tombstones name it."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that somebody has of a region: it stays the same for as long as nobody touches it."""

    what: Fact
    value: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class RegionWatch:
    """A declared region, as long as it is declared."""

    since: int
    """The look that began the watch, in milliseconds of the operator's monotonic clock."""
    signs: frozenset[Sign]
    """What was there then, or at any time since."""
    stirred: Fact | None = None
    """The sign of life that began it; None: the declaration did, or a pause."""


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """One look, as far as dead regions need it. All masks and numbers are the table's."""

    began: int
    last_observation: int
    table: RegionsOfTopics
    snapshot: MetadataSnapshot
    reports: Iterable[RegionReport]
    processes: Mapping[int, int]
    """By datanode the epoch of its process, of those too that report no region."""
    pool: AbstractSet[str]
    """The topics of the pool."""
    stale: Mask
    """By region, missing or stale."""
    stale_after: Numbers
    open_grace: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class DeadFound:
    """What a look says of the declared regions."""

    watches: Mapping[int, RegionWatch]
    dead: Mask
    """By region: declared dead, and nothing contradicts it."""
    contradicted: Mask
    """By region: declared dead, and it does not count (yet)."""
    problems: tuple[str, ...] = ()
    """Why declarations are ignored, one sentence for each kind."""
    sentences: Mapping[str, str] = field(default_factory=dict)
    """By topic which of its regions are dead, why, and until when."""

    def with_lapsed(self, back: Mask, regions: Regions) -> DeadFound:
        """The same, knowing which regions are `back_behind_marker`."""
        if not np.count_nonzero(back):
            return self
        said = lapsed_problem({int(region) for region in regions.region[back]})
        return replace(self, contradicted=self.contradicted | back, problems=(*self.problems, said))


def find_dead(before: Mapping[int, RegionWatch], declared: DeadRegions | None, recorded: Surroundings) -> DeadFound:
    """Watches the declared regions for one more look."""
    count = len(recorded.table.regions)
    dead, contradicted = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    if declared is None:
        return DeadFound({}, dead, contradicted)
    signs = _signs(declared, recorded)
    watches: dict[int, RegionWatch] = {}
    facts: dict[Fact, set[int]] = {}
    for row in _rows(declared, recorded):
        region = int(recorded.table.regions.region[row])
        paused = recorded.began - recorded.last_observation > int(
            recorded.stale_after[recorded.table.regions.topic[row]]
        )
        watch = watches.setdefault(
            region, _watch_again(before.get(region), signs[region], recorded.began, paused=paused)
        )
        fact = _contradiction(row, watch, recorded)
        dead[row] = fact is None and _is_over(row, watch, recorded)
        contradicted[row] = not dead[row]
        if fact is not None:
            facts.setdefault(fact, set()).add(region)
    unknown = declared.regions - watches.keys()
    problems = [contradicted_problem(regions, fact) for fact, regions in sorted(facts.items())]
    problems += [unknown_problem(unknown)] if unknown else []
    return DeadFound(watches, dead, contradicted, tuple(problems), _sentences(dead, declared, recorded))


def back_behind_marker(named: AbstractSet[int], regions: Regions, stale: Mask, topics: Topics, mode: Mode) -> Mask:
    """By region: named by a declaration that is not in force (any more), reports, and has flushed less than the marker.

    Where the database reads no marker, what a region has flushed bounds each purge as it is.
    """
    if not named or not mode.reads_marker:
        return np.zeros(len(regions), np.bool_)
    asked = np.isin(regions.region, np.fromiter(named, np.uint64, count=len(named)))
    behind: Mask = topics.marker.take(regions.topic).above(offsets.flushed_to(regions))
    return asked & ~stale & behind


def _sentences(dead: Mask, declared: DeadRegions, recorded: Surroundings) -> dict[str, str]:
    regions, names = recorded.table.regions, recorded.table.names
    found: dict[str, set[int]] = {}
    for row in np.flatnonzero(dead):
        found.setdefault(names[regions.topic[row]], set()).add(int(regions.region[row]))
    return {topic: declared.sentence(ids) for topic, ids in found.items()}


def _rows(declared: DeadRegions, recorded: Surroundings) -> list[int]:
    """The rows of the declared regions in topics of the pool."""
    regions, names = recorded.table.regions, recorded.table.names
    asked = np.isin(regions.region, np.fromiter(declared.regions, np.uint64, count=len(declared.regions)))
    return [int(row) for row in np.flatnonzero(asked) if names[regions.topic[row]] in recorded.pool]


def _signs(declared: DeadRegions, recorded: Surroundings) -> dict[int, frozenset[Sign]]:
    """By declared region all that somebody has of it now."""
    found: dict[int, set[Sign]] = {region: set() for region in declared.regions}
    for report in RegionReports.of(recorded.reports).of_regions(declared.regions):
        said = (report.datanode_id, report.node_epoch, report.reported_at, report.role)
        found[report.region_id].add(Sign(Fact.REPORTS, said))
    for topic, region, key in RegionKeys.of(recorded.snapshot.region_keys).of_regions(declared.regions):
        found[region].add(Sign(Fact.MOVES, ("key", topic, key.mod_revision)))
    for region, signs in found.items():
        route = recorded.snapshot.routes.get(region)
        if route is not None:
            signs.add(Sign(Fact.MOVES, ("route", route.leader, route.state, route.mod_revision)))
        if route is not None and route.leader is not None and route.leader in recorded.processes:
            signs.add(Sign(Fact.MOVES, ("process", route.leader, recorded.processes[route.leader])))
    return {region: frozenset(signs) for region, signs in found.items()}


def _watch_again(before: RegionWatch | None, signs: frozenset[Sign], began: int, *, paused: bool) -> RegionWatch:
    if before is None:
        return RegionWatch(began, signs)
    new = signs - before.signs
    if new:
        stirred = Fact.REPORTS if any(sign.what is Fact.REPORTS for sign in new) else Fact.MOVES
        return RegionWatch(began, signs, stirred)
    return RegionWatch(began, before.signs) if paused else before


def _contradiction(row: int, watch: RegionWatch, recorded: Surroundings) -> Fact | None:
    """What contradicts the declaration of a region now; None also while it is watched and nothing has happened."""
    region, topic = int(recorded.table.regions.region[row]), recorded.table.names[recorded.table.regions.topic[row]]
    if not recorded.stale[row]:
        return Fact.REPORTS
    if watch.stirred is not None and not _is_over(row, watch, recorded):
        return watch.stirred
    if recorded.table.regions.opening[row]:
        return Fact.OPENING
    is_mapped = (topic, region) in recorded.snapshot.region_keys or topic in recorded.snapshot.wal_topics.get(
        region, ()
    )
    return None if is_mapped else Fact.DROPPED


def _is_over(row: int, watch: RegionWatch, recorded: Surroundings) -> bool:
    """Whether it was watched for long enough."""
    topic = recorded.table.regions.topic[row]
    return recorded.began - watch.since >= max(int(recorded.stale_after[topic]), int(recorded.open_grace[topic]))
