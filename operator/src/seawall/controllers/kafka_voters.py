"""The controller of the votes of a managed Kafka's controllers, one more of WALClusters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, assert_never

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.disruption import DisruptionKind, of_kind
from seawall.controllers.controller import Controller
from seawall.controllers.since import Since
from seawall.domain.conditions import find_condition
from seawall.domain.errors import Conflict
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import Observed
from seawall.domain.managed_kafka.reasons import Reason
from seawall.domain.managed_kafka.roll import known_case
from seawall.domain.managed_kafka.voter_actions import AddVoter, RemoveVoter, VoterAction
from seawall.domain.managed_kafka.voter_change import VotersDecision, decide
from seawall.domain.managed_kafka.voters import VotersObserved, VoterWish, wished
from seawall.domain.step import Event
from seawall.observe.connections import required_kafka
from seawall.observe.kafka_nodes import Asked, KafkaNodesAsker
from seawall.ports import Clock, KafkaClusters, KafkaObjects, Kube, Stopwatch

KAFKA_VOTERS = "KafkaVoters"
"""The kind of its queue, whose keys are those of WALClusters."""


@dataclass(frozen=True, slots=True)
class KafkaVotersController(Controller[WALCluster, VotersObserved, WALClusterStatus, VoterAction]):
    """Changes votes. Of the status it writes `managedKafka.voterChange` and the journal; its queue is its own."""

    resource: ClassVar = WALCluster

    kube: Kube
    objects: KafkaObjects | None
    """None: this process may not run a Kafka."""
    kafka_clusters: KafkaClusters
    clock: Clock
    stopwatch: Stopwatch
    kind: str = KAFKA_VOTERS
    _wished_since: Since[VoterWish] = field(default_factory=Since)
    """Since when each look of this process has wished the same."""

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        self._wished_since.forget(key)

    def observe(self, obj: WALCluster) -> VotersObserved:
        """Reads objects and pods, and then asks Kafka, while nodes are not all known to be well."""
        key, time, begun = obj.metadata.key, self.clock.trusted(), self.stopwatch.milliseconds()
        if obj.managed_kafka is None or self.objects is None:
            return self._without(key, "there is no managed Kafka")
        if not _is_asked(obj):
            return self._without(key, "all nodes are well")
        found = Observed(time, self.objects.find(key))
        case = known_case(obj, found)
        if isinstance(case, str):
            return self._without(key, case)
        answer = KafkaNodesAsker(self.kube, self.kafka_clusters).ask(obj, case.nodes, found.found, Asked.NODES)
        asked = known_case(obj, replace(found, kafka=answer))
        if isinstance(asked, str):
            return self._without(key, asked)
        wish = wished(asked)
        wishes = () if wish is None else (wish,)
        return VotersObserved(asked, self._wished_since.note(key, wishes, begun, self.stopwatch.milliseconds()))

    def decide(self, obj: WALCluster, observed: VotersObserved) -> VotersDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALCluster, action: VoterAction) -> Event:
        """Does one action; right before it, all that it was decided by is looked at once more."""
        if self.objects is None:
            raise Conflict("this operator may not run a Kafka any more")
        self._ask_again(obj, action, decide)
        reassigner = self.kafka_clusters.reassigner(obj.metadata.key, required_kafka(self.kube, obj))
        match action:
            case AddVoter():
                reassigner.add_voter(action.voter)
            case RemoveVoter():
                reassigner.remove_voter(action.node, action.directory_id)
            case _:
                assert_never(action)
        return action.event()

    def _without(self, key: Key, case: Case | str) -> VotersObserved:
        """Nobody asked Kafka: what was wished is not known to be."""
        self.forget(key)
        return VotersObserved(case)


def _is_asked(obj: WALCluster) -> bool:
    """At rest the controller of nodes asks for the quorum, and its condition says when a vote is to change."""
    own = of_kind(obj.status.disruption, DisruptionKind.KAFKA_VOTER_CHANGE)
    if obj.status.voter_change is not None or own is not None:
        return True
    said = find_condition(obj.status.conditions, ConditionType.KAFKA_NODES_HEALTHY)
    return said is None or said.status != "True" or said.reason == Reason.REMOVING
