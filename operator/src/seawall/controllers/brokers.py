"""The controller that tells of Kafka's brokers, their replicas, and the controllers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.controllers.controller import Controller
from seawall.controllers.permission import require_unmanaged
from seawall.domain.brokers.decide import (
    BrokersDecision,
    Observed,
    RepairMinISR,
    decide,
    pause_after,
    would_repair,
)
from seawall.domain.brokers.reasons import Reason
from seawall.domain.brokers.view import (
    BrokerObservation,
    BrokersFound,
    NothingObserved,
    remembers_eligible_leaders,
    view_of,
    worth_asking,
)
from seawall.domain.conditions import find_condition
from seawall.domain.decision import Failure
from seawall.domain.errors import OutsideUnavailable, Refused, SeawallError
from seawall.domain.kafka import NoKafka
from seawall.domain.kafka_log import TopicFailure
from seawall.domain.partitions import Quorum, Rates, Sizes, known_brokers
from seawall.domain.step import Event
from seawall.domain.times import QUEUE_ALIGNED_PART
from seawall.observe.connections import kafka_of, required_kafka
from seawall.observe.shared_brokers import BrokersObserver, SharedObservation
from seawall.ports import BrokerMeter, Clock, KafkaClusters, Kube, PartitionReassigner, Strimzi

AnswerT = TypeVar("AnswerT")

BROKERS = "Brokers"
"""The kind of its queue, whose keys are those of WALClusters."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The newest look: what the object said then, for how many seconds it is new, and since when and until when.

    Times are the stopwatch's. `failed` is how a correction failed the last time; one that `is_tried` since this look
    waits for the next.
    """

    observed_from: object
    pause: float
    began: int
    until: int
    found: BrokersFound | NothingObserved
    failed: Failure | None = None
    is_tried: bool = False


@dataclass(frozen=True, slots=True)
class BrokersController(Controller[WALCluster, Observed, WALClusterStatus, RepairMinISR]):
    """Looks at the brokers of each WALCluster's Kafka when topics or live brokers are others, soon again, then seldom.

    It has a queue of its own, because a look at all partitions and log directories takes seconds when a broker is
    down. WALClusters on one Kafka share looks. Of the status it writes its own parts (`domain/brokers/status.py`), and
    only when there is news.
    """

    resource: ClassVar = WALCluster

    kube: Kube
    kafka_clusters: KafkaClusters
    clock: Clock
    observer: BrokersObserver
    meter: BrokerMeter
    strimzi: Strimzi | None = None
    """None: nobody asks what Strimzi has."""
    kind: str = BROKERS
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _kept: dict[Key, _Kept] = field(default_factory=dict)

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        with self._lock:
            self._kept.pop(key, None)
        self.observer.forget(key)
        self.meter.forget_brokers(key)

    def observe(self, obj: WALCluster) -> Observed:
        """Looks, if the last look is old, or the object says something else than at its time."""
        key, now = obj.metadata.key, self.clock.now()
        why_not = _why_not(obj)
        if why_not is not None:
            self.forget(key)
            return Observed(now, why_not)
        observed_from = _observed_from(obj)
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept.observed_from != observed_from:
            kept = None
        at = self.observer.stopwatch.milliseconds()
        if kept is not None and at < kept.until - int(kept.pause * 1000 * QUEUE_ALIGNED_PART):
            return Observed(now, kept.found, (kept.until - at) / 1000, kept.failed, kept.is_tried)
        pause = pause_after(None if kept is None else kept.pause)
        failed = None if kept is None else kept.failed
        shared = self._observe(obj, None if kept is None else max(kept.began + 1, at - int(pause * 500)))
        if shared.is_older and would_repair(obj, shared.found):  # nobody acts by what was observed for another object
            shared = self._observe(obj, None)
        until = shared.ended + int(pause * 1000)
        with self._lock:
            self._kept[key] = _Kept(observed_from, pause, shared.began, until, shared.found, failed)
        self.meter.measure_brokers(key, shared.found if isinstance(shared.found, BrokersFound) else None)
        return Observed(now, shared.found, max(0.0, until - self.observer.stopwatch.milliseconds()) / 1000, failed)

    def decide(self, obj: WALCluster, observed: Observed) -> BrokersDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALCluster, action: RepairMinISR) -> Event:
        """Corrects one of Kafka's own topics; then it is looked at anew."""
        key, connection = obj.metadata.key, required_kafka(self.kube, obj)
        require_unmanaged(self.strimzi, obj, [action.change.topic], may_be_unknown=True)
        self.kafka_clusters.connect(key, connection).alter_configs([action.change])
        with self._lock:
            self._kept.pop(key, None)
        return action.event()

    def remember_failure(self, obj: WALCluster, action: RepairMinISR, error: SeawallError) -> None:  # noqa: ARG002 - there is only one
        """It is tried again after the next look, and told until then."""
        with self._lock:
            if (kept := self._kept.get(obj.metadata.key)) is not None:
                self._kept[obj.metadata.key] = replace(kept, failed=Failure.of(error), is_tried=True)

    def _observe(self, obj: WALCluster, oldest: int | None) -> SharedObservation:
        """A look that is as new as `BrokersObserver.find` says, or why there can be none."""
        key, at = obj.metadata.key, self.observer.stopwatch.milliseconds()
        connection = _answered(lambda: kafka_of(self.kube, obj))
        if isinstance(connection, NoKafka):
            connection = NothingObserved(Reason.NOT_ASKED, connection.message)
        if isinstance(connection, NothingObserved):
            return SharedObservation(at, at, connection)
        reassigner = self.kafka_clusters.reassigner(key, connection)
        return self.observer.observe(key, connection, oldest, lambda: _answered(lambda: _ask(reassigner)))


