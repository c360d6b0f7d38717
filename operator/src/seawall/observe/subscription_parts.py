"""All that a tick of a subscription reads: its parts, its target, the source, and the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import Producer, SubscriptionState
from seawall.api.v1alpha1.subscription_targets import TargetBucket, TargetKafka
from seawall.domain.cluster.identity import pinned_id, pool_of
from seawall.domain.conditions import Verdict
from seawall.domain.errors import OutsideUnavailable, SeawallError
from seawall.domain.kafka_log import FirstSince, ProducerState, TopicFailure
from seawall.domain.ledger.needs import Records, TopicNeeds, find_needs
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.subscription import beginning, promotion
from seawall.domain.subscription.case import Case, Observed, Silent
from seawall.domain.subscription.committed.chain import Chains, folder_of
from seawall.domain.subscription.committed.progress import Newest
from seawall.domain.subscription.decide import case_of
from seawall.domain.subscription.holdable import advance_leaderless, find_ungranted
from seawall.domain.subscription.holding import bytes_kept, kept_from
from seawall.domain.subscription.lag import advance, seconds_of
from seawall.domain.subscription.logs import LogsNow, Position
from seawall.domain.times import SUBSCRIPTION_CHAINS_MS, SUBSCRIPTION_CONFIGS_MS, SUBSCRIPTION_NAMES_MS
from seawall.domain.topics.pool import wal_topics
from seawall.observe.chains import ChainObserver
from seawall.observe.database_ids import read_database_ids
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import named_cluster
from seawall.observe.records import read_records
from seawall.observe.subscription import OpenSource, SubscriptionObserver, Wanted, wanted_of
from seawall.observe.subscription_memory import Memory
from seawall.ports import Clock, Kube, SparkApplications, Stopwatch


@dataclass(frozen=True, slots=True)
class SubscriptionReader:
    """Reads for the controller of subscriptions."""

    kube: Kube
    applications: SparkApplications
    kafkas: SubscriptionObserver
    buckets: ChainObserver
    observer: LedgerObserver
    clock: Clock
    stopwatch: Stopwatch
    memories: dict[Key, Memory] = field(default_factory=dict)

    def forget(self, key: Key) -> None:
        """Closes the connections of a subscription that is gone."""
        self.memories.pop(key, None)
        self.kafkas.forget(key)
        self.buckets.forget(key)

    def configs_are_right(self, key: Key) -> None:
        """Those of the target need not be looked at again for a while."""
        self.memories.setdefault(key, Memory()).configs_at = self.stopwatch.milliseconds()

    def read(self, obj: WALSubscription) -> Observed:
        """Its parts, the list of topics, then the target, then the source; and the ledger when something is held anew.

        Raises:
            Refused: the API server does not let us read its parts.
        """
        cluster, hold = named_cluster(self.kube, obj), self.kube.get(WALHold, obj.metadata.key)
        base, opened = Observed(self.clock.now(), cluster, hold), None
        case = case_of(obj, base)
        # It may be dead, and nothing depends on it any more once the target is ready.
        if not isinstance(case, Verdict) and not promotion.is_over(case):
            opened = self.kafkas.open_source(case.cluster)
            base = replace(base, pool=_listed(case, opened))
            case = case_of(obj, base)
        if isinstance(case, Verdict) or cluster is None:
            return base
        key = case.run_key(1 if obj.status.run is None else obj.status.run.number)
        application = self.applications.get(key)
        names, now = case.selected, self.stopwatch.milliseconds()
        memory = self.memories.setdefault(obj.metadata.key, Memory())
        asks_configs = memory.configs_at is None or not 0 <= now - memory.configs_at < SUBSCRIPTION_CONFIGS_MS
        asks_configs = asks_configs or len(case.rows) < len(names) or case.is_asked_anew
        wanted, target = target_of(obj, cluster, case), None
        if wanted is not None:
            target = self.kafkas.target(obj, wanted, case.target_names, with_configs=asks_configs)
        chains = self._chains(obj, case, memory, now)
        if isinstance(target, LogsNow) and target.brokers is not None and case.spec.sink.mirror is not None:
            memory.brokers = target.brokers
        source = opened.read(names) if isinstance(opened, OpenSource) else opened
        found = Observed(
            now=self.clock.now(),
            cluster=cluster,
            hold=hold,
            request=self.kube.get_config_map(key),
            old_request=memory.old_requests.read(case, self.kube.get_config_map),
            application=application,
            driver=None if application is None else self.applications.describe_driver(application),
            target=target,
            source=source,
            pool=base.pool,
            needs=self._needs(case, cluster, obj),
            producers=self._producers(obj, wanted, base, target),
            # After the hold was read: what can be held is known of a time at which it existed.
            ledger=self._ledger(case, cluster),
            producer=self._producer(obj, wanted, case, target),
            brokers=memory.brokers,
            newest=self._newest(obj, wanted, case, target),
            tables=self._tables(case, cluster, memory, now),
            chains=chains,
        )
        return self._measured(obj, cluster, found, memory, now)

    def _measured(
        self, obj: WALSubscription, cluster: WALCluster, found: Observed, memory: Memory, now: int
    ) -> Observed:
        """With what follows of how far topics are: since when they are behind, or begin, and whether for too long."""
        case = case_of(obj, found)
        if isinstance(case, Verdict):
            return found
        positions = {name: each for name, each in case.standings.items() if isinstance(each, Position)}
        memory.pending = advance(memory.pending, positions, now)
        memory.beginning = beginning.advance(memory.beginning, case, now)
        memory.leaderless = advance_leaderless(memory.leaderless, case, now)
        measured = replace(
            found,
            seconds_behind=seconds_of(memory.pending, now),
            seconds_beginning=beginning.seconds_of(memory.beginning, now),
            seconds_leaderless={name: max(0, now - since) // 1000 for name, since in memory.leaderless.items()},
        )
        if found.hold is not None and found.hold.status.is_final and _matters_why(obj):
            measured = replace(measured, is_over_budget=self._is_over_budget(case, cluster, found.hold))
        return measured

    def _ledger(self, case: Case, cluster: WALCluster) -> Observation | Unavailable | None:
        hold = case.observed.hold
        claimed = frozenset() if hold is None or isinstance(hold.spec, InvalidSpec) else hold.spec.topics.keys()
        begun = {name for name, row in case.rows.items() if row.stopped is not None or name in claimed}
        is_placed = hold is not None and not hold.status.is_final
        promotion = case.status.promotion
        if promotion is not None:
            return None if promotion.topics else self.observer.observe(cluster)
        is_held = is_placed and begun.issuperset(case.selected) and not find_ungranted(case)
        return None if is_held else self.observer.observe(cluster)

    def _needs(self, case: Case, cluster: WALCluster, obj: WALSubscription) -> Mapping[str, TopicNeeds] | None:
        """What a copy must end above, when it is to be promoted; until that is recorded."""
        promotion = obj.status.promotion
        if case.spec.promote is None if promotion is None else promotion.topics:
            return None
        observation = self.observer.observe(cluster)
        # Without its Kafka the database cannot be observed as a whole, and still says what it has flushed.
        is_alone = isinstance(observation, Unavailable)
        ids = read_database_ids(self.observer.clusters, cluster) if is_alone else {}
        # Kafka may answer now, although it did not list its topics when this tick began.
        names = _with_spoken_of(case, ids if isinstance(observation, Unavailable) else observation.topics)
        shards = read_records(self.observer.intents, pool_of(cluster), names)
        return find_needs(observation, names, Records(shards, shards, cluster.status.recorded_shards), ids)

    def _producers(
        self, obj: WALSubscription, wanted: Wanted | None, base: Observed, target: LogsNow | Silent | None
    ) -> Mapping[str, ProducerState | TopicFailure]:
        """Read after the ends of the logs: what is padded by it is never too little, what is ours never too much."""
        producer, case = obj.status.producer, case_of(obj, replace(base, target=target))
        if producer is None or wanted is None or isinstance(case, Verdict) or not isinstance(target, LogsNow):
            return {}
        names = promotion.asked(case)
        return self.kafkas.describe_producer(obj, wanted, names, producer.id) if names else {}

    def _producer(self, obj: WALSubscription, wanted: Wanted | None, case: Case, target: object) -> Producer | None:
        """One for all that will ever be written; it counts once it is recorded."""
        is_taken = obj.status.producer is not None or case.spec.sink.mirror is None
        if wanted is None or is_taken or not obj.status.topics or not isinstance(target, LogsNow):
            return None
        try:
            found = self.kafkas.take_producer_id(obj, wanted)
        except OutsideUnavailable:
            return None
        return Producer(id=found.id, epoch=found.epoch)

    def _newest(self, obj: WALSubscription, wanted: Wanted | None, case: Case, target: object) -> Newest:
        """How far rows are, read after the ids of the target's topics: of one that was made again it says nothing."""
        records = case.status.records
        partitions = {row.progress_partition for row in case.rows.values() if row.progress_partition is not None}
        if records is None or wanted is None or not partitions or not isinstance(target, LogsNow):
            return {}
        return self.kafkas.read_newest(obj, wanted, records.progress.name, partitions)

    def _chains(self, obj: WALSubscription, case: Case, memory: Memory, now: int) -> Chains | Silent | None:
        """How far tables are: each look is a list of every topic's chain, which stores let people pay for."""
        bucket, rows = case.goes_to, tuple(case.rows.values())
        if not isinstance(bucket, TargetBucket):
            return None
        folders = tuple(folder_of(case.writer, row) for row in rows)

        def ask() -> Chains | Silent:
            return self.buckets.read(obj, bucket, case.writer, rows, memory.known)

        return memory.chains.read(ask, (bucket, folders), now, SUBSCRIPTION_CHAINS_MS)

    def _tables(self, case: Case, cluster: WALCluster, memory: Memory, now: int) -> Mapping[int, str] | Silent | None:
        """Names of tables; those that a run is made with were read after the status says for what they are needed."""
        if case.spec.sink.mirror is not None or case.spec.suspend or not case.rows:
            return None
        needed = tuple(row.names_known_to for row in case.rows.values())
        return memory.tables.read(lambda: self.kafkas.table_names(cluster), needed, now, SUBSCRIPTION_NAMES_MS)

    def _is_over_budget(self, case: Case, cluster: WALCluster, hold: WALHold) -> bool | None:
        """Whether more was kept for topics that go on than the budget allows, by the numbers with which it ended.

        None: the source does not say.
        """
        budget = case.spec.lag_budget
        if budget.max_bytes is not None and bytes_kept(case, hold) >= budget.max_bytes:
            return True
        kept = kept_from(case)
        if budget.max_age is None or not kept:
            return False
        try:
            young = self.kafkas.find_first_since(cluster, list(kept), self.clock.now() - budget.max_age)
        except SeawallError:
            return None
        return any(_is_older(case, name, kept[name], found) for name, found in young.items())


