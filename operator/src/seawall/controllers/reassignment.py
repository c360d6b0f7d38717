"""The Replication controller: a second one of WALClusters, for the run that moves their replicas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, assert_never

from seawall.api.meta import REASSIGNMENT_FINALIZER, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec, WALClusterStatus
from seawall.controllers.controller import Controller
from seawall.controllers.permission import require_cancel, require_replicas
from seawall.domain.clocks import TrustedTime
from seawall.domain.errors import OutsideUnavailable, Refused, SeawallError
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.leaving_broker import without_leaving
from seawall.domain.partitions import PartitionId, Rates, ThrottledReplicas
from seawall.domain.placement import Placement
from seawall.domain.reassignment.actions import (
    AddFinalizer,
    Cancel,
    ClearThrottle,
    ElectLeaders,
    MovesRefused,
    ReassignmentAction,
    RememberLists,
    RemoveFinalizer,
    SetThrottle,
    Submit,
    WriteJournal,
)
from seawall.domain.reassignment.decide import ReplicationDecision, decide
from seawall.domain.reassignment.journal import (
    ABOUT_KEY,
    DATA_KEY,
    LISTS_KEY,
    Journal,
    encode_journal,
    encode_lists,
    journal_key,
)
from seawall.domain.reassignment.observed import KafkaState, Line, Observed, find_line
from seawall.domain.reassignment.planning import (
    CannotPlan,
    demand_of,
    freeze,
    is_rebalance_due,
    is_still_wanted,
    plan_moves,
)
from seawall.domain.step import Event
from seawall.domain.times import REASSIGNMENT_IDLE_THROTTLE_MINUTES
from seawall.observe.partitions import PartitionObserver
from seawall.observe.reassignment_journal import observe_journal
from seawall.ports import Clock, Kube, ReassignmentMeter

ABOUT = "Where partitions were and go to, for the reassignment in the WALCluster's status. Leave it alone."


@dataclass(frozen=True, slots=True)
class ReplicationController(Controller[WALCluster, Observed, WALClusterStatus, ReassignmentAction]):
    """Moves replicas. Of the status it writes only its own parts; its queue is its own: no topic waits for a move."""

    resource: ClassVar = WALCluster

    kube: Kube
    observer: PartitionObserver
    clock: Clock
    meter: ReassignmentMeter
    kind: str = "Replication"

    def forget(self, key: Key) -> None:
        """Removes the metrics of a WALCluster that is gone."""
        self.meter.forget_reassignment(key)

    def observe(self, obj: WALCluster) -> Observed:
        """Looks, and measures how far it is."""
        time, run = self.clock.trusted(), obj.status.reassignment
        is_active = run is not None and run.is_active
        asks_throttled = is_active or time.now.minute % REASSIGNMENT_IDLE_THROTTLE_MINUTES == 0
        observed, throttled = self._observe_while_allowed(obj, time, asks_throttled=asks_throttled), None
        if asks_throttled and not isinstance(observed.kafka, str):
            throttled = sum(found != ThrottledReplicas() for found in observed.kafka.throttles.topics.values())
        self.meter.measure_reassignment(obj.metadata.key, obj.status.reassignment, throttled)
        return observed

    def _observe_while_allowed(self, obj: WALCluster, time: TrustedTime, *, asks_throttled: bool) -> Observed:
        """Of a WALCluster that goes with its namespace also that the rights to read the rest went before it."""
        is_deleted = obj.metadata.deletion_timestamp is not None
        is_kept = is_deleted and REASSIGNMENT_FINALIZER in obj.metadata.finalizers
        try:
            return self._observe(obj, time, asks_throttled=asks_throttled)
        except Refused as error:
            if not is_kept or not self.kube.is_terminating(obj.metadata.namespace):
                raise
            return Observed(time, str(error), rights_are_gone=True)

    def _observe(self, obj: WALCluster, time: TrustedTime, *, asks_throttled: bool) -> Observed:
        """Reads the journal, Kafka, and other WALClusters; without a run under way it plans one."""
        spec, journal = obj.spec, observe_journal(self.kube, obj)
        if isinstance(spec, InvalidSpec):
            return Observed(time, spec.message, journal)
        run = obj.status.reassignment
        is_active = run is not None and run.is_active
        # Before the look: rates that are read after nobody else had begun are not those of another run.
        may_throttle = run is not None and (run.is_active or bool(run.rates_set))
        line = find_line(obj, self.kube.list(WALCluster).items) if may_throttle else Line()
        asked = without_leaving(obj, spec)
        kafka = self.observer.observe(
            obj, asked, journal.readable if is_active else None, asks_throttled=asks_throttled
        )
        if isinstance(kafka, str):
            return Observed(time, kafka, journal)
        spec = without_leaving(obj, spec, kafka.brokers)
        if not is_active:
            return Observed(time, kafka, journal, self._plan(obj, spec, kafka), line=line)
        demand = demand_of(spec, kafka.settled())
        wanted = journal.readable is None or is_still_wanted(journal.readable, spec, demand)
        return Observed(time, kafka, journal, is_still_wanted=wanted, line=line)

    def decide(self, obj: WALCluster, observed: Observed) -> ReplicationDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def absorb(self, observed: Observed, error: SeawallError) -> Observed | None:
        """Partitions that Kafka refuses to move are left out, and the run goes on with the others."""
        return replace(observed, refused=error.partitions) if isinstance(error, MovesRefused) else None

    def perform(self, obj: WALCluster, action: ReassignmentAction) -> Event:
        """Does one action, if the object still is as it was when that was decided."""
        others = [name for name in obj.metadata.finalizers if name != REASSIGNMENT_FINALIZER]
        match action:
            case WriteJournal() | RememberLists():
                # Lists that were read after somebody else took the turn are its own throttle.
                self._require_unchanged(obj)
                self.kube.write_config_map(obj, _config_map(obj, action))
            case AddFinalizer():
                self.kube.set_finalizers(obj, [*others, REASSIGNMENT_FINALIZER])
            case RemoveFinalizer():
                self.kube.set_finalizers(obj, others)
            case SetThrottle() | ClearThrottle() | Submit() | Cancel() | ElectLeaders():
                self._change_kafka(obj, action)
            case _:
                assert_never(action)
        return action.event()

    def _change_kafka(
        self, obj: WALCluster, action: SetThrottle | ClearThrottle | Submit | Cancel | ElectLeaders
    ) -> None:
        """The object is read last: what Kafka is asked takes seconds, in which a person may have said otherwise."""
        reassigner = self.observer.reassigner(obj)
        if isinstance(action, Submit):
            require_replicas(reassigner, action.targets)
        elif isinstance(action, Cancel):
            require_cancel(reassigner, action.partitions)
        self._require_unchanged(obj)
        match action:
            case SetThrottle():
                rate = action.bytes_per_second
                reassigner.alter_throttles(None if rate is None else Rates(rate, rate), action.replicas)
            case ClearThrottle():
                reassigner.alter_throttles(action.rates, action.replicas)
            case Submit():
                _raise_failures(reassigner.reassign(dict(action.targets)))
            case Cancel():
                _raise_failures(reassigner.reassign(dict.fromkeys(action.partitions)))
            case ElectLeaders():
                _raise_without_success(reassigner.elect_preferred_leaders(action.partitions), len(action.partitions))

    def _plan(self, obj: WALCluster, spec: WALClusterSpec, kafka: KafkaState) -> Journal | CannotPlan | None:
        """What a run would do. What somebody else moves is waited for: where it will be is not known."""
        if obj.metadata.deletion_timestamp is not None or any(found in kafka.partitions for found in kafka.ongoing):
            return None
        partitions, brokers = kafka.movable(), tuple(kafka.brokers.values())
        is_due = is_rebalance_due(obj, spec, partitions, brokers)
        demand = replace(demand_of(spec, partitions), rebalance=is_due)
        found = plan_moves(partitions, brokers, demand)
        if not isinstance(found, Placement):
            return found
        topics = sorted({move.id.topic for move in found.moves})
        try:
            sizes = self.observer.reassigner(obj).sizes(topics)
        except SeawallError as error:
            return CannotPlan(f"the sizes of logs are not known: {error}")
        return freeze(found, demand, sizes.by_partition, self.clock.now())


def _config_map(obj: WALCluster, action: WriteJournal | RememberLists) -> ConfigMap:
    lists = action.lists if isinstance(action, RememberLists) else {}
    return ConfigMap(
        key=journal_key(obj.metadata.key),
        data={ABOUT_KEY: ABOUT, "digest": action.journal.digest},
        controller_uid=obj.metadata.uid,
        resource_version=action.version,
        binary_data={
            DATA_KEY: encode_journal(action.journal),
            **({LISTS_KEY: encode_lists(lists)} if lists else {}),
        },
    )


def _raise_failures(failures: Mapping[PartitionId, TopicFailure]) -> None:
    """What Kafka refused for good counts; what it did not answer, or does not know any more, is looked at again."""
    refused = {found: failure.message for found, failure in failures.items() if failure.why is TopicTrouble.REFUSED}
    if refused:
        raise MovesRefused(refused)
    if failures:
        raise OutsideUnavailable(next(iter(failures.values())).message)


def _raise_without_success(failures: Mapping[PartitionId, TopicFailure], asked: int) -> None:
    """Nothing was elected. What failed beside others is asked for alone at the next look."""
    if failures and len(failures) == asked:
        first = next(iter(failures.values()))
        raise Refused(first.message) if first.why is TopicTrouble.REFUSED else OutsideUnavailable(first.message)
