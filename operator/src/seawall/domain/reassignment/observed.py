"""Everything that one tick of a reassignment observes, with the line of runs on the same Kafka.

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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.reassignment import ReassignmentStage, ReassignmentStatus
from seawall.domain.clocks import TrustedTime
from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId, Reassigning, Throttles
from seawall.domain.reassignment.journal import Journal, Lists
from seawall.domain.reassignment.planning import CannotPlan
from seawall.domain.sharing import Sharing

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


@dataclass(frozen=True, slots=True)
class KafkaState:
    """What Kafka says, read in one go.

    Attributes:
        partitions: those of the pool, of the internal topics and of the run; what Kafka did not tell is not in it.
        absent: topics that do not exist.
        silent: topics of which Kafka did not tell, and the sentence of one of them: they may exist.
        ongoing: every reassignment of the cluster, whoever began it.
        throttles: the rates in force, and what of the run's topics they apply to.
        min_isr: min.insync.replicas in force, of the topics that would lose a replica next, as far as Kafka told.
        under_min_isr: partitions with fewer replicas in sync than min.insync.replicas, those apart that are under way.
        sharing: what of it is Strimzi's, or why nobody knows; None: nobody asks, or there is no Strimzi.
    """

    brokers: Mapping[int, Broker]
    partitions: Mapping[PartitionId, Partition]
    absent: frozenset[str] = frozenset()
    silent: Mapping[str, str] = field(default_factory=dict)
    ongoing: Mapping[PartitionId, Reassigning] = field(default_factory=dict)
    throttles: Throttles = field(default_factory=Throttles)
    min_isr: Mapping[str, int] = field(default_factory=dict)
    under_min_isr: tuple[PartitionId, ...] = ()
    sharing: Sharing | str | None = None

    def settled(self) -> tuple[Partition, ...]:
        """The partitions with the replicas that they have once what is under way has arrived."""
        return tuple(
            replace(found, replicas=self.ongoing[found.id].target) if found.id in self.ongoing else found
            for found in self.partitions.values()
        )

    def movable(self) -> tuple[Partition, ...]:
        """The partitions but for those of topics that somebody else manages."""
        managed = self.sharing.managed if isinstance(self.sharing, Sharing) else {}
        return tuple(found for found in self.partitions.values() if found.id.topic not in managed)

    def is_online(self, broker: int) -> bool:
        """Whether a broker can take a replica now."""
        found = self.brokers.get(broker)
        return found is not None and found.state is BrokerState.ONLINE


@dataclass(frozen=True, slots=True)
class FoundJournal:
    """The ConfigMap of the journal.

    Attributes:
        journal: what it says; a sentence when it cannot be read; None when there is none.
        version: the resource version that a write replaces; None: there must be none.
        is_foreign: it was not made by this WALCluster, or for something else, and is left alone.
        lists: what others had throttled of the run's topics when it took its turn.
    """

    journal: Journal | str | None = None
    version: str | None = None
    is_foreign: bool = False
    lists: Lists = field(default_factory=dict)

    @property
    def readable(self) -> Journal | None:
        """The journal, if it can be trusted."""
        return self.journal if isinstance(self.journal, Journal) and not self.is_foreign else None


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees.

    Attributes:
        kafka: what Kafka says; a sentence: why nobody can look, or may act on it.
        plan: what a run that begins now would do; None: nothing, or it was not asked because a run is under way.
        is_still_wanted: whether what is declared now is what the journal's plan was made for.
        line: the other WALClusters whose runs on the same Kafka are not over, read before the look.
        refused: what Kafka refused to move in this tick, by partition, in its words.
        rights_are_gone: the WALCluster goes with its namespace, whose Roles went first: nothing can be read any more.
    """

    time: TrustedTime
    kafka: KafkaState | str
    journal: FoundJournal = field(default_factory=FoundJournal)
    plan: Journal | CannotPlan | None = None
    is_still_wanted: bool = True
    line: Line = field(default_factory=Line)
    refused: Mapping[PartitionId, str] = field(default_factory=dict)
    rights_are_gone: bool = False

    @property
    def now(self) -> datetime:
        """By the clock that all operators share: what one has written another one counts from."""
        return self.time.shared
