"""One tick of a subscription: what is observed, which topics are meant, and how far each of them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.hold import HoldState, WALHold, WALHoldSpec
from seawall.api.v1alpha1.subscription import WALSubscription, WALSubscriptionSpec
from seawall.api.v1alpha1.subscription_status import MirroredTopic, Producer, WALSubscriptionStatus
from seawall.api.v1alpha1.subscription_targets import SubscriptionSpec, TargetBucket, TargetKafka
from seawall.domain.conditions import Outlook, Verdict
from seawall.domain.decision import Decision
from seawall.domain.kafka_log import ProducerState, TopicFailure
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.needs import TopicNeeds
from seawall.domain.ledger.observation import Observation, Unavailable
from seawall.domain.spark_job.actions import attempt_key
from seawall.domain.spark_job.application import Driver, SparkApplication
from seawall.domain.spark_job.case import GRANTED
from seawall.domain.spark_job.selection import Topics
from seawall.domain.subscription.actions import SubscriptionAction
from seawall.domain.subscription.brokers import Brokers
from seawall.domain.subscription.committed.chain import Chains
from seawall.domain.subscription.committed.progress import Committed, Newest, Reader
from seawall.domain.subscription.logs import Halt, LogsNow, Position, judge
from seawall.domain.subscription.written import Written, certain, find_written
from seawall.domain.times import JOB_POLL_SECONDS

SubscriptionDecision = Decision[WALSubscriptionStatus, SubscriptionAction]


@dataclass(frozen=True, slots=True)
class Silent:
    """One of the two Kafkas cannot be asked, or must not be: how that looks, and why."""

    outlook: Outlook
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees, as far as it is needed."""

    now: datetime
    cluster: WALCluster | None = None
    """The WALCluster; None: there is none, or it is being deleted."""
    hold: WALHold | None = None
    request: ConfigMap | None = None
    """Of the run that is meant."""
    old_request: ConfigMap | None = None
    """Of a run before the last one."""
    application: SparkApplication | None = None
    driver: Driver = None
    target: LogsNow | Silent | None = None
    """Read before the source; None: nobody asked."""
    source: LogsNow | Silent | None = None
    pool: tuple[str, ...] | None = None
    """The topics that Kafka lists, those beyond the pool's count, too; listed first of all. None: nobody says."""
    ledger: Observation | Unavailable | None = None
    """Of a time at which the hold was read; None: nothing is to be held anew."""
    is_over_budget: bool | None = None
    """Whether a hold that is over has ended because of the budget; None: it is not over, that does not matter
    any more, or nobody says."""
    producer: Producer | None = None
    """One that was just taken, if there is none yet."""
    seconds_behind: Mapping[str, int] = field(default_factory=dict)
    """By topic that is behind for how long it has been, at least."""
    seconds_beginning: Mapping[str, int] = field(default_factory=dict)
    """By topic that was never copied for how long it has waited for the same, at least."""
    seconds_leaderless: Mapping[str, int] = field(default_factory=dict)
    """By topic that is claimed, not granted, and without a leader for how long it has been, at least."""
    needs: Mapping[str, TopicNeeds] | None = None
    """What the database has and the source had of each topic; None: nobody asked."""
    producers: Mapping[str, ProducerState | TopicFailure] = field(default_factory=dict)
    """What the target remembers of the producer, read after where its logs end; of topics of which that matters."""
    brokers: Brokers | None = None
    """Configs of a mirror's brokers, when they were last asked; None: nobody asked yet."""
    newest: Newest = field(default_factory=dict)
    """What the topic of progress says last, of rows in a topic."""
    chains: Chains | Silent | None = None
    """What the bucket says, of rows in one; read before the source. None: nobody asked."""
    tables: Mapping[int, str] | Silent | None = None
    """The names of the database's tables by their ids, read after what the status says of them; None: nobody asked."""
    obstacle: str | None = None
    """Why its parts cannot be read: the API server refuses. Then nothing is known of them."""


