"""The WALSubscription controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar, assert_never

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription import WALSubscription, WALSubscriptionSpec
from seawall.api.v1alpha1.subscription_status import Producer, WALSubscriptionStatus
from seawall.controllers.controller import Controller
from seawall.controllers.job_secrets import require_secrets
from seawall.domain.cluster.identity import pool_of
from seawall.domain.conditions import Verdict
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused
from seawall.domain.kafka_log import FirstSince, ProducerState, TopicFailure
from seawall.domain.ledger.needs import Records, TopicNeeds, find_needs
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.spark_job.actions import (
    FreezeRequest,
    PlaceHold,
    ReleaseHold,
    RemoveApplication,
    Submit,
)
from seawall.domain.step import Event
from seawall.domain.subscription import promotion
from seawall.domain.subscription.actions import (
    AddPartitions,
    AppendNulls,
    GuardTargets,
    MakeTargets,
    MoveHold,
    SubscriptionAction,
)
from seawall.domain.subscription.brokers import Brokers
from seawall.domain.subscription.case import Case, Observed, Silent, SubscriptionDecision
from seawall.domain.subscription.decide import BEGINS, case_of, decide
from seawall.domain.subscription.holding import bytes_kept
from seawall.domain.subscription.lag import Pending, advance, seconds_of
from seawall.domain.subscription.logs import LogsNow, Position
from seawall.domain.subscription.records.progress import Newest
from seawall.domain.times import SUBSCRIPTION_CONFIGS_MS, SUBSCRIPTION_NAMES_MS
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import named_cluster
from seawall.observe.records import read_records
from seawall.observe.subscription import SubscriptionObserver, Wanted, wanted_of
from seawall.ports import Clock, Kube, SparkApplications, Stopwatch, SubscriptionMeter


@dataclass(slots=True)
class Memory:
    """What a process that starts anew finds out again.

    Attributes:
        pending: by topic since when the target lacks something.
        configs_at: when the configs of the target's topics were last looked at, in the stopwatch's milliseconds.
        brokers: what was found then of the target's brokers.
        tables: the names of tables, and when and for what they were read, in the stopwatch's milliseconds.
    """

    pending: dict[str, Pending] = field(default_factory=dict)
    configs_at: int | None = None
    brokers: Brokers | None = None
    tables: tuple[int, tuple[int | None, ...], Mapping[int, str]] | None = None


@dataclass(frozen=True, slots=True)
class WALSubscriptionController(Controller[WALSubscription, Observed, WALSubscriptionStatus, SubscriptionAction]):
    """Observes and acts for WALSubscriptions."""

    resource: ClassVar = WALSubscription

    kube: Kube
    applications: SparkApplications
    kafkas: SubscriptionObserver
    observer: LedgerObserver
    clock: Clock
    stopwatch: Stopwatch
    meter: SubscriptionMeter
    memories: dict[Key, Memory] = field(default_factory=dict)
    kind: str = WALSubscription.KIND.kind

    def forget(self, key: Key) -> None:
        """Closes its connection, and removes its metrics."""
        self.memories.pop(key, None)
        self.kafkas.forget(key)
        self.meter.forget_subscription(key)

    def observe(self, obj: WALSubscription) -> Observed:
        """Reads its parts, then the target, then the source; and the ledger when something is to be held anew."""
        if obj.metadata.deletion_timestamp is not None:
            return Observed(self.clock.now())
        try:
            return self._read(obj)
        except Refused as error:
            return Observed(self.clock.now(), obstacle=str(error))

    def _read(self, obj: WALSubscription) -> Observed:
        cluster, hold = named_cluster(self.kube, obj), self.kube.get(WALHold, obj.metadata.key)
        base = Observed(self.clock.now(), cluster, hold)
        case = case_of(obj, base)
        if isinstance(case, Verdict) or cluster is None:
            return base
        key = case.run_key(1 if obj.status.run is None else obj.status.run.number)
        application = self.applications.get(key)
        names, now = case.selected, self.stopwatch.milliseconds()
        memory = self.memories.setdefault(obj.metadata.key, Memory())
        asks_configs = memory.configs_at is None or not 0 <= now - memory.configs_at < SUBSCRIPTION_CONFIGS_MS
        wanted = wanted_of(obj, cluster, case.kafka_target)
        target = self.kafkas.target(
            obj,
            wanted,
            case.target_names,
            with_configs=asks_configs or len(case.rows) < len(names) or case.spec.resync != case.status.resync,
        )
        if isinstance(target, LogsNow) and target.brokers is not None and case.spec.sink.mirror is not None:
            memory.brokers = target.brokers
        # It may be dead, and nothing depends on it any more once it is recorded where the copies must end.
        source = None if promotion.is_planned(case) else self.kafkas.source(cluster, names)
        found = Observed(
            now=self.clock.now(),
            cluster=cluster,
            hold=hold,
            request=self.kube.get_config_map(key),
            application=application,
            driver=None if application is None else self.applications.describe_driver(application),
            target=target,
            source=source,
            needs=self._needs(case, cluster, obj),
            producers=self._producers(obj, wanted, base, target),
            # After the hold was read: what can be held is known of a time at which it existed.
            ledger=self._ledger(case, cluster),
            producer=self._producer(obj, wanted, target),
            brokers=memory.brokers,
            newest=self._newest(obj, wanted, case, target),
            tables=self._tables(case, cluster, memory, now),
        )
        return self._measured(obj, cluster, found, memory, now)

    def _measured(
        self, obj: WALSubscription, cluster: WALCluster, found: Observed, memory: Memory, now: int
    ) -> Observed:
        """With what follows of how far the topics are: for how long they have been behind, and whether for too long."""
        case = case_of(obj, found)
        if isinstance(case, Verdict):
            return found
        positions = {name: each for name, each in case.standings.items() if isinstance(each, Position)}
        memory.pending = advance(memory.pending, positions, now)
        measured = replace(found, seconds_behind=seconds_of(memory.pending, now))
        if found.hold is not None and found.hold.status.is_final:
            measured = replace(measured, is_over_budget=self._is_over_budget(case, cluster, found.hold, positions))
        return measured

    def _ledger(self, case: Case, cluster: WALCluster) -> Observation | Unavailable | None:
        hold = case.observed.hold
        claimed = frozenset() if hold is None or isinstance(hold.spec, InvalidSpec) else hold.spec.topics.keys()
        begun = {name for name, row in case.rows.items() if row.stopped is not None or name in claimed}
        is_placed = hold is not None and not hold.status.is_final
        promotion = case.status.promotion
        if promotion is not None:
            return None if promotion.topics else self.observer.observe(cluster)
        return None if is_placed and begun.issuperset(case.selected) else self.observer.observe(cluster)

    def _needs(self, case: Case, cluster: WALCluster, obj: WALSubscription) -> Mapping[str, TopicNeeds] | None:
        """What a copy must end above, when it is to be promoted."""
        if obj.status.promotion is None or obj.status.promotion.topics:
            return None
        shards = read_records(self.observer.intents, pool_of(cluster), case.selected)
        wal = cluster.status.wal
        records = Records(shards, shards, frozenset(() if wal is None else wal.record_shards))
        return find_needs(self.observer.observe(cluster), case.selected, records)

    def _producers(
        self, obj: WALSubscription, wanted: Wanted, base: Observed, target: LogsNow | Silent
    ) -> Mapping[str, ProducerState | TopicFailure]:
        """Read after the ends of the logs: what is padded by it is never too little, what is ours never too much."""
        producer, case = obj.status.producer, case_of(obj, replace(base, target=target))
        if producer is None or isinstance(case, Verdict) or not isinstance(target, LogsNow):
            return {}
        names = promotion.asked(case)
        return self.kafkas.describe_producer(obj, wanted, names, producer.id) if names else {}

    def _producer(self, obj: WALSubscription, wanted: Wanted, target: object) -> Producer | None:
        """One for all that will ever be written; it counts once it is recorded."""
        is_mirror = isinstance(obj.spec, WALSubscriptionSpec) and obj.spec.sink.mirror is not None
        if not is_mirror or obj.status.producer is not None or not obj.status.topics or not isinstance(target, LogsNow):
            return None
        try:
            found = self.kafkas.take_producer_id(obj, wanted)
        except OutsideUnavailable:
            return None
        return Producer(id=found.id, epoch=found.epoch)

    def _newest(self, obj: WALSubscription, wanted: Wanted, case: Case, target: object) -> Newest:
        """How far rows are, read after the ids of the target's topics: of one that was made again it says nothing."""
        records = case.status.records
        partitions = {row.progress_partition for row in case.rows.values() if row.progress_partition is not None}
        if records is None or not partitions or not isinstance(target, LogsNow):
            return {}
        return self.kafkas.read_newest(obj, wanted, records.progress.name, partitions)

    def _tables(self, case: Case, cluster: WALCluster, memory: Memory, now: int) -> Mapping[int, str] | Silent | None:
        """Names of tables; those that a run is made with were read after the status says for what they are needed."""
        if case.spec.sink.records is None or case.spec.suspend or not case.rows:
            return None
        needed = tuple(row.names_known_to for row in case.rows.values())
        if memory.tables is not None and memory.tables[1] == needed:
            at, _, names = memory.tables
            if 0 <= now - at < SUBSCRIPTION_NAMES_MS:
                return names
        found = self.kafkas.table_names(cluster)
        memory.tables = None if isinstance(found, Silent) else (now, needed, found)
        return found

    def _is_over_budget(self, case: Case, cluster: WALCluster, hold: WALHold, positions: dict[str, Position]) -> bool:
        """Whether more was kept for topics that go on than the budget allows, by the numbers with which it ended."""
        budget = case.spec.lag_budget
        if budget.max_bytes is not None and bytes_kept(case, hold) >= budget.max_bytes:
            return True
        if budget.max_age is None or not positions:
            return False
        young = self.kafkas.find_first_since(cluster, list(positions), self.clock.now() - budget.max_age)
        return any(_is_older(positions[name], found) for name, found in young.items())

    def decide(self, obj: WALSubscription, observed: Observed) -> SubscriptionDecision:
        """Decides (pure); configs of the target that are right need not be looked at again for a while."""
        decision, target = decide(obj, observed), observed.target
        is_right = not any(isinstance(action, GuardTargets) for action in decision.actions)
        if isinstance(target, LogsNow) and target.configs and is_right:
            memory = self.memories.setdefault(obj.metadata.key, Memory())
            memory.configs_at = self.stopwatch.milliseconds()
        return decision

    def record(self, obj: WALSubscription, status: WALSubscriptionStatus) -> None:
        """Replaces the status, and measures it."""
        self.kube.replace_status(obj, status)
        self.meter.measure_subscription(obj.metadata.key, status, _most_bytes(obj))

    def perform(self, obj: WALSubscription, action: SubscriptionAction) -> Event:
        """Does one action; what begins something only if right now it would be decided again."""
        if isinstance(action, BEGINS | AppendNulls):
            self._ask_again(obj, action, decide)
        match action:
            case PlaceHold():
                self.kube.create(WALHold, action.key, action.spec, owner=obj)
            case MoveHold():
                self.kube.replace_spec(action.hold, action.spec.model_copy(update={"renew_time": self._second()}))
            case ReleaseHold():
                self.kube.delete(action.hold)
            case MakeTargets() | AddPartitions() | GuardTargets():
                self._change_targets(obj, action)
            case FreezeRequest():
                self.kube.write_config_map(obj, action.config_map)
            case Submit():
                require_secrets(self.kube, obj.metadata.namespace, action.secrets, "subscription")
                self.applications.create(obj, action.key, action.spec, action.service_account)
            case AppendNulls():
                self.kafkas.append_nulls(obj, self._wanted(obj), action.nulls)
            case RemoveApplication():
                self.applications.delete(action.application)
            case _:
                assert_never(action)
        return action.event()

    def _second(self) -> datetime:
        return self.clock.now().replace(microsecond=0)

    def _wanted(self, obj: WALSubscription) -> Wanted:
        """The target, which was asked a moment ago, when an action was decided again."""
        cluster = named_cluster(self.kube, obj)
        case = case_of(obj, Observed(self.clock.now(), cluster))
        if cluster is None or isinstance(case, Verdict):
            raise Conflict(f"the WALCluster of WALSubscription {obj.metadata.key} changed")
        return wanted_of(obj, cluster, case.kafka_target)

    def _change_targets(self, obj: WALSubscription, action: MakeTargets | AddPartitions | GuardTargets) -> None:
        admin = self.kafkas.admin(obj, self._wanted(obj))
        match action:
            case MakeTargets():
                admin.create_topics(action.topics)
            case AddPartitions():
                admin.add_partitions({action.topic: action.total})
            case GuardTargets():
                admin.alter_configs(action.changes)


def _is_older(position: Position, young: FirstSince) -> bool:
    """Whether the oldest record that is kept is older than the first young one."""
    first = position.source_end if young.offset is None else young.offset
    return position.keep_from < first


def _most_bytes(obj: WALSubscription) -> int | None:
    return None if isinstance(obj.spec, InvalidSpec) else obj.spec.lag_budget.max_bytes
