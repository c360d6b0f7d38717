"""Everything that one tick of a WALPurgePolicy looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees: all runs and policies of the namespace, and whether the WALCluster is there to stay.

    `topics` are the names of the WALCluster's topics.

    `ledger` is the newest look at the WALCluster's topics (None: there was none yet, or nobody asks for it).
    """

    now: datetime
    runs: Sequence[WALPurge] = ()
    has_cluster: bool = False
    policies: Sequence[WALPurgePolicy] = ()
    topics: Sequence[str] = ()
    ledger: LedgerPage | Unavailable | None = None