@dataclass(frozen=True)
class Case:
    """A subscription with what its WALCluster declares, and what was observed."""

    obj: WALSubscription
    spec: WALSubscriptionSpec
    cluster: WALCluster
    kafka: WALClusterSpec
    declared: SubscriptionSpec
    goes_to: TargetKafka | TargetBucket
    observed: Observed

    @property
    def now(self) -> datetime:
        """The time of this tick."""
        return self.observed.now

    @property
    def status(self) -> WALSubscriptionStatus:
        """The status as it was read."""
        return self.obj.status

    @property
    def uid(self) -> str:
        """Whose children are its own."""
        return self.obj.metadata.uid

    @property
    def is_asked_anew(self) -> bool:
        """Whether `resync` says something that was not met yet; to take it away asks for nothing."""
        return self.spec.resync not in {"", self.status.resync}

    def run_key(self, number: int) -> Key:
        """What the request and the application of a run are called."""
        return attempt_key(self.obj.metadata.key, number)

    @cached_property
    def selected(self) -> list[str]:
        """The topics of the pool that are meant, and those beyond its count that anybody knows of.

        Purges and backups are about those, too: the database may write to them. While Kafka does not list them, they
        are those that have begun, are claimed, or that the database speaks of.
        """
        observed, topics, pool = self.observed, self.kafka.topics, self.kafka.topics.topic_names()
        listed = self.held if observed.pool is None else observed.pool
        known = {*listed, *(row.name for row in self.status.topics), *(observed.needs or ())}.difference(pool)
        beyond = sorted((index, name) for name in known if (index := topics.index_of(name)) is not None)
        return [name for name in (*pool, *(name for _, name in beyond)) if self.spec.selects(name)]

    @property
    def target_names(self) -> list[str]:
        """The topics of the target."""
        sink = self.spec.sink.records
        if sink is None:
            return [] if self.spec.sink.mirror is None else self.selected
        return [sink.topic, self.progress_topic, *([] if sink.dead_letters is None else [sink.dead_letters])]

    @cached_property
    def rows(self) -> dict[str, MirroredTopic]:
        """Those of them that have begun, by name."""
        names = set(self.selected)
        return {row.name: row for row in self.status.topics if row.name in names}

    @property
    def writer(self) -> str:
        """Who signs the progress of rows, and what transactional ids begin with: another object's is another one."""
        return f"seawall.{self.obj.metadata.namespace}.{self.obj.metadata.name}.{self.uid[:8]}"

    @property
    def progress_topic(self) -> str:
        """The topic of the target that says how far rows are."""
        return f"{self.writer}.progress"

    @cached_property
    def reader(self) -> Reader:
        """What reads the progress of rows."""
        return Reader(self.writer, self.status.records, self.observed.newest)

    @cached_property
    def committed(self) -> Mapping[str, Committed]:
        """By topic what of its rows was committed last, as far as the target says it."""
        chains, rows = self.observed.chains, self.rows.values()
        return chains.committed(rows) if isinstance(chains, Chains) else self.reader.committed(rows)

    @cached_property
    def standings(self) -> dict[str, Position | Halt | None]:
        """How far each of them is, or why it cannot go on; None: that is not known."""
        source, target, chains = self.observed.source, self.observed.target, self.observed.chains
        if isinstance(source, LogsNow) and isinstance(chains, Chains):
            return {name: chains.judge(row, source) for name, row in self.rows.items()}
        if isinstance(source, LogsNow) and isinstance(target, LogsNow):
            # What is promoted is written to by others, and its hold does not move any more.
            if self.spec.sink.records is not None:
                return {name: self.reader.judge(row, source, target) for name, row in self.rows.items()}
            find = self.find_written if self.status.promotion is None else _as_it_is
            return {name: judge(row, source, target, find) for name, row in self.rows.items()}
        return {name: _recorded(row) for name, row in self.rows.items()}

    def find_written(self, row: MirroredTopic, end: int) -> Written:
        """How much of a topic of the target that ends here this mirror wrote."""
        state = self.observed.producers.get(row.name)
        return find_written(row, end, self.held.get(row.name, 0), self.status.producer, state)

    @cached_property
    def starts(self) -> Mapping[str, tuple[int, int | None]]:
        """By topic where its log begins, and up to where purges may delete, as far as that was observed."""
        ledger = self.observed.ledger
        if not isinstance(ledger, Observation):
            return {}
        topics = Topics(ledger, self.spec.selects)
        found = {name: topics.log(name).log_start for name in topics.rows}
        return {name: (start, topics.known_intent(name)) for name, start in found.items() if start is not None}

    @cached_property
    def held(self) -> dict[str, int]:
        """Where its hold begins by what it claims, also one that is over: it was never moved on a guess."""
        hold = self.observed.hold
        return {} if hold is None or hold.metadata.controller_uid != self.uid else claims_of(hold)

    @cached_property
    def unsure(self) -> list[str]:
        """Topics that end in the target further than is certain: what its leaders remember of the producer is asked."""
        target = self.observed.target
        if not isinstance(target, LogsNow):
            return []
        ends = {name: found.high_watermark for name in self.rows if (found := target.ends(name)) is not None}
        return [name for name, end in ends.items() if end > certain(self.rows[name], self.held.get(name, 0))]

    @property
    def own_hold(self) -> WALHold | None:
        """Its hold, if it holds anything."""
        hold = self.observed.hold
        return hold if hold is not None and hold.metadata.controller_uid == self.uid and is_alive(hold) else None

    @property
    def granted(self) -> Mapping[str, int | str]:
        """What its hold was granted, by topic, as its status has it."""
        return {} if self.own_hold is None else self.own_hold.status.granted

    @property
    def own_application(self) -> SparkApplication | None:
        """What copies, if this subscription made it."""
        found = self.observed.application
        return found if found is not None and found.controller_uid == self.uid else None

    def goes_on(self, reason: str, message: str, after: float | None = JOB_POLL_SECONDS) -> Verdict:
        """It waits for something."""
        return Verdict(Outlook.PROGRESSING, reason, message, after)

    def stays(self, verdict: Verdict, *actions: SubscriptionAction) -> SubscriptionDecision:
        """Nothing of the status changes but what people are told."""
        return Decision(self.status, verdict, actions)

    def becomes(self, verdict: Verdict, **update: object) -> SubscriptionDecision:
        """The status changes."""
        return Decision(self.status.model_copy(update=update), verdict)


def is_alive(hold: WALHold) -> bool:
    """Whether what was granted by it stays."""
    is_kept = hold.status.state in GRANTED and bool(hold.status.granted)
    return is_kept and hold.metadata.deletion_timestamp is None


def claims_of(hold: WALHold) -> dict[str, int]:
    """The offsets that a hold asks for."""
    topics = hold.spec.topics if isinstance(hold.spec, WALHoldSpec) else {}
    return {name: offset for name, offset in topics.items() if isinstance(offset, int)}


def is_at_risk(hold: WALHold | None) -> bool:
    """Whether it is near or beyond its budget, or its log is in doubt."""
    return hold is not None and hold.status.state is HoldState.AT_RISK


def _as_it_is(row: MirroredTopic, end: int) -> Written:
    return Written(max(end, row.start))


def _recorded(row: MirroredTopic) -> Halt | None:
    return None if row.stopped is None else Halt(row.stopped, row.offset, row.message)
