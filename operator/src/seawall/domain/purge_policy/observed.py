"""Everything that one tick of a WALPurgePolicy looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from seawall.api.v1alpha1.wal_purge import WALPurge
from seawall.domain.failure import Failure


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees: all runs of the namespace, and whether the WALCluster is there to stay.

    `failure` is what the API server answered to the actions of this tick.
    """

    now: datetime
    runs: Sequence[WALPurge] = ()
    has_cluster: bool = False
    failure: Failure | None = None
