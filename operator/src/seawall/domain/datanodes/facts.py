"""What a roll is decided from, as values; what is not known is None, and never counts as good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from seawall.api.v1alpha1.disruption import RestartedDatanode
from seawall.domain.ledger.declarations import Grounds
from seawall.domain.rollout.workload import Pod, StatefulSet


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic of a datanode's regions.

    Attributes:
        replicas: how many it has; 0: Kafka said nothing of it.
        in_sync: how many of them are in sync.
        log_start: the first offset that can be read; None: Kafka did not say.
        is_moving: its replicas are being reassigned, by whomever.
        is_cut: records of it are being deleted: there is an intent that no log start confirms yet.
    """

    name: str
    replicas: int
    in_sync: int
    log_start: int | None
    is_moving: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Memtable:
    """What a region whose route names the datanode has in memory there.

    Attributes:
        flushed_to: its flushed entry id; None: unknown.
        in_memory: whether it has rows that a flush would write.
        leads: whether the newest report of the datanode, which is not stale, says that it leads the region without lag.
        unlogged_bytes: what it has in memory that no log has (`skip_wal`); None: its rows are written to the log.
        entries: from where a restart would read to the end of the log; None: unknown.
    """

    region: int
    flushed_to: int | None
    in_memory: bool
    leads: bool
    unlogged_bytes: int | None = None
    entries: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionFacts(Memtable):
    """Of one that is replayed from a topic.

    Attributes:
        reads_from: the first offset that a restart would read; None: unknown.
    """

    topic: str
    reads_from: int | None


@dataclass(frozen=True, slots=True)
class Datanode:
    """What the database says of the datanode in a pod.

    Attributes:
        id: its id.
        epoch: of its newest report; a restart makes another one. None: it has no report.
        regions: those that are replayed from a topic, now or of before their rows skipped it.
        without_topic: those whose rows were never in any log (`skip_wal` since their table was made).
        entries: what a restart reads, each topic once, from the lowest start of its regions; None: unknown.
        size_bytes: the same in bytes; None: unknown.
    """

    id: int
    epoch: int | None
    regions: tuple[RegionFacts, ...]
    topics: tuple[TopicFacts, ...]
    entries: int | None
    size_bytes: int | None
    without_topic: tuple[Memtable, ...] = ()

    @property
    def memtables(self) -> tuple[Memtable, ...]:
        """Of all its regions."""
        return (*self.regions, *self.without_topic)

    @property
    def leading(self) -> int:
        """How many of its regions it leads."""
        return sum(region.leads for region in self.regions)

    @property
    def leads_all(self) -> bool:
        """Whether it serves all that its routes say."""
        return self.epoch is not None and self.leading == len(self.regions)

    def is_another_process(self, before: RestartedDatanode | None) -> bool:
        """Whether its newest report is not of the process that was restarted.

        Another epoch, not a greater one: it goes back where a database counts starts in metadata that were restored,
        and in GreptimeDB on a node whose clock is behind (it is the time of the start: src/datanode/src/heartbeat.rs).
        """
        epoch = None if before is None else before.epoch
        return epoch is None or self.recorded_epoch not in {None, epoch}

    @property
    def recorded_epoch(self) -> int | None:
        """As a status has it: JSON's numbers are exact below 2^53, and a database may count nanoseconds."""
        return None if self.epoch is None else self.epoch % 2**53


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record in the range to replay that crashes the database's reader."""

    topic: str
    offset: int
    what: str
    """A clause: what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the WALCluster says about restarts (`dataPlane.restart`).

    Attributes:
        replay_budget: a datanode whose replay would take longer is not restarted.
        flush_first: whether regions are flushed before each restart, and not only before those beyond the budget.
        on_config_change: whether a changed `[wal]` configuration is a reason to restart.
    """

    replay_budget: timedelta = timedelta(minutes=10)
    flush_first: bool = True
    on_config_change: bool = True