def _listed(case: Case, opened: OpenSource | Silent) -> tuple[str, ...] | None:
    return tuple(wal_topics(case.kafka.topics, opened.view)) if isinstance(opened, OpenSource) else None


def _with_spoken_of(case: Case, spoken_of: Iterable[str]) -> list[str]:
    """The topics that are meant; with those that are spoken of, where Kafka was not listed first of all."""
    topics, more = case.kafka.topics, sorted(spoken_of) if case.observed.pool is None else []
    beyond = (name for name in more if topics.index_of(name) is not None and case.spec.selects(name))
    return list(dict.fromkeys((*case.selected, *beyond)))


def _matters_why(obj: WALSubscription) -> bool:
    """Whether it matters why a hold is over: one that is Lost stays so, and what is promoted needs none any more."""
    return obj.status.state is not SubscriptionState.LOST and obj.status.promotion is None


def target_of(obj: WALSubscription, cluster: WALCluster, case: Case) -> Wanted | None:
    """The Kafka that it goes to, which rows may share with the log; None: it goes to a bucket."""
    if not isinstance(case.goes_to, TargetKafka):
        return None
    return wanted_of(obj, case.goes_to, pinned_id(cluster) if case.spec.sink.mirror is not None else None)


def _is_older(case: Case, name: str, kept: int, young: FirstSince) -> bool:
    """Whether the oldest record that is kept is older than the first young one."""
    source = case.observed.source
    ends = source.ends(name) if isinstance(source, LogsNow) else None
    first = young.offset if young.offset is not None or ends is None else ends.high_watermark
    return first is not None and kept < first
