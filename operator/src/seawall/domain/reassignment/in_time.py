"""No wait of a run is counted from a time that is to come.

The times of a run are the API server's. Earlier versions wrote them by the clock of the operator's node, and where
there are several API servers one may be ahead: a run would keep its turn until then, or none begin, without a word.
"""

from __future__ import annotations

from datetime import datetime

from seawall.api.v1alpha1.reassignment import ReassignmentStatus
from seawall.domain.clocks import not_to_come

_COUNTED = ("start_time", "stage_time", "progress_time", "completion_time", "election_time")


def in_time(status: ReassignmentStatus, now: datetime) -> ReassignmentStatus:
    """The same, from which one can count. What really was, nobody knows: it counts from now on."""
    return status.model_copy(update={name: not_to_come(getattr(status, name), now) for name in _COUNTED})
