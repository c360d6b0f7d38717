"""A small world for rolls: three datanodes, Kubernetes that makes pods anew, a database with one maintenance switch.

The switch of another database is at every other address of a metasrv.

It is no kinder than reality: a new pod is not Ready at once, the report of the old process stays the newest one until
the new process reports, a flush shows a few seconds later, and Kubernetes looks at a new template a moment after it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar, assert_never

from seawall.api.v1alpha1.disruption import Disruption
from seawall.api.v1alpha1.rollout import RestartStatus
from seawall.domain.datanodes.actions import (
    FlushRegions,
    RolloutAction,
    SetConfigHash,
    SetMaintenance,
    SetPartition,
)
from seawall.domain.datanodes.decision import DatanodeRoll, Observed
from seawall.domain.datanodes.facts import Datanode, Facts, Memtable, RegionFacts
from seawall.domain.datanodes.maintenance import address_of
from seawall.domain.datanodes.roll import decide
from seawall.domain.decision import step_of
from seawall.domain.rollout.actions import Evict
from seawall.domain.rollout.decision import Roll
from seawall.domain.rollout.workload import Pod, StatefulSet, UpdateStrategy
from seawall.domain.step import Act, Record, Step, Wait
from tests.domain.datanodes.builders import METASRV, MI, NOW, make_datanode, make_facts, make_statefulset, make_topic

TERMINATING = timedelta(seconds=3)
REPORTING = timedelta(seconds=3)
TICK = timedelta(seconds=1)
_Region = TypeVar("_Region", bound=Memtable)


@dataclass
class Node:
    """A datanode and its pod."""

    number: int
    pod: Pod
    datanode: Datanode
    replay: timedelta = timedelta(seconds=20)
    ends_at: datetime | None = None
    serves_at: datetime | None = None
    reports_at: datetime | None = None
    flushed_at: datetime | None = None


@dataclass
class World:
    """All that a roll sees and changes.

    Attributes:
        maintenance: of the database at METASRV.
        other_maintenance: of the database at other addresses.
        flushes: whether regions that are asked to flush do.
        crashing: numbers of datanodes that never come up again once they were restarted.
        forbids: what a PodDisruptionBudget says; None: it allows.
        evicted: names of pods, in the order in which they went.
    """

    statefulset: StatefulSet = field(default_factory=make_statefulset)
    facts: Facts = field(default_factory=make_facts)
    roll: DatanodeRoll = field(default_factory=lambda: Roll(status=RestartStatus()))
    now: datetime = NOW
    maintenance: bool = False
    other_maintenance: bool = False
    brokers_down: bool = False
    forbids: str | None = None
    flushes: bool = True
    crashing: set[int] = field(default_factory=set)
    nodes: list[Node] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    _uids: Iterable[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.nodes = [Node(pod.ordinal, pod, make_datanode(pod.ordinal)) for pod in self.facts.pods]

    # --- what a tick sees

    @property
    def status(self) -> RestartStatus:
        """The roll, as people see it."""
        return self.roll.status

    @property
    def entry(self) -> Disruption | None:
        """The one datanode that is restarted."""
        return self.roll.entry

    def observe(self) -> Observed:
        """The facts of this moment."""
        in_sync = 2 if self.brokers_down else 3
        datanodes = {}
        for node in self.nodes:
            topics = tuple(make_topic(topic.name, in_sync=in_sync) for topic in node.datanode.topics)
            datanodes[node.pod.name] = replace(node.datanode, topics=topics)
        facts = replace(
            self.facts,
            now=self.now,
            statefulsets=() if self.statefulset is None else (self.statefulset,),
            pods=tuple(node.pod for node in self.nodes),
            datanodes=datanodes,
            in_maintenance=self._is_on(address_of(self.status, self.facts.metasrv)),
        )
        return Observed(facts)

    def tick(self) -> Step[DatanodeRoll, RolloutAction]:
        """One tick of an operator, and a second of the world."""
        observed = self.observe()
        step = step_of(self.roll, decide(self.roll, observed))
        if isinstance(step, Act) and self.forbids is not None and any(isinstance(a, Evict) for a in step.actions):
            decision = decide(self.roll, replace(observed, forbidden=self.forbids))
            step = step_of(self.roll, replace(decision, actions=()))
        self.take(step)
        self.pass_time(TICK)
        return step

    def take(self, step: Step[DatanodeRoll, RolloutAction]) -> None:
        """Does what the tick decided."""
        match step:
            case Record(roll, events):
                status = roll.status
                reported = status.stage != self.status.stage or status.reason != self.status.reason
                # as the API server stores it
                stored = RestartStatus.model_validate(status.model_dump(mode="json", by_alias=True))
                self.roll = Roll(status=stored, entry=roll.entry)
                if reported:
                    stage = "-" if status.stage is None else status.stage.value
                    self.tell(f"{stage:<11} {status.reason}: {status.message}")
                for event in events:
                    self.tell(f"  event {event.type.value} {event.reason}")
            case Act(actions):
                for action in actions:
                    self.perform(action)
            case Wait():
                pass
            case unknown:
                assert_never(unknown)

    def perform(self, action: RolloutAction) -> None:
        """What the outside does."""
        match action:
            case FlushRegions(regions):
                self._flush(regions)
            case SetMaintenance(enabled, metasrv):
                if enabled != self._is_on(metasrv):
                    self.tell(f"  {action.event().message}")
                if metasrv == METASRV:
                    self.maintenance = enabled
                else:
                    self.other_maintenance = enabled
            case Evict(pod):
                self._evict(pod, action)
            case SetPartition(statefulset, partition):
                if statefulset.resource_version == self.statefulset.resource_version:
                    self.tell(f"  {action.event().message}")
                    self.change_statefulset(partition=partition)
            case SetConfigHash(statefulset, config_hash):
                if statefulset.resource_version == self.statefulset.resource_version:
                    self.tell(f"  {action.event().message}")
                    partition = self.statefulset.partition if action.partition is None else action.partition
                    self.change_template(config_hash=config_hash, partition=partition)
            case unknown:
                assert_never(unknown)

    # --- what others do

    def change_statefulset(self, **changes: object) -> None:
        """Somebody writes the StatefulSet."""
        version = str(int(self.statefulset.resource_version) + 1)
        self.statefulset = replace(self.statefulset, resource_version=version, **changes)  # type: ignore[arg-type]

    def change_template(self, partition: int | None = None, **changes: str) -> None:
        """Somebody writes the pod template; Kubernetes sees it a moment later."""
        template = replace(self.statefulset.template, **changes)  # type: ignore[arg-type]
        kept = self.statefulset.partition if partition is None else partition
        self.change_statefulset(template=template, partition=kept, observed=False)

    def request(self, value: str | None) -> None:
        """A person annotates the WALCluster."""
        self.tell(f"# seawall.dev/restart: {value}")
        self.facts = replace(self.facts, request=value)

    def configure(self, config_hash: str) -> None:
        """The rendered configuration changes."""
        self.tell(f"# the [wal] configuration is {config_hash}")
        self.facts = replace(self.facts, config_hash=config_hash)

    def tell(self, line: str) -> None:
        """A line of the transcript."""
        seconds = int((self.now - NOW).total_seconds())
        self.lines.append(f"{seconds:>4}s {line}")

    def run(self, seconds: int, *, until_stage: str | None = None) -> None:
        """Ticks for so long, or until the roll is there."""
        for _ in range(seconds):
            self.tick()
            self.check()
            if until_stage is not None and self.status.stage == until_stage:
                return

    def check(self) -> None:
        """What must hold at every moment."""
        down = [node.pod.name for node in self.nodes if not node.pod.ready or node.pod.is_terminating]
        assert len(down) <= 1, f"down at once: {down}"
        assert not (self.maintenance and self.other_maintenance), "two databases are in maintenance"

    def pass_time(self, time: timedelta) -> None:
        """Kubernetes and the database go on."""
        self.now += time
        if not self.statefulset.observed:
            revision = f"rev-{self.statefulset.template}"
            self.statefulset = replace(self.statefulset, observed=True, update_revision=revision)
        for node in self.nodes:
            self._go_on(node)
        self._roll_by_kubernetes()

    def _is_on(self, metasrv: str | None) -> bool:
        return self.maintenance if metasrv == METASRV else self.other_maintenance

    def _go_on(self, node: Node) -> None:
        if node.flushed_at is not None and self.now >= node.flushed_at + REPORTING:
            node.flushed_at = None
            regions = tuple(map(_flushed, node.datanode.regions))
            rest = tuple(map(_flushed, node.datanode.without_topic))
            node.datanode = replace(node.datanode, regions=regions, without_topic=rest, entries=20, size_bytes=MI)
        if node.ends_at is not None and self.now >= node.ends_at:
            self._make_anew(node)
        if node.serves_at is not None and self.now >= node.serves_at:
            node.serves_at, node.reports_at = None, self.now + REPORTING
            node.pod = replace(node.pod, ready=True)
        if node.reports_at is not None and self.now >= node.reports_at:
            node.reports_at = None
            node.datanode = replace(node.datanode, epoch=(node.datanode.epoch or 0) + 1)

    def _make_anew(self, node: Node) -> None:
        uid = f"new-{next(iter(self._uids))}"
        is_kept = (
            self.statefulset.strategy is UpdateStrategy.ROLLING_UPDATE and node.number < self.statefulset.partition
        )
        revision = node.pod.revision if is_kept else self.statefulset.update_revision
        template = None if is_kept else self.statefulset.template
        node.ends_at = None
        node.pod = replace(
            node.pod,
            uid=uid,
            revision=revision,
            ready=False,
            gone_by=None,
            config_hash=node.pod.config_hash if template is None else template.config_hash,
            restarted_at=node.pod.restarted_at if template is None else template.restarted_at,
            restart=None,
        )
        node.serves_at = None if node.number in self.crashing else self.now + node.replay

    def _flush(self, regions: tuple[int, ...]) -> None:
        for node in self.nodes:
            ids = {region.region for region in node.datanode.memtables}
            if ids & set(regions) and node.flushed_at is None and self.flushes:
                self.tell(f"  asked {len(regions)} regions of {node.pod.name} to flush")
                node.flushed_at = self.now

    def _evict(self, pod: Pod, action: Evict) -> None:
        for node in self.nodes:
            if node.pod.uid == pod.uid and node.ends_at is None:
                self.tell(f"  {action.event().message}")
                self._end(node)

    def _end(self, node: Node) -> None:
        node.ends_at = self.now + TERMINATING
        node.pod = replace(node.pod, gone_by=node.ends_at)
        self.evicted.append(node.pod.name)

    def _roll_by_kubernetes(self) -> None:
        """The StatefulSet's controller: outdated pods from the highest ordinal down to the partition, one by one."""
        statefulset = self.statefulset
        if statefulset.strategy is UpdateStrategy.ON_DELETE or not statefulset.observed:
            return
        for node in sorted(self.nodes, key=lambda each: -each.number):
            if not node.pod.ready or node.pod.is_terminating:
                return
            if node.number >= statefulset.partition and node.pod.revision != statefulset.update_revision:
                self.tell(f"  Kubernetes replaces {node.pod.name}")
                self._end(node)
                return


def _flushed(region: _Region) -> _Region:
    """One whose rows skip the log has new ones by then, and its id does not move."""
    if region.unlogged_bytes is not None:
        return replace(region, unlogged_bytes=min(region.unlogged_bytes, 1))
    replayed: dict[str, Any] = {"reads_from": 501} if isinstance(region, RegionFacts) else {}
    return replace(region, in_memory=False, flushed_to=500, entries=10, **replayed)