@dataclass(frozen=True, slots=True)
class LeftOver:
    """What there is of the pod that the journal has, and that none of the named StatefulSets makes any more.

    Attributes:
        name: of the pod.
        is_there: whether the pod is.
        statefulset: the one of its name, if that is another one than those that are named; None: there is none.
    """

    name: str
    is_there: bool
    statefulset: StatefulSet | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that one decision sees.

    Attributes:
        now: by the clock that all operators share: what the status says of times was written by any of them.
        kafka_problem: why Kafka could not be asked, in one sentence; None: it answered.
        wal_problem: what `WALIntact` says while it is not True, in one sentence; None: it is True.
        observation_problem: why nobody could look at the database's ledger, in one sentence; None: it was looked at.
        statefulsets: those of the datanodes; empty: there are none, or `statefulset_problem` says why they could not be
            read. All that are named are there, or none.
        pods: of these StatefulSets.
        left_over: of the pod that the journal has and none of them makes; None: one does, or nobody could look.
        datanodes: by the name of the pod; a pod whose datanode is not known is left out.
        bad_records: by the name of the pod, what a scan found; without a scan there are none.
        paused_run: which run of a purge is paused in the middle, and what ends that, as a clause; None: none is.
        metasrv: the URL of the metasrv that the spec names now, without a slash at its end; None: it names none.
        in_maintenance: whether the database is in maintenance whose metasrv the status remembers, or else the spec
            names; None: it did not say, or another database answers.
        other_database: why what answers at that metasrv's address is another database than the one in which it was
            turned on, in one clause; None: nothing says so.
        database: the id of the metadata store that is pinned; None: none is.
        request: the value of `seawall.dev/restart` on the WALCluster.
        override: who lets restarts through a shut gate; None: nobody.
        override_problem: why the annotation lets nothing through, in one sentence; None: it does, or there is none.
        config_hash: of the rendered `[wal]` configuration; None: none is rendered.
        is_paused: `seawall.dev/paused` is set.
    """

    now: datetime
    statefulsets: tuple[StatefulSet, ...] = ()
    pods: tuple[Pod, ...] = ()
    datanodes: Mapping[str, Datanode] = field(default_factory=dict)
    kafka_problem: str | None = None
    wal_problem: str | None = None
    observation_problem: str | None = None
    statefulset_problem: str | None = None
    bad_records: Mapping[str, BadRecord] = field(default_factory=dict)
    paused_run: str | None = None
    metasrv: str | None = None
    in_maintenance: bool | None = None
    other_database: str | None = None
    database: str | None = None
    request: str | None = None
    override: Grounds | None = None
    override_problem: str | None = None
    config_hash: str | None = None
    is_paused: bool = False
    limits: Limits = Limits()
    left_over: LeftOver | None = None

    def pod(self, name: str) -> Pod | None:
        """The pod of this name."""
        return next((pod for pod in self.pods if pod.name == name), None)

    def serves(self, pod: Pod) -> bool:
        """Whether a pod is Ready, stays, and its datanode leads all its regions."""
        datanode = self.datanodes.get(pod.name)
        return pod.ready and not pod.is_terminating and datanode is not None and datanode.leads_all

    def down(self, besides: str) -> tuple[str, ...]:
        """The pods that do not serve, and those that are missing, by name; the one named does not count."""
        silent = [pod.name for pod in self.pods if not self.serves(pod)]
        return tuple(sorted({*self.missing(), *silent} - {besides})) if self.statefulsets else ()

    def pods_of(self, statefulset: StatefulSet) -> tuple[Pod, ...]:
        """Its pods that are there."""
        return tuple(pod for pod in self.pods if statefulset.has(pod))

    def set_of(self, name: str) -> StatefulSet | None:
        """The StatefulSet of the pod of this name."""
        return next((each for each in self.statefulsets if each.key.name == name.rpartition("-")[0]), None)

    def expects(self, name: str) -> bool:
        """Whether one of the named StatefulSets makes a pod of this name."""
        return any(each.expects(name) for each in self.statefulsets)

    def why_not_gone(self, name: str) -> str | None:
        """Why a pod that none of them makes may still be, or come back, as a clause; None: it is gone for good."""
        found = self.left_over
        if found is None or found.name != name:
            return "what is left of it cannot be read"
        if found.is_there:
            return "its pod is there"
        own = () if found.statefulset is None else (found.statefulset,)
        if any(each.expects(name) for each in own):
            return "its StatefulSet makes it"
        if not all(each.observed for each in (*self.statefulsets, *own)):
            return "Kubernetes has not looked at a StatefulSet's newest spec yet"
        return None

    def missing(self) -> tuple[str, ...]:
        """The names of pods that should be there and are not."""
        return tuple(name for each in self.statefulsets for name in each.missing(self.pods_of(each)))
