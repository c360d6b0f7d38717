"""What was seen of the reports over time: See, then delete; and which reports went back.

A report that is older than one seen before (a lower epoch of the process, or an earlier time in the same epoch) makes
its region stale, because an old copy may be repeated for a while. But a datanode that was restored, or whose clock was
set back, reports so for ever. A copy does not advance; so reports that went back and then advance `RETURNS` times on
end, in one epoch, by the route's leader, and without a newer one between them, are believed. Believed means that a new
streak begins there: no evidence is taken over from before, and if its flushed ids went back too, the identity fence
says so.

An *advance* is a report that is newer than the one before, seen by the operator. Ages are counted from when it was
seen, by the operator's own clock, so a datanode's clock may be wrong by hours. Advances count in a *streak*: one
leader by the route, one epoch of its process, one revision of the route. Anything else begins a new streak.

What is proved by it: of two advances the second was made after the first had arrived, because who reports sends in
order. So if the first arrived after a time S, the second was made after S: by a leader that was alive, with a process
that had opened the region. One advance may have been on its way since before S. When an advance arrived is not known,
only that it had not when the reports were last read; so the time of the look *before* an advance is kept, taken
before that look.

All of it is memory: an operator that restarts begins with nothing, and waits again. The values that were seen are in
the run's status; the time at which this process first had them is the caller's.

Safe readings of the design: any unfinished migration leaves the topic alone (`RegionOpening`), not only one that
began before; a report that this process has not seen to advance is stale, and so is one that is older than one seen
before; a region that vanished leaves its topic alone for one grace after it was first missed, and after a start of
the operator nothing is announced for one grace, because nobody remembers what vanished before. That grace begins with
the first look that succeeds, and anew after a pause in which none did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seawall.domain.columns import Ids, Mask, Numbers, RegionIds, choose, first_rows, found_at, in_order, rows_of
from seawall.domain.ledger.tables import Freshness, Regions
from seawall.domain.ledger.vanished import Mapped, Vanished, find_vanished

RETURNS = 3
"""Advances after which reports that went back are believed."""


@dataclass(frozen=True, slots=True, eq=False)
class WentBack:
    """By region, the newest report that went back; unknown where none did."""

    epoch: Ids
    reported_at: Ids
    advances: Ids
    """How often such reports have advanced on end."""

    @classmethod
    def none(cls, rows: int = 0) -> WentBack:
        """No report went back."""
        unknown = Ids.unknown(rows)
        return cls(unknown, unknown, unknown)

    def take(self, at: Ids) -> WentBack:
        """These rows; unknown for a region that there was none of."""
        if not len(self.epoch):  # that of which nothing went back takes no room
            return WentBack.none(len(at))
        return WentBack(*(found_at(each, at) for each in (self.epoch, self.reported_at, self.advances)))

    def only(self, mask: Mask) -> WentBack:
        """With every other row unknown."""
        return WentBack(self.epoch.only(mask), self.reported_at.only(mask), self.advances.only(mask))

    def advance(self, late: Mask, epoch: Ids, reported_at: Ids) -> tuple[WentBack, Mask]:
        """What went back after one more look, and which regions are believed from now on.

        Args:
            late: whose report is older than one seen before. A newer one forgets what went back; none at all does not.
            epoch: of the reports of this look; unknown: there is none.
            reported_at: when they were made.
        """
        if not np.count_nonzero(late) and not np.count_nonzero(self.epoch.known):
            return WentBack.none(), late  # as nearly always
        goes_on = late & self.epoch.equals(epoch) & ~self.reported_at.above(reported_at)
        counted: Numbers = self.advances.numbers + reported_at.above(self.reported_at)
        advances = Ids.of_known(np.where(goes_on, counted, 0))
        believed = late & (advances.numbers >= RETURNS)
        silent = ~epoch.known
        now = WentBack(
            choose(silent, self.epoch, epoch),
            choose(silent, self.reported_at, reported_at),
            choose(silent, self.advances, advances),
        )
        kept = (late | silent) & ~believed
        return now.only(kept) if (now.epoch.known & kept).any() else WentBack.none(), believed


POLLS_PER_STALE_AFTER = 6
"""Reports are polled at staleAfter / 6."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportHistory:
    """One row for each region of the last look, by region id; times in ms of the operator's monotonic clock."""

    since: int | None
    """The first of the looks that succeeded without a long pause between any two; None: none has succeeded yet."""
    observed_at: int
    """The last look: a time before its reports were read."""
    mapped: Mapped
    """The rows of the table of the last look."""
    region: RegionIds
    rows_of_table: Numbers
    """For each of those rows its row here: several topics may have one region (`rows`)."""
    leader: Ids
    epoch: Ids
    route_revision: Ids
    reported_at: Ids
    streak_since: Ids
    """The look in which the streak began."""
    advanced_at: Ids
    """The look in which the newest advance of the streak was seen."""
    arrived_after: Ids
    """That advance arrived after this time."""
    earlier_arrived_after: Ids
    """The advance before it, in the same streak, arrived after this time."""
    went_back: WentBack
    """Reports that are older than `reported_at`."""
    vanished: tuple[Vanished, ...]

    def rows(self, regions: Regions) -> Ids:
        """For each row of a table its row here. That of the last look needs no search; any other gets one."""
        if self.region is regions.region:
            return in_order(len(regions))
        rows = self.rows_of_table
        if len(rows) == len(regions) and np.array_equal(self.region[rows], regions.region):
            return Ids.of_known(rows)
        return rows_of(self.region, regions.region)

    @classmethod
    def none(cls, now: int) -> ReportHistory:
        """Nothing was seen yet."""
        none = Ids.unknown(0)
        return cls(
            since=None,
            observed_at=now,
            mapped=Mapped.none(),
            region=np.zeros(0, np.uint64),
            rows_of_table=np.zeros(0, np.int64),
            leader=none,
            epoch=none,
            route_revision=none,
            reported_at=none,
            streak_since=none,
            advanced_at=none,
            arrived_after=none,
            earlier_arrived_after=none,
            went_back=WentBack.none(),
            vanished=(),
        )


