"""Which topics of the source could be held, and which claims are not granted."""

from __future__ import annotations

from collections.abc import Mapping

from seawall.domain.ledger.observation import Observation
from seawall.domain.subscription.case import Case
from seawall.domain.times import SUBSCRIPTION_GIVES_UP_SECONDS


def edges(case: Case) -> dict[str, int]:
    """By topic the first offset that can be held, as far as that was observed."""
    return {name: max(start, intent or 0) for name, (start, intent) in case.starts.items()}


def deleted_by_others(case: Case) -> set[str]:
    """The topics from which somebody else deletes: no hold on them is granted, whatever else it is on."""
    return {name for name, (start, intent) in case.starts.items() if intent is not None and start > intent}


def find_ungranted(case: Case) -> set[str]:
    """The topics that the hold claims and has not been granted: an intent may have been first, or a leader gone."""
    granted = case.granted
    return {name for name in case.held if name not in granted}


def find_leaderless(case: Case) -> set[str]:
    """The topics with a copy that are claimed, not granted, and of which nobody says where they could be held."""
    copied = find_ungranted(case) & case.rows.keys()
    return copied - edges(case).keys() if copied and isinstance(case.observed.ledger, Observation) else set()


def advance_leaderless(before: Mapping[str, int], case: Case, now: int) -> dict[str, int]:
    """By topic since when it has been one of them, in the stopwatch's milliseconds; a new process waits once more."""
    return {name: before.get(name, now) for name in find_leaderless(case)}


def leaderless_lately(case: Case) -> set[str]:
    """Those of them whose claim stays: purges go by it, and a topic is without a leader for a moment in any roll."""
    for_seconds = case.observed.seconds_leaderless
    return {name for name in find_leaderless(case) if for_seconds.get(name, 0) < SUBSCRIPTION_GIVES_UP_SECONDS}
