"""Everything that one tick of a WALVerification looks at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import HoldState, WALHold
from seawall.api.v1alpha1.verification import VerificationStage, WALVerification
from seawall.domain.conditions import find_condition
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.verification.spark import Driver, SparkApplication

GRANTED = frozenset({HoldState.ACTIVE, HoldState.EXTENDED, HoldState.AT_RISK})


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees; of the parts of the attempt those that are there."""

    now: datetime
    cluster: WALCluster | None = None
    """The WALCluster; None: there is none, or it is being deleted."""
    observation: Observation | Unavailable | None = None
    """A look that began after the hold was read, or the one whose request the status names; None: none is needed."""
    hold: WALHold | None = None
    request: ConfigMap | None = None
    application: SparkApplication | None = None
    driver: Driver = None
    obstacle: str | None = None
    """Why the parts of the attempt cannot be read: the API server refuses. Then nothing is known of them."""


def is_granted(hold: WALHold) -> bool:
    """Whether what the hold claims is there and stays."""
    is_alive = hold.status.state in GRANTED and hold.metadata.deletion_timestamp is None
    condition = find_condition(hold.status.conditions, ConditionType.GRANTED)
    return is_alive and condition is not None and condition.status == "True"


def needs_observation(obj: WALVerification, hold: WALHold | None, request: ConfigMap | None) -> bool:
    """Whether the next step is decided from the ledger: what to hold, and once that is granted, what to read."""
    if obj.status.is_over or obj.status.stage in {VerificationStage.RUNNING, VerificationStage.RELEASING}:
        return False
    return request is None and (hold is None or is_granted(hold))


def why_it_waits(obj: WALVerification, cluster: WALCluster) -> tuple[str, str] | None:
    """What keeps anything new from being begun, as a reason and a clause; a job that runs is not stopped."""
    if obj.metadata.is_paused:
        return "Paused", "seawall.dev/paused is set on the verification"
    if cluster.metadata.is_paused:
        return "Paused", f"seawall.dev/paused is set on WALCluster {cluster.metadata.name}"
    stalled = find_condition(cluster.status.conditions, ConditionType.STALLED)
    if stalled is not None and stalled.status == "True":
        return "ClusterStalled", f"WALCluster {cluster.metadata.name} is Stalled: {stalled.message}"
    return None
