"""The controller of the restarts of a managed Kafka's nodes, one more of WALClusters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import ClassVar, assert_never

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.purge import WALPurge
from seawall.controllers.controller import Controller
from seawall.controllers.eviction import evict
from seawall.controllers.since import Since
from seawall.domain.cluster_name import of_cluster
from seawall.domain.datanodes.gather import cut_topics, paused_run, running_purges
from seawall.domain.errors import Conflict, SeawallError
from seawall.domain.kafka_nodes.facts import KafkaFacts
from seawall.domain.kafka_nodes.gate import KafkaAction, RenewTemplate
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import Observed
from seawall.domain.managed_kafka.objects import ObjectKind, node_objects
from seawall.domain.managed_kafka.roll import RollDecision, RollObserved, decide, is_under_way, known_case
from seawall.domain.managed_kafka.roll_facts import roll_facts, with_steady
from seawall.domain.rollout.actions import Evict, EvictionForbidden
from seawall.domain.step import Event
from seawall.observe.certificates import read_certificates
from seawall.observe.kafka_nodes import Asked, KafkaNodesAsker
from seawall.observe.ledger import LedgerObserver
from seawall.ports import Clock, KafkaClusters, KafkaObjects, Kube, RestartMeter, Stopwatch, Workloads

KAFKA_ROLL = "KafkaRoll"
"""The kind of its queue, whose keys are those of WALClusters."""


@dataclass(frozen=True, slots=True)
class KafkaRollController(Controller[WALCluster, RollObserved, WALClusterStatus, KafkaAction]):
    """Restarts nodes of a managed Kafka. Of the status it writes only its own parts; its queue is its own."""

    resource: ClassVar = WALCluster

    kube: Kube
    objects: KafkaObjects | None
    """None: this process may not run a Kafka."""
    workloads: Workloads
    kafka_clusters: KafkaClusters
    ledgers: LedgerObserver
    clock: Clock
    stopwatch: Stopwatch
    meter: RestartMeter
    kind: str = KAFKA_ROLL
    _well: Since[str] = field(default_factory=Since)
    """UIDs of pods whose nodes were well, since when each look of this process has shown it."""

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        self._well.forget(key)
        self.meter.forget_kafka_nodes(key)

    def observe(self, obj: WALCluster) -> RollObserved:
        """Reads the pods and then asks Kafka, and that only while a roll is due or under way."""
        key, begun = obj.metadata.key, self.stopwatch.milliseconds()
        if obj.managed_kafka is None or self.objects is None:
            self.meter.forget_kafka_nodes(key)
            return self._without(key, known_case(obj, Observed(self.clock.trusted(), is_enabled=False)))
        self._measure(obj)
        found = self._find(obj, self.objects)
        case = known_case(obj, found)
        if isinstance(case, str):
            return self._without(key, case)
        facts = roll_facts(case)
        if not is_under_way(obj, facts):
            return self._without(key, facts)
        asker = KafkaNodesAsker(self.kube, self.kafka_clusters)
        answer = asker.ask(obj, case.nodes, found.found, Asked.RESTARTS)
        asked = known_case(obj, replace(found, kafka=answer))
        if isinstance(asked, str):
            return self._without(key, asked)
        is_cut, paused = self._deletes(obj)
        return RollObserved(self._with_memory(key, roll_facts(asked, is_cut=is_cut, paused_run=paused), begun))

    def decide(self, obj: WALCluster, observed: RollObserved) -> RollDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def absorb(self, observed: RollObserved, error: SeawallError) -> RollObserved | None:
        """A PodDisruptionBudget that forbids an eviction is a reason to wait, not a failure."""
        return replace(observed, forbidden=str(error)) if isinstance(error, EvictionForbidden) else None

    def perform(self, obj: WALCluster, action: KafkaAction) -> Event:
        """Does one action; right before it, all that it was decided by is looked at once more."""
        match action:
            case RenewTemplate():
                self._renew(obj, action)
            case Evict():
                self._ask_again(obj, action, decide)
                evict(self.workloads, action.pod)
            case _:
                assert_never(action)
        return action.event()

    def _renew(self, obj: WALCluster, action: RenewTemplate) -> None:
        """Its files first. The StatefulSet is that of before the look: who slept does not write an old template."""
        key, objects = obj.metadata.key, self.objects
        if objects is None:
            raise Conflict("this operator may not run a Kafka any more")
        found = self._find(obj, objects)
        self._ask_again(obj, action, decide)
        case = known_case(obj, found)
        node = None if isinstance(case, str) else next((each for each in case.nodes if each.id == action.node), None)
        if isinstance(case, str) or node is None:
            raise Conflict(f"node {action.node} of {key} is not declared any more")
        config, _, statefulset = node_objects(node, case.identity.cluster_id, case.certificate)
        before = found.found.objects.get((ObjectKind.STATEFUL_SET, statefulset.name))
        if before is None:
            raise Conflict(f"StatefulSet {statefulset.name} is gone")
        if (config.kind, config.name) not in found.found.objects:
            objects.create(obj, config)
        objects.renew_template(before, key.namespace, statefulset)

    def _find(self, obj: WALCluster, objects: KafkaObjects) -> Observed:
        """All that is asked before Kafka is."""
        time, key, managed = self.clock.trusted(), obj.metadata.key, obj.managed_kafka
        certificates = None if managed is None else read_certificates(self.kube, key, managed)
        return Observed(time, objects.find(key), certificates=certificates)

    def _deletes(self, obj: WALCluster) -> tuple[bool | None, str | None]:
        """Whether a run deletes now: an intent is written, and the log does not start there yet; None: not known.

        And which is paused in the middle of it, as a clause.
        """
        purges = of_cluster(self.kube.list(WALPurge, obj.metadata.namespace).items, obj.metadata.name)
        running = running_purges(purges)
        if not running:
            return False, None
        observation = self.ledgers.observe(obj)
        is_cut = None if isinstance(observation, Unavailable) else bool(cut_topics(running, observation))
        return is_cut, paused_run(running)

    def _measure(self, obj: WALCluster) -> None:
        """As the status has them, which the controller of nodes writes."""
        managed = obj.status.managed_kafka
        if managed is None:
            self.meter.forget_kafka_nodes(obj.metadata.key)
            return
        counted = Counter(node.state.value for node in managed.nodes)
        self.meter.measure_kafka_nodes(obj.metadata.key, counted, None if managed.roll is None else managed.roll.stage)

    def _with_memory(self, key: Key, facts: KafkaFacts, begun: int) -> KafkaFacts:
        """How long its look took counts for no node: what the first one found may be as young as its end."""
        ended = self.stopwatch.milliseconds()
        took = timedelta(milliseconds=ended - begun)
        lasted = self._well.note(key, facts.well_pods(), begun, ended)
        return with_steady(facts, {uid: facts.now - max(each - took, timedelta()) for uid, each in lasted.items()})

    def _without(self, key: Key, facts: KafkaFacts | Case | str) -> RollObserved:
        """Nobody asked Kafka: what was steady is steady no more."""
        self._well.forget(key)
        return RollObserved("it is not looked at" if isinstance(facts, Case) else facts)
