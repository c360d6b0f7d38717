"""Everything that one tick of a WALPurge looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from seawall.api.v1alpha1.purge import WALPurge
from seawall.domain.frozen_targets import Written
from seawall.domain.ledger.observation import Observation, Unavailable


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees. Nothing is looked at while it is not the run's turn, or there is no WALCluster."""

    now: datetime
    has_cluster: bool = False
    front: WALPurge | None = None
    """The run that has its turn before."""
    paused: str | None = None
    """Where a person stopped it, as a clause."""
    observation: Observation | Unavailable | None = None
    asked_lately: frozenset[int] = frozenset()
    """Regions that this process asked to flush a moment ago; others may have been asked, too."""
    written: Written | None = None
    """Targets that this process has written for the run."""
    refused_before: Mapping[str, str] = field(default_factory=dict)
    """By topic, why Kafka refused to delete in earlier ticks of this process."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """By topic, why Kafka refused to delete in this tick."""
