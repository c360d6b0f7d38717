"""The page itself: everything that `seawall status` shows, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from seawall.api.meta import ConditionType, InvalidSpec
from seawall.api.v1alpha1.cluster import DataPlaneStatus, TopicsStatus, WALClusterStatus, WALStatus
from seawall.api.v1alpha1.hold import ALL_TOPICS, HoldState, WALHold
from seawall.api.v1alpha1.kafka_brokers import BrokerState
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.conditions import find_condition
from seawall.domain.overview.activities import Activity, Ended, ended_last, list_activities
from seawall.domain.overview.datanodes import DatanodeLine, list_datanodes
from seawall.domain.overview.findings import Finding, find_all
from seawall.domain.overview.snapshot import Leader, Snapshot

_WORST_FIRST = (HoldState.AT_RISK, None, HoldState.REQUESTED, HoldState.EXTENDED, HoldState.ACTIVE)


@dataclass(frozen=True, slots=True)
class HoldLine:
    """A claim that counts.

    Attributes:
        name: of the WALHold.
        state: what became of it.
        topics: how many topics it holds; None: not known yet.
        everything: whether it holds all, so that nothing is deleted.
        lag_bytes: from its offsets to the end of the topics.
        expire_time: when it ends unless it is renewed.
        reason: who needs it and why.
    """

    name: str
    state: str
    topics: int | None
    everything: bool
    lag_bytes: int | None
    expire_time: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class SubscriptionLine:
    """A copy of the log.

    Attributes:
        name: of the WALSubscription.
        target: the mirror that it copies to.
        state: where it is.
        topics: how many topics are copied, or stopped; None: not known yet.
        stopped: how many of them need a person.
        lag_entries: records that the target lacks; None: not known.
        lag_seconds: for how long it has lacked the oldest of them, at least.
        held_bytes: what the source keeps for it.
    """

    name: str
    target: str | None
    state: str
    topics: int | None
    stopped: int
    lag_entries: int | None
    lag_seconds: int | None
    held_bytes: int | None


@dataclass(frozen=True, slots=True)
class BrokersLine:
    """Kafka in one line.

    Attributes:
        total: brokers that are known.
        online: those that are alive.
        not_online: of the others id and state.
        controller: the controller that leads; None: not known.
        voters: controllers that vote.
        behind: those of them that do not keep up.
    """

    total: int
    online: int
    not_online: tuple[tuple[int, str], ...] = ()
    controller: int | None = None
    voters: int = 0
    behind: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusPage:
    """What a person on call wants to know of a WALCluster.

    Attributes:
        walcluster: namespace and name.
        time: when it was read.
        ready: the status of its condition Ready; Unknown: nobody has looked yet.
        reason: the reason of Ready.
        leader: who tends it.
        findings: what is not as it should be, the worst first.
        running: what goes on, and what it waits for.
        maintenance_until: while the database is in maintenance for a restart: when that ends at the latest.
        datanodes: each of them.
        holds: the claims that count.
        subscriptions: the copies of the log.
        topics: of the pool; None: not known yet. So with the others.
        wal: what the ledger says.
        database: what the database says of itself.
        brokers: Kafka.
        ended: what ended last, the newest first.
        next_purge: when the next run of a policy is due.
    """

    walcluster: str
    time: datetime
    ready: str
    reason: str
    leader: Leader
    findings: tuple[Finding, ...]
    running: tuple[Activity, ...]
    maintenance_until: datetime | None
    datanodes: tuple[DatanodeLine, ...]
    holds: tuple[HoldLine, ...]
    subscriptions: tuple[SubscriptionLine, ...]
    topics: TopicsStatus | None
    wal: WALStatus | None
    database: DataPlaneStatus | None
    brokers: BrokersLine | None
    ended: tuple[Ended, ...]
    next_purge: datetime | None

    def to_json(self) -> Mapping[str, object]:
        """As programs read it: fields may come, and none goes or changes its meaning."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def build_page(snapshot: Snapshot) -> StatusPage:
    """The page from what was read; what is not there yet is left out."""
    cluster, status = snapshot.cluster, snapshot.cluster.status
    ready = find_condition(status.conditions, ConditionType.READY)
    maintenance = None if status.restart is None else status.restart.maintenance
    due = [policy.status.next_run_time for policy in snapshot.policies]
    return StatusPage(
        walcluster=str(cluster.metadata.key),
        time=snapshot.now,
        ready="Unknown" if ready is None else ready.status,
        reason="NotObserved" if ready is None else ready.reason,
        leader=snapshot.leader,
        findings=find_all(snapshot),
        running=list_activities(snapshot),
        maintenance_until=None if maintenance is None else maintenance.expiry_time,
        datanodes=list_datanodes(status),
        holds=_holds(snapshot),
        subscriptions=tuple(map(_subscription_line, snapshot.subscriptions)),
        topics=status.topics,
        wal=status.observed_wal,
        database=status.data_plane,
        brokers=_brokers(status),
        ended=ended_last(snapshot),
        next_purge=min((time for time in due if time is not None), default=None),
    )


def _holds(snapshot: Snapshot) -> tuple[HoldLine, ...]:
    live = [hold for hold in snapshot.holds if not hold.status.is_final]
    ordered = sorted(live, key=lambda hold: (_WORST_FIRST.index(hold.status.state), hold.metadata.name))
    return tuple(map(_hold_line, ordered))


def _hold_line(hold: WALHold) -> HoldLine:
    status, claimed = hold.status, getattr(hold.spec, "topics", {})
    return HoldLine(
        name=hold.metadata.name,
        state=(status.state or HoldState.REQUESTED).value,
        topics=status.topics,
        everything=ALL_TOPICS in claimed or ALL_TOPICS in status.granted,
        lag_bytes=status.lag_bytes,
        expire_time=status.expire_time,
        reason=getattr(hold.spec, "reason", ""),
    )


def _subscription_line(found: WALSubscription) -> SubscriptionLine:
    status, spec = found.status, found.spec
    lag, counts = status.lag, status.counts
    return SubscriptionLine(
        name=found.metadata.name,
        target=None if isinstance(spec, InvalidSpec) else spec.sink.target,
        state=(status.state or SubscriptionState.PENDING).value,
        topics=None if counts is None else counts.total,
        stopped=0 if counts is None else counts.stopped,
        lag_entries=None if lag is None else lag.entries,
        lag_seconds=None if lag is None else lag.seconds,
        held_bytes=None if lag is None else lag.bytes,
    )


def _brokers(status: WALClusterStatus) -> BrokersLine | None:
    if status.kafka is None:
        return None
    brokers, quorum = status.kafka.brokers, status.kafka.quorum
    return BrokersLine(
        total=brokers.total,
        online=brokers.online,
        not_online=tuple((at.id, at.state.value) for at in brokers.items if at.state is not BrokerState.ONLINE),
        controller=None if quorum is None else quorum.leader,
        voters=0 if quorum is None else len(quorum.voters),
        behind=() if quorum is None else quorum.behind,
    )


def _plain(value: object) -> object:
    """JSON of a value: times as Kubernetes writes them."""
    match value:
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        case dict():
            return {name: _plain(found) for name, found in value.items()}
        case tuple() | list():
            return [_plain(found) for found in value]
        case TopicsStatus() | WALStatus() | DataPlaneStatus():
            return value.model_dump(mode="json")
        case _:
            return value
