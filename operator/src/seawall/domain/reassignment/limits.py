"""What a run lets min.insync.replicas of each topic be: of its journal's topics what they need, of all others anything.

A topic that the run takes no replicas from, and gives none back to, loses nothing by an abort: were its
min.insync.replicas lowered all the same, writes would be acknowledged that one replica has, for as long as the abort
waits. So the status has a number for the whole run, and the journal which topics it is for.
"""

from __future__ import annotations

from dataclasses import replace

from seawall.api.v1alpha1.reassignment import ReassignmentStatus
from seawall.domain.min_isr import NO_LIMITS, Limit, Limits, limit_of, most_min_isr
from seawall.domain.reassignment.journal import Journal


def limits_of(run: ReassignmentStatus | None, journal: Journal | None) -> Limits:
    """By the journal that the status names. If that cannot be read nothing is lowered, and nothing raised too far."""
    widest = limit_of(run)
    if run is None or widest is None:
        return NO_LIMITS
    if journal is None or journal.digest != run.digest:
        return Limits(others=replace(widest, is_lowered=False))
    return Limits(_by_topic(journal, is_aborted=widest.is_lowered))


def _by_topic(journal: Journal, *, is_aborted: bool) -> dict[str, Limit]:
    """Of the topics that get another number of replicas, the partition with the fewest decides.

    Only one that had fewer before is lowered by an abort: replicas that come back need no lower number.
    """
    limits: dict[str, Limit] = {}
    for move in journal.moves:
        before, after = len(move.original), len(move.wanted)
        if before == after:
            continue
        known = limits.get(move.id.topic, Limit(most_min_isr(before), is_lowered=False))
        most = min(known.most, most_min_isr(min(before, after)))
        limits[move.id.topic] = Limit(most, known.is_lowered or (is_aborted and before < after))
    return limits
