"""What the restart of a Kafka node is decided from, as values; what is not known is None, and never counts as good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from seawall.domain.kafka_nodes.reasons import KafkaCause
from seawall.domain.ledger.declarations import Grounds
from seawall.domain.partitions import Partition
from seawall.domain.rollout.workload import Pod


@dataclass(frozen=True, slots=True)
class KafkaNode:
    """A node that is declared and has a pod, and how it is.

    Attributes:
        id: its number in Kafka.
        is_broker: whether it has replicas.
        is_controller: whether it is to be a voter.
        is_fenced: what Kafka says of the broker; None: it is not registered, or nobody knows.
        is_caught_up: whether the voter has all of the metadata log but what a second brings, or need not, because it
            is taken out and votes no more; None: it is no voter, or nobody knows.
        steady_since: since when each look has shown this pod Ready, registered, unfenced, caught up and in sync; None:
            the newest one did not.
        cause: why it is to be restarted; None: it is not.
        has_newest_template: whether its StatefulSet makes the next pod as it is declared now.
        has_own_template: whether its StatefulSet would make the pod that there is once more.
        declared: the hash of what it is to be made of.
        stranger: why the others would not believe it if it was made anew; None: they would, or nobody knows.
        runs: whether its container does.
        loses_volume: whether what is on its volume goes with its pod, and nobody has answered for it.
    """

    id: int
    pod: Pod
    is_broker: bool
    is_controller: bool
    is_fenced: bool | None = None
    is_caught_up: bool | None = None
    steady_since: datetime | None = None
    cause: KafkaCause | None = None
    has_newest_template: bool = True
    has_own_template: bool = True
    declared: str = ""
    stranger: str | None = None
    runs: bool = False
    loses_volume: bool = False

    @property
    def name(self) -> str:
        """Of its pod."""
        return self.pod.name

    @property
    def uid(self) -> str:
        """Of its pod."""
        return self.pod.uid

    @property
    def gone_by(self) -> datetime | None:
        """When its pod should be gone."""
        return self.pod.gone_by

    @property
    def is_down(self) -> bool:
        """Whether nothing is lost with its pod: it is not Ready, and Kafka lets it lead nothing."""
        return not self.pod.ready and self.is_fenced is not False

    @property
    def has_stopped(self) -> bool:
        """Whether Kubernetes says that its container does not run: it ended, or was never begun."""
        return not self.pod.ready and bool(self.pod.waiting)

    @property
    def is_online(self) -> bool:
        """Whether its pod is Ready and stays, and Kafka counts on it in each of its roles."""
        if not self.pod.ready or self.pod.is_terminating:
            return False
        is_serving = not self.is_broker or self.is_fenced is False
        return is_serving and (not self.is_controller or self.is_caught_up is True)


@dataclass(frozen=True, slots=True)
class KafkaFacts:
    """Everything that one decision sees.

    Attributes:
        now: by the clock that all operators share.
        nodes: those that have a pod.
        missing: names of those that are declared and have none.
        partitions: of all topics; None: Kafka did not say.
        min_isr: by topic its min.insync.replicas.
        active_controller: id of the node that leads the metadata quorum; None: nobody, or not known.
        voters: ids of all voters; None: not known.
        kafka_problem: why Kafka could not be asked, in one sentence; None: it answered.
        is_moving: whether replicas are being moved, by whomever; None: not known.
        is_cut: whether records are being deleted: an intent that no log start confirms yet; None: not known.
        paused_run: which run is paused in the middle of that, and what ends it, as a clause; None: none is.
        dwell: how long each node has to be steady before another one goes.
        start_budget: after how long a node that has not come back is told.
        is_datanode_away: a datanode of the database does not serve; None: not known.
        plan: what a person has to say to let what only a newer Seawall says be rolled out.
        is_approved: a person said it.
        request: the value by which a person asks for the restart of all nodes; None: nobody does.
        override: who lets restarts through a gate that is shut; None: nobody.
        override_problem: why the annotation lets nothing through, in one sentence.
        is_paused: `seawall.dev/paused` is set.
        certificates_problem: what is wrong with the Secrets that nodes begin with; None: nothing, or they have none.
        version_problem: why a node of the declared version would not start; None: it would, or nobody knows.
    """

    now: datetime
    nodes: tuple[KafkaNode, ...] = ()
    missing: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] | None = None
    min_isr: Mapping[str, int] = field(default_factory=dict)
    active_controller: int | None = None
    voters: frozenset[int] | None = None
    kafka_problem: str | None = None
    is_moving: bool | None = False
    is_cut: bool | None = False
    paused_run: str | None = None
    dwell: timedelta = timedelta(seconds=15)
    start_budget: timedelta = timedelta(minutes=10)
    is_datanode_away: bool | None = False
    plan: str = ""
    is_approved: bool = False
    request: str | None = None
    override: Grounds | None = None
    override_problem: str | None = None
    is_paused: bool = False
    certificates_problem: str | None = None
    version_problem: str | None = None

    def in_sync(self, node: KafkaNode) -> bool:
        """Whether all of the node's replicas are in sync."""
        if self.partitions is None:
            return False
        return all(node.id in each.isr for each in self.partitions if node.id in each.replicas)

    def is_well(self, node: KafkaNode) -> bool:
        """Whether a node is Online and in sync, as this look shows it."""
        return node.is_online and (not node.is_broker or self.in_sync(node))

    def well_pods(self) -> frozenset[str]:
        """UIDs of the pods of nodes that are well; none while Kafka is not known whole."""
        return frozenset(node.uid for node in self.nodes if self.kafka_problem is None and self.is_well(node))

    def is_steady(self, node: KafkaNode) -> bool:
        """Whether it has been so for long enough, by looks that began after it was."""
        return self.dwell_left(node) == timedelta()

    def dwell_left(self, node: KafkaNode) -> timedelta | None:
        """For how much longer it has to be so; None: it is not well, or this is the first look that shows it."""
        if not self.is_well(node) or node.steady_since is None:
            return None
        return max(node.steady_since + self.dwell - self.now, timedelta())