def advance(
    before: ReportHistory,
    names: tuple[str, ...],
    regions: Regions,
    now: int,
    *,
    keep_vanished: int,
    longest_pause: int,
) -> ReportHistory:
    """The sightings after one more look; `now` was taken before its reports were read.

    `keep_vanished` is the longest openGrace, in milliseconds, and `longest_pause` the shortest.
    """
    mapped = Mapped(names, regions.topic, regions.region)
    region, rows, rows_of_table = first_rows(regions.region)
    leader, epoch, route = regions.leader.take(rows), regions.epoch.take(rows), regions.route_revision.take(rows)
    reported = regions.reported_at.take(rows)
    at = rows_of(before.region, region)
    old_epoch, old_reported = found_at(before.epoch, at), found_at(before.reported_at, at)
    same_route = found_at(before.leader, at).equals(leader) & found_at(before.route_revision, at).equals(route)
    older = old_epoch.above(epoch) | (old_epoch.equals(epoch) & old_reported.above(reported))
    went_back, returned = before.went_back.take(at).only(same_route).advance(older & same_route, epoch, reported)
    late = older | ~epoch.known
    kept = same_route & (late | old_epoch.equals(epoch)) & ~returned
    advanced = kept & ~late & reported.above(old_reported)
    this_observation = Ids.of_known(np.broadcast_to(np.int64(now), len(region)))
    last_observation = Ids.of_known(np.broadcast_to(np.int64(before.observed_at), len(region)))
    arrived_after = found_at(before.arrived_after, at).only(kept)
    return ReportHistory(
        since=_watched_since(before, now, longest_pause),
        observed_at=now,
        mapped=mapped,
        region=region,
        rows_of_table=rows_of_table,
        leader=leader,
        route_revision=route,
        epoch=choose(kept, old_epoch, epoch),
        reported_at=choose(kept & late, old_reported, reported),
        streak_since=choose(kept, found_at(before.streak_since, at), this_observation),
        advanced_at=choose(advanced, this_observation, found_at(before.advanced_at, at).only(kept)),
        arrived_after=choose(advanced, last_observation, arrived_after),
        earlier_arrived_after=choose(advanced, arrived_after, found_at(before.earlier_arrived_after, at).only(kept)),
        went_back=went_back,
        vanished=find_vanished(before.mapped, before.vanished, mapped, now=now, keep=keep_vanished),
    )


def freshness(
    reports_history: ReportHistory, regions: Regions, now: int, stale_after: Numbers, evidence: Evidence
) -> Freshness:
    """What the sightings say of each row of `regions`; the last look was of the same table. No row is dead."""
    at = reports_history.rows(regions)
    advanced_at = found_at(reports_history.advanced_at, at)
    earlier = found_at(reports_history.earlier_arrived_after, at)
    newest = is_newest(reports_history, regions)
    none = np.zeros(len(regions), np.bool_)
    return Freshness(
        stale=~newest | ~advanced_at.known | (now - advanced_at.numbers > stale_after[regions.topic]),
        settled=is_settled(reports_history, regions),
        reported_twice=newest & evidence.is_complete(earlier, regions.topic, now),
        dead=none,
        contradicted=none,
    )


def is_settled(reports_history: ReportHistory, regions: Regions) -> Mask:
    """By region, whether its report is the newest, and the second advance at least of its streak."""
    at = reports_history.rows(regions)
    earlier = found_at(reports_history.earlier_arrived_after, at)
    return is_newest(reports_history, regions) & earlier.above(found_at(reports_history.streak_since, at))


def is_newest(reports_history: ReportHistory, regions: Regions) -> Mask:
    """By region, whether its report is the newest that was ever seen of its leader: an old one may be repeated."""
    at = reports_history.rows(regions)
    same_epoch = found_at(reports_history.epoch, at).equals(regions.epoch)
    return same_epoch & found_at(reports_history.reported_at, at).equals(regions.reported_at)


def advanced_within(reports_history: ReportHistory, now: int, time: int) -> bool:
    """Whether the report of any region was seen to advance for less than so long."""
    advanced_at = reports_history.advanced_at
    return bool((advanced_at.known & (now - advanced_at.numbers < time)).any())


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Since when this process knows that the value was seen, and the minimum on top, by topic."""

    observed_at: Ids
    """A time after this process read that the value is recorded (in mode B: announced)."""
    open_grace: Numbers

    def is_complete(self, earlier_arrived_after: Ids, topic: Numbers, now: int) -> Mask:
        """By region: two advances of one streak since then, and openGrace is over."""
        over = now - self.observed_at.numbers >= self.open_grace
        return earlier_arrived_after.above(self.observed_at.take(topic)) & over[topic]


def watched_too_shortly(reports_history: ReportHistory, now: int, open_grace: Numbers) -> Mask:
    """By topic, whether the operator began to watch less than one grace ago. Looks that failed watched nothing."""
    since = now if reports_history.since is None else reports_history.since
    return now - since < open_grace


def _watched_since(before: ReportHistory, now: int, longest_pause: int) -> int:
    """What came and vanished in a pause nobody saw: as after a start, it is watched for anew."""
    paused = now - before.observed_at > longest_pause
    return now if before.since is None or paused else before.since
