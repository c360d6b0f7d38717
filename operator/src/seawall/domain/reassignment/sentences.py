"""What people are told of a run."""

from __future__ import annotations

from seawall.api.meta import APPROVE_ANNOTATION
from seawall.domain.reassignment.journal import Journal
from seawall.domain.reassignment.tracker import MoveTracker, Progress


def asks(journal: Journal) -> str:
    """What a person has to do."""
    moves = len(journal.moves)
    return f"{moves} partitions are to be moved: set {APPROVE_ANNOTATION}: {journal.digest} to let it begin"


def so_far(tracker: MoveTracker) -> str:
    """How far it is."""
    total, done = len(tracker.journal.moves), tracker.count(Progress.DONE)
    return f"{done} of {total} partitions are moved, {tracker.count(Progress.IN_FLIGHT)} are on their way"


def at_end(tracker: MoveTracker) -> str:
    """What became of all."""
    done, total = tracker.count(Progress.DONE), len(tracker.journal.moves)
    parts = [f"{done} of {total} partitions were moved"]
    if refused := tracker.count(Progress.REFUSED):
        parts.append(f"Kafka refused {refused}")
    if left := tracker.count(Progress.LEFT_ALONE):
        parts.append(f"{left} are not as they were planned any more, and were left alone")
    return "; ".join(parts)
