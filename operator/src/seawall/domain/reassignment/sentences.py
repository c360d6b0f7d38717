"""What people are told of a run."""

from __future__ import annotations

from seawall.api.meta import APPROVE_ANNOTATION
from seawall.domain.reassignment.journal import Journal
from seawall.domain.reassignment.sight import Progress, Sight


def asks(journal: Journal) -> str:
    """What a person has to do."""
    moves = len(journal.moves)
    return f"{moves} partitions are to be moved: set {APPROVE_ANNOTATION}: {journal.digest} to let it begin"


def so_far(sight: Sight) -> str:
    """How far it is."""
    total, done = len(sight.journal.moves), sight.count(Progress.DONE)
    return f"{done} of {total} partitions are moved, {sight.count(Progress.IN_FLIGHT)} are on their way"


def at_end(sight: Sight) -> str:
    """What became of all."""
    done, total = sight.count(Progress.DONE), len(sight.journal.moves)
    parts = [f"{done} of {total} partitions were moved"]
    if refused := sight.count(Progress.REFUSED):
        parts.append(f"Kafka refused {refused}")
    if left := sight.count(Progress.LEFT_ALONE):
        parts.append(f"{left} are not as they were planned any more, and were left alone")
    return "; ".join(parts)