def _answered(ask: Callable[[], AnswerT]) -> AnswerT | NothingObserved:
    """The answer, or why there is none."""
    try:
        return ask()
    except OutsideUnavailable:  # not its words: they are others each time
        return NothingObserved(Reason.NOT_ASKED, "Kafka did not answer when it was asked for brokers and partitions")
    except Refused as refused:
        return NothingObserved(Reason.NOT_ALLOWED, str(refused))


def _ask(reassigner: PartitionReassigner) -> BrokersFound:
    view, quorum = view_of(_read(reassigner)), _quorum(reassigner)
    return BrokersFound(view, quorum, remembers_eligible_leaders(_features(reassigner)))


def _observed_from(obj: WALCluster) -> object:
    """What makes a look old when it changes: the spec, topics, and live brokers."""
    brokers = obj.status.kafka.brokers if obj.status.kafka is not None else None
    return obj.metadata.generation, obj.status.topics, brokers and (brokers.total, brokers.online)


def _why_not(obj: WALCluster) -> NothingObserved | None:
    """Who tends topics also finds out whether this is the Kafka that is meant."""
    if obj.metadata.deletion_timestamp is not None:
        return NothingObserved(Reason.NOT_ASKED, "the WALCluster is being deleted")
    reachable = find_condition(obj.status.conditions, ConditionType.KAFKA_REACHABLE)
    if obj.status.kafka is None or reachable is None or reachable.status != "True":
        return NothingObserved(Reason.NOT_ASKED, "KafkaReachable is not True: its message says why")
    return None


def _read(reassigner: PartitionReassigner) -> BrokerObservation:
    """Reassignments are listed twice: one that begins or ends in between must not look like a replica out of sync."""
    ongoing = reassigner.ongoing()
    described = reassigner.partitions().values()
    ongoing = {**ongoing, **reassigner.ongoing()}
    partitions = tuple(partition for topic in described if not isinstance(topic, TopicFailure) for partition in topic)
    asked = sorted(worth_asking(partitions, ongoing))
    min_isr = reassigner.min_insync_replicas(asked) if asked else {}
    return BrokerObservation(
        known_brokers(reassigner.brokers(), partitions),
        partitions,
        ongoing,
        {topic: reported for topic, reported in min_isr.items() if isinstance(reported, int)},
        _sizes(reassigner),
        _own_rates(reassigner),
    )


def _sizes(reassigner: PartitionReassigner) -> Sizes | None:
    try:
        return reassigner.sizes()
    except (OutsideUnavailable, Refused):  # a managed Kafka need not tell of its disks
        return None


def _own_rates(reassigner: PartitionReassigner) -> Mapping[int, Rates] | str:
    """A right of its own lets them be described: who lacks it is told so, and of all else as before."""
    try:
        return reassigner.throttles(()).by_broker
    except Refused as refused:
        return str(refused)
    except OutsideUnavailable:  # not its words: they are others each time
        return "Kafka did not answer"


def _features(reassigner: PartitionReassigner) -> Mapping[str, int]:
    try:
        return reassigner.features()
    except (OutsideUnavailable, Refused):  # what was known of them stays
        return {}


def _quorum(reassigner: PartitionReassigner) -> Quorum | NothingObserved:
    try:
        return reassigner.quorum()
    except OutsideUnavailable:
        return NothingObserved(Reason.NO_QUORUM, "Kafka's controllers have no leader, or do not answer")
    except Refused as refused:  # nor of its controllers
        return NothingObserved(Reason.NOT_ALLOWED, str(refused))
