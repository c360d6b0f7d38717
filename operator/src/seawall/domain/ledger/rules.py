"""The rules of the ledger, one function each, named and ordered as in the design (section 3, "The ledger").

Where the design leaves a choice, the safe reading was taken:

* A region that vanished leaves its topic alone for one grace, whatever it last reported.
* The tables are without the regions that are dead by a person's word (`Inputs.without_dead`); `vanished`, `unmapped`
  and the identity fence are of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from seawall.domain.columns import Ids, Mask, any_by, mask_of
from seawall.domain.ledger.mode import PruneMode
from seawall.domain.ledger.offsets import without_regions
from seawall.domain.ledger.reasons import Reason
from seawall.domain.ledger.tables import Bounds, Freshness, Regions, Topics


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Everything that the rules look at."""

    prune_mode: PruneMode
    regions: Regions
    freshness: Freshness
    topics: Topics
    bounds: Bounds
    prunable: Ids
    """By region."""
    reads_from: Ids
    """By region."""
    purge_to: Ids
    """By topic."""
    needs_evidence: bool
    """Whether this is about deleting now, and not about a plan."""

    def any_region(self, mask: Mask) -> Mask:
        """By topic, whether any region is set."""
        return any_by(mask, self.regions.topic, len(self.topics))

    def without_regions(self) -> Mask:
        """By topic, whether no region is mapped to it, reported, or remembered by a tombstone."""
        return without_regions(self.regions, self.topics)

    def everywhere(self, value: bool) -> Mask:  # noqa: FBT001 - a column of it
        """By topic, the same."""
        return np.ones(len(self.topics), np.bool_) if value else np.zeros(len(self.topics), np.bool_)


Rule = Callable[[Case], Mask]


def begins_before_the_log(case: Case) -> Mask:
    """By region, log start > reads from."""
    return case.topics.log_start.take(case.regions.topic).above(case.reads_from)


def log_start_beyond_replay(case: Case) -> Mask:
    """Log start > reads from, of a region."""
    return case.any_region(begins_before_the_log(case))


def fence_broken(case: Case) -> Mask:
    """The identity fence (`fence.py`) found something, confirmed or not."""
    return case.bounds.fence_broken


def offsets_unknown(case: Case) -> Mask:
    """Kafka said nothing of the log."""
    return ~(case.topics.log_start.known & case.topics.high_watermark.known)


def marker_missing(case: Case) -> Mask:
    """A null where the database would read the marker."""
    return ~case.topics.marker.known if case.prune_mode.mode.reads_marker else case.everywhere(value=False)


def reports_no_start(case: Case) -> Mask:
    """By region, a report without a flushed entry id."""
    regions = case.regions
    unknown = ~regions.data_flushed.known | (regions.metric & ~regions.metadata_flushed.known)
    return unknown & regions.epoch.known


def region_start_unknown(case: Case) -> Mask:
    """A report without a flushed entry id."""
    return case.any_region(reports_no_start(case))


def region_unmapped(case: Case) -> Mask:
    """Metadata that disagree, or a reported region without a mapping."""
    return mask_of((why is not None for why in case.topics.unmapped), len(case.topics))


def is_missing(case: Case) -> Mask:
    """By region, no report from the route's leader; nobody expects one of a table that was dropped."""
    return ~case.regions.epoch.known & ~case.regions.dropped


def region_missing(case: Case) -> Mask:
    """No report from the route's leader, or vanished for less than one grace."""
    return case.any_region(is_missing(case)) | case.topics.vanished


def is_dropped(case: Case) -> Mask:
    """By region, dropped with its table, which may be undropped."""
    return ~case.regions.epoch.known & case.regions.dropped


def region_dropped(case: Case) -> Mask:
    """An undropped one would read on from its flushed id, whatever is announced."""
    return case.any_region(is_dropped(case))


def region_stale(case: Case) -> Mask:
    """A report that was not seen to advance within staleAfter."""
    return case.any_region(case.freshness.stale)


def region_opening(case: Case) -> Mask:
    """Downgrading, staging, opening, migrating."""
    return case.any_region(case.regions.opening)


def follower_missing(case: Case) -> Mask:
    """A follower that counts and whose position nobody knows."""
    return case.bounds.follower_silent


def declaration_contradicted(case: Case) -> Mask:
    """Declared dead, and it is not; the marker may have been announced beyond what such a region needs."""
    return case.any_region(case.freshness.contradicted)


def no_regions(case: Case) -> Mask:
    """Nobody writes here, and no person said that nobody needs what is here."""
    return case.without_regions() & ~case.bounds.unused


def under_min_isr(case: Case) -> Mask:
    """Too few in-sync replicas."""
    return case.topics.under_min_isr


def datanode_restarts(case: Case) -> Mask:
    """What a datanode has to read that restarts stays until it has."""
    return case.bounds.restarting


def compacted(case: Case) -> Mask:
    """Kafka would refuse, and the WAL may be gone already."""
    return case.topics.compacted


def holds_unreadable(case: Case) -> Mask:
    """Unreadable means no purge."""
    return case.everywhere(not case.bounds.holds_readable)


def intents_unreadable(case: Case) -> Mask:
    """Neither the intent nor the identity is known."""
    return ~case.bounds.intents_readable


def intents_lost(case: Case) -> Mask:
    """They were written once, and their ConfigMap is gone: no first contact."""
    return case.bounds.intents_lost


def foreign_delete(case: Case) -> Mask:
    """Log start beyond the intent."""
    return case.topics.log_start.above(case.bounds.intent)


