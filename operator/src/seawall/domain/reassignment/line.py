"""One run for each Kafka cluster at a time, among the WALClusters that one operator serves.

Throttles are the cluster's: a run that took the rates of another one for what stood before would leave them behind.
Nothing locks a Kafka cluster, so runs agree by what each writes into its status before it looks at the others:

    Pending   nobody has begun, and nobody older is Pending: Ongoing
    Ongoing   and `ratesBefore` absent: somebody who goes first has begun: Pending again
              somebody else has begun: wait, because that one goes back, or has had the turn already
              nobody else: look at the rates, and write them down: it has the turn until it is over

Of two that are Ongoing, at least one looks after both have written it, so both never have the turn. The rates are read
after the others: who begins later sees this one, and sets no throttle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.reassignment import ReassignmentStage, ReassignmentStatus

BEGUN = frozenset({ReassignmentStage.ONGOING, ReassignmentStage.VERIFYING, ReassignmentStage.ABORTING})
IN_LINE = BEGUN | {ReassignmentStage.PENDING}


@dataclass(frozen=True, slots=True)
class Line:
    """The other WALClusters on the same Kafka whose runs are not over, as far as they matter to one.

    Attributes:
        ahead: the first of those that go before it; its run has to end first.
        contender: one that goes after it, and has begun all the same.
    """

    ahead: Key | None = None
    contender: Key | None = None


def find_line(cluster: WALCluster, others: Iterable[WALCluster]) -> Line:
    """Who has the turn goes first, then who has begun, then the oldest."""
    rank = _rank(cluster)
    in_line = sorted((other for other in others if _is_in_line(cluster, other)), key=_rank)
    ahead = next((other.metadata.key for other in in_line if _rank(other) < rank), None)
    contender = next((other.metadata.key for other in in_line if _rank(other) > rank and _has_begun(other)), None)
    return Line(ahead, contender)


def has_turn(run: ReassignmentStatus) -> bool:
    """Whether the run may move replicas: it wrote down what stood before."""
    return run.rates_before is not None or bool(run.rates_set)


def _rank(cluster: WALCluster) -> tuple[bool, bool, str, str]:
    run, metadata = cluster.status.reassignment, cluster.metadata
    is_first = _has_begun(cluster) and run is not None and has_turn(run)
    return not is_first, not _has_begun(cluster), metadata.creation_timestamp.isoformat(), metadata.uid


def _has_begun(cluster: WALCluster) -> bool:
    run = cluster.status.reassignment
    return run is not None and run.stage in BEGUN


def _is_in_line(cluster: WALCluster, other: WALCluster) -> bool:
    mine, theirs, run = cluster.status.kafka, other.status.kafka, other.status.reassignment
    if other.metadata.uid == cluster.metadata.uid or mine is None or theirs is None or run is None:
        return False
    return mine.cluster_id == theirs.cluster_id and run.stage in IN_LINE
