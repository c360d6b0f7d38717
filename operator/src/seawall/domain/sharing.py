"""What Strimzi has on a Kafka cluster that is a WALCluster's, too: who else makes its topics and moves its replicas.

Source: Strimzi 1.2.0 (docs/adr/0040-strimzi.md). Its resources name a cluster by a label; a Kafka of that name says
which cluster it is. What cannot be told apart counts as ours: it is left alone for nothing then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seawall.api.meta import Key
from seawall.domain.kafka import by_number
from seawall.domain.text import listed

REBALANCING = "Rebalancing"
"""The state of a KafkaRebalance in which Cruise Control moves replicas; in all others it proposes, waits or is over."""

LET_GO = 'annotate it strimzi.io/managed: "false", then delete it, and Seawall manages the topic'
"""How a KafkaTopic goes without its topic."""


@dataclass(frozen=True, slots=True)
class StrimziKafka:
    """A Kafka resource, and the id of its cluster, once Strimzi knows that."""

    key: Key
    cluster_id: str | None = None


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A KafkaTopic: the topic, and the cluster by its label.

    Attributes:
        is_managed: whether the Topic Operator makes, alters and deletes the topic as it says.
    """

    key: Key
    topic: str
    cluster: str | None = None
    is_managed: bool = True


@dataclass(frozen=True, slots=True)
class KafkaRebalance:
    """A KafkaRebalance: the cluster by its label, and Strimzi's word for how far it is (empty: none yet)."""

    key: Key
    cluster: str | None = None
    state: str = ""


@dataclass(frozen=True, slots=True)
class StrimziView:
    """All that Strimzi has where the operator may read it."""

    kafkas: Sequence[StrimziKafka] = ()
    topics: Sequence[KafkaTopic] = ()
    rebalances: Sequence[KafkaRebalance] = ()


@dataclass(frozen=True, slots=True)
class Sharing:
    """What of a Kafka cluster is not for Seawall to change.

    Attributes:
        managed: the topics that a KafkaTopic manages, and by which.
        rebalance: a KafkaRebalance that moves replicas.
        is_found: whether a Kafka of Strimzi's is known to be this cluster.
    """

    managed: Mapping[str, Key] = field(default_factory=dict)
    rebalance: Key | None = None
    is_found: bool = True

    def among(self, topics: Sequence[str]) -> list[str]:
        """Those of the topics that a KafkaTopic manages."""
        return [name for name in topics if name in self.managed]

    def who_manages(self, topics: Sequence[str]) -> str:
        """`KafkaTopic kafka/wal-0 manages topic wal_0`, of managed topics."""
        first = f"KafkaTopic {self.managed[topics[0]]}"
        if len(topics) == 1:
            return f"{first} manages {listed([*topics])}"
        return f"{first} and {len(topics) - 1} more manage {listed([*topics])}"

    def why_not_ours(self, topics: Sequence[str]) -> str | None:
        """Who manages one of these topics, and how it lets go; None: nobody does."""
        managed = self.among(topics)
        return f"{self.who_manages(managed)}: {LET_GO}" if managed else None

    def who_rebalances(self) -> str | None:
        """Who moves replicas, as a clause."""
        return None if self.rebalance is None else f"KafkaRebalance {self.rebalance} moves replicas"


def sharing_of(view: StrimziView, cluster_id: str) -> Sharing:
    """What of the Kafka cluster with this id is Strimzi's."""
    topics = (each for each in view.topics if each.is_managed and _may_be(view, each.cluster, cluster_id))
    running = (each for each in view.rebalances if each.state == REBALANCING)
    keys = [each.key for each in running if _may_be(view, each.cluster, cluster_id)]
    managed = {each.topic: each.key for each in sorted(topics, key=lambda each: by_number(each.topic))}
    return Sharing(managed, min(keys, default=None), _is_found(view, cluster_id))


def _may_be(view: StrimziView, cluster: str | None, cluster_id: str) -> bool:
    """Whether a label may name this Kafka cluster: not if every Kafka of that name that is seen is another one."""
    known = [each.cluster_id for each in view.kafkas if each.key.name == cluster]
    return not known or None in known or cluster_id in known


def _is_found(view: StrimziView, cluster_id: str) -> bool:
    """Whether a Kafka of Strimzi's is this cluster, where the operator may look."""
    return any(each.cluster_id == cluster_id for each in view.kafkas)