def fence_broken_elsewhere(case: Case) -> Mask:
    """What cut or recreated one log may have touched the others, where it shows later or not at all."""
    return case.everywhere(bool(case.bounds.fence_broken.any()))


def records_of_others(case: Case) -> Mask:
    """The log is another database's, by its own records (`witness.py`)."""
    return case.bounds.records_of_others


def contested(case: Case) -> Mask:
    """Somebody else's database may write here."""
    return case.everywhere(case.bounds.contested)


def only_reports(reason: Reason) -> Rule:
    """The regime does not allow to delete, for this reason."""
    return lambda case: case.everywhere(case.prune_mode.report_only is reason)


def stopped_by_annotation(case: Case) -> Mask:
    """A person stopped all deletes."""
    return case.everywhere(case.bounds.stopped)


def no_policy(case: Case) -> Mask:
    """Nobody asked for purges of it."""
    return ~case.bounds.has_policy


def verification_missing(case: Case) -> Mask:
    """Required, and there is none."""
    return case.bounds.verification_required & ~case.bounds.verified_before


def verification_too_old(case: Case) -> Mask:
    """Required, and there were some, but none of late."""
    return case.bounds.verification_required & ~case.bounds.verified_from.known


def watched_too_shortly(case: Case) -> Mask:
    """What vanished before the operator's first look may come back."""
    return case.bounds.watched_too_shortly


def awaits_reports(case: Case) -> Mask:
    """See, then delete."""
    if not case.needs_evidence:
        return case.everywhere(value=False)
    waits = case.without_regions() & ~case.bounds.recorded_for_a_grace
    return case.any_region(~case.freshness.reported_twice) | waits


def nothing_to_purge(case: Case) -> Mask:
    """Purge to ≤ log start, or unknown."""
    return ~case.purge_to.above(case.topics.log_start)


BY_REGION: Mapping[Reason, Rule] = {
    Reason.LOG_START_BEYOND_REPLAY: begins_before_the_log,
    Reason.REGION_START_UNKNOWN: reports_no_start,
    Reason.REGION_MISSING: is_missing,
    Reason.REGION_DROPPED: is_dropped,
    Reason.REGION_STALE: lambda case: case.freshness.stale,
    Reason.REGION_OPENING: lambda case: case.regions.opening,
    Reason.DECLARATION_CONTRADICTED: lambda case: case.freshness.contradicted,
    Reason.AWAITING_REPORTS: lambda case: ~case.freshness.reported_twice,
}
"""For reasons that regions give, which of them do."""

LEFT_ALONE: tuple[tuple[Reason, Rule], ...] = (
    (Reason.LOG_START_BEYOND_REPLAY, log_start_beyond_replay),
    (Reason.FENCE_BROKEN, fence_broken),
    (Reason.OFFSETS_UNKNOWN, offsets_unknown),
    (Reason.MARKER_MISSING, marker_missing),
    (Reason.REGION_START_UNKNOWN, region_start_unknown),
    (Reason.REGION_UNMAPPED, region_unmapped),
    (Reason.REGION_MISSING, region_missing),
    (Reason.REGION_DROPPED, region_dropped),
    (Reason.REGION_STALE, region_stale),
    (Reason.REGION_OPENING, region_opening),
    (Reason.FOLLOWER_MISSING, follower_missing),
    (Reason.DECLARATION_CONTRADICTED, declaration_contradicted),
    (Reason.NO_REGIONS, no_regions),
    (Reason.UNDER_MIN_ISR, under_min_isr),
    (Reason.DATANODE_RESTARTS, datanode_restarts),
    (Reason.COMPACTED, compacted),
    (Reason.HOLDS_UNREADABLE, holds_unreadable),
    (Reason.INTENTS_LOST, intents_lost),
    (Reason.INTENTS_UNREADABLE, intents_unreadable),
    (Reason.FOREIGN_DELETE, foreign_delete),
    (Reason.FENCE_BROKEN_ELSEWHERE, fence_broken_elsewhere),
    (Reason.RECORDS_OF_OTHERS, records_of_others),
    (Reason.CONTESTED, contested),
    (Reason.VERSION_DIFFERS, only_reports(Reason.VERSION_DIFFERS)),
    (Reason.VERSION_UNKNOWN, only_reports(Reason.VERSION_UNKNOWN)),
    (Reason.DATABASE_TOO_OLD, only_reports(Reason.DATABASE_TOO_OLD)),
    (Reason.STARTS_NOT_DURABLE, only_reports(Reason.STARTS_NOT_DURABLE)),
    (Reason.SECOND_PRUNER, only_reports(Reason.SECOND_PRUNER)),
    (Reason.SETTINGS_UNKNOWN, only_reports(Reason.SETTINGS_UNKNOWN)),
    (Reason.SETTINGS_DIFFER, only_reports(Reason.SETTINGS_DIFFER)),
    (Reason.STOPPED_BY_ANNOTATION, stopped_by_annotation),
    (Reason.NO_POLICY, no_policy),
    (Reason.VERIFICATION_MISSING, verification_missing),
    (Reason.VERIFICATION_TOO_OLD, verification_too_old),
    (Reason.WATCHED_TOO_SHORTLY, watched_too_shortly),
    (Reason.AWAITING_REPORTS, awaits_reports),
    (Reason.NOTHING_TO_PURGE, nothing_to_purge),
)
"""The reasons for leaving a topic alone, in the order in which they are asked: the first that holds is shown."""
