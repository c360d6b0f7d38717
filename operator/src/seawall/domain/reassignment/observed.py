"""Everything that one tick of a reassignment looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from seawall.domain.partitions import Broker, BrokerState, Partition, PartitionId, Reassigning, Throttles
from seawall.domain.reassignment.journal import Journal
from seawall.domain.reassignment.line import Line
from seawall.domain.reassignment.lists import Lists
from seawall.domain.reassignment.planning import CannotPlan


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
    """

    brokers: Mapping[int, Broker]
    partitions: Mapping[PartitionId, Partition]
    absent: frozenset[str] = frozenset()
    silent: Mapping[str, str] = field(default_factory=dict)
    ongoing: Mapping[PartitionId, Reassigning] = field(default_factory=dict)
    throttles: Throttles = field(default_factory=Throttles)
    min_isr: Mapping[str, int] = field(default_factory=dict)
    under_min_isr: tuple[PartitionId, ...] = ()

    def settled(self) -> tuple[Partition, ...]:
        """The partitions with the replicas that they have once what is under way has arrived."""
        return tuple(
            replace(found, replicas=self.ongoing[found.id].target) if found.id in self.ongoing else found
            for found in self.partitions.values()
        )

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
        is_foreign: it was not made by this WALCluster, and is left alone.
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
    """

    now: datetime
    kafka: KafkaState | str
    journal: FoundJournal = field(default_factory=FoundJournal)
    plan: Journal | CannotPlan | None = None
    is_still_wanted: bool = True
    line: Line = field(default_factory=Line)
    refused: Mapping[PartitionId, str] = field(default_factory=dict)
