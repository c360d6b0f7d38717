"""What is throttled while replicas are on their way: only they, and only as long.

The rates are the cluster's default. Those that stood before the run are put back at its end; a rate that is neither of
them nor one that the run has set is somebody else's, who had a reason in mid-run: it stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from seawall.api.v1alpha1.reassignment import RatesBefore, ReassignmentStatus
from seawall.domain.partitions import NO_RATES, PartitionId, Rates, ThrottledReplicas, throttled_replicas
from seawall.domain.reassignment.actions import ClearThrottle, SetThrottle
from seawall.domain.reassignment.observed import Look
from seawall.domain.reassignment.sight import Progress, Sight

NOTHING = ThrottledReplicas()
MAX_REMEMBERED = 16


def throttle_for(
    sight: Sight, batch: Mapping[PartitionId, tuple[int, ...]], status: ReassignmentStatus, rate: int
) -> SetThrottle | None:
    """The throttle to set before a batch is submitted; None: it stands, or nothing is copied.

    Topics that have arrived are taken out: who catches up after a restart must not be slowed down for another's move.
    """
    moves: dict[PartitionId, tuple[Collection[int], Collection[int]]] = {
        move.id: (sight.look.ongoing[move.id].original, sight.look.ongoing[move.id].target)
        for move in sight.moves_in(Progress.IN_FLIGHT)
    }
    moves.update((found, (sight.look.partitions[found].replicas, goal)) for found, goal in batch.items())
    wanted = throttled_replicas(moves)
    if not wanted:
        return None
    standing = _standing(sight.look, sight.journal.topics)
    changed = {topic: found for topic, found in wanted.items() if sight.look.throttles.topics.get(topic) != found}
    changed |= dict.fromkeys(standing - wanted.keys(), NOTHING)
    rates = None if is_foreign(sight.look, status) else Rates(rate, rate)
    is_rate_right = rates is None or sight.look.throttles.rates == rates
    return None if is_rate_right and not changed else SetThrottle(None if rates is None else rate, changed)


def leftover_throttle(look: Look, topics: Collection[str], status: ReassignmentStatus) -> ClearThrottle | None:
    """What is left of the throttle; None: it is gone, and the rates are as they were before."""
    standing, before = _standing(look, topics), before_run(status)
    rates = None if is_foreign(look, status) else before
    is_rate_right = rates is None or look.throttles.rates == rates
    return None if is_rate_right and not standing else ClearThrottle(rates, frozenset(standing))


def is_foreign(look: Look, status: ReassignmentStatus) -> bool:
    """Whether the rates in force are somebody else's, set in mid-run."""
    rates, before = look.throttles.rates, before_run(status)
    return not (
        rates.leader in {None, before.leader, *status.rates_set}
        and rates.follower in {None, before.follower, *status.rates_set}
    )


def before_run(status: ReassignmentStatus) -> Rates:
    """The rates that stood before the run."""
    before = status.rates_before
    return NO_RATES if before is None else Rates(before.leader, before.follower)


def remembered(look: Look) -> RatesBefore:
    """The rates that stand now, for the status."""
    rates = look.throttles.rates
    return RatesBefore(leader=rates.leader, follower=rates.follower)


def rates_with(status: ReassignmentStatus, rate: int) -> tuple[int, ...]:
    """The rates that the run has set and this one, which is written down before it is set."""
    if rate in status.rates_set:
        return status.rates_set
    return (*status.rates_set, rate)[-MAX_REMEMBERED:]


def _standing(look: Look, topics: Collection[str]) -> set[str]:
    return {topic for topic in topics if look.throttles.topics.get(topic, NOTHING) != NOTHING}


def rate_in_force(look: Look) -> int | None:
    """The throttle as the status shows it."""
    rates = [rate for rate in (look.throttles.rates.leader, look.throttles.rates.follower) if rate is not None]
    return min(rates, default=None)
