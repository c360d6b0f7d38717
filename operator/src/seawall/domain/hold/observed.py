"""Everything that one tick of a WALHold looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seawall.domain.clocks import TrustedTime
from seawall.domain.kafka_log import FirstSince
from seawall.domain.ledger.observation import Observation, Unavailable


@dataclass(frozen=True, slots=True)
class YoungRecords:
    """By topic the first record that is younger than maxLagAge, and than its share `NEAR`; left out: unknown."""

    near: Mapping[str, FirstSince]
    young: Mapping[str, FirstSince]


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees. `observation` is None where there is nothing to observe: no WALCluster, or it is over.

    The look was made after the hold had been read: it read the intents when the hold existed (design section 3).
    """

    time: TrustedTime
    observation: Observation | Unavailable | None = None
    has_cluster: bool = False
    may_write: bool = False
    """Whether the WALCluster is not paused: a paused one writes no ConfigMap."""
    ages: YoungRecords | None = None
    """Of a hold with maxLagAge."""
