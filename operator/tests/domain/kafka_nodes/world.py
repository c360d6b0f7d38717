"""A small world for rolls of Kafka nodes: brokers and controllers that end, start, register and catch up.

It is no kinder than reality: what Kafka says may be some seconds old, and then tells of a node as it was before it
went; nodes die and fall behind by themselves; a pod that is Ready is not in sync yet.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from seawall.api.meta import Key
from seawall.api.v1alpha1.rollout import RollStatus
from seawall.domain.decision import step_of
from seawall.domain.kafka_nodes.facts import KafkaFacts, KafkaNode
from seawall.domain.kafka_nodes.gate import KafkaAction, KafkaNodeGate, RenewTemplate
from seawall.domain.kafka_nodes.reasons import KafkaCause
from seawall.domain.partitions import Partition, PartitionId
from seawall.domain.rollout import machine
from seawall.domain.rollout.actions import Evict
from seawall.domain.rollout.decision import Roll
from seawall.domain.rollout.workload import Pod
from seawall.domain.step import Act, Record, Step

START = datetime(2026, 11, 26, 9, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
ENDS, STARTS, CATCHES_UP = 2, 4, 6
"""Seconds; as quick as a node can be, so that an old answer tells of the time before it went."""
OLDEST = 10
"""Seconds: no answer of Kafka is older. A node dwells for longer."""
TOPICS = {"wal_0": 2, "wal_1": 1, "wal_2": 2}
"""By topic its min.insync.replicas; each has three replicas."""

KafkaRoll = Roll[RollStatus]


@dataclass
class Node:
    """A node as it is; times are seconds of the world, None: not on its way there."""

    id: int
    is_broker: bool
    is_controller: bool
    uid: str
    template: int = 0
    newest: int = 0
    ends_at: int | None = None
    ready_at: int | None = 0
    well_at: int | None = 0
    is_broken: bool = False

    @property
    def name(self) -> str:
        return f"wal-{self.id}-0"


@dataclass(frozen=True)
class Answer:
    """What Kafka said at a moment: who is well."""

    at: int
    well: frozenset[int]
    registered: frozenset[int]


@dataclass
class World:
    """All that a roll sees and changes.

    Attributes:
        template: which one the spec declares.
        cause: why nodes of an older template are due.
        stale: seconds that answers of Kafka are old.
        away: nodes that went by our act, and were not well since.
        lost: by node when it was last lost by itself.
        evicted: ids, in the order in which they went.
    """

    nodes: list[Node]
    topics: Mapping[str, int] = field(default_factory=lambda: dict(TOPICS))
    now: int = 0
    template: int = 0
    cause: KafkaCause = KafkaCause.TEMPLATE_CHANGED
    is_approved: bool = False
    is_paused: bool = False
    is_silent: bool = False
    is_moving: bool | None = False
    is_cut: bool | None = False
    forbids: str | None = None
    stale: int = 0
    roll: KafkaRoll = field(default_factory=lambda: Roll(status=RollStatus()))
    away: set[int] = field(default_factory=set)
    lost: dict[int, int] = field(default_factory=dict)
    evicted: list[int] = field(default_factory=list)
    reasons: set[str] = field(default_factory=set)
    _steady: dict[str, datetime] = field(default_factory=dict)
    _answers: list[Answer] = field(default_factory=list)
    _uids: Iterable[int] = field(default_factory=lambda: itertools.count(1))

    # --- what is true

    def is_well(self, node: Node) -> bool:
        """Serves, and has all."""
        return node.ends_at is None and node.well_at is not None and node.well_at <= self.now

    def isr(self) -> frozenset[int]:
        """Of every partition: each has a replica on the first three brokers. The last one stays."""
        brokers = [node for node in self.nodes if node.is_broker][:3]
        found = frozenset(node.id for node in brokers if self.is_well(node))
        return found or frozenset({brokers[0].id})

    # --- what a tick sees

    def answer(self) -> Answer:
        """What Kafka says now, which may be old."""
        wanted = self.now - min(self.stale, OLDEST)
        return next((each for each in reversed(self._answers) if each.at <= wanted), self._answers[0])

    def observe(self) -> KafkaFacts:
        """The facts of this moment; what was steady is remembered from look to look."""
        said = self.answer()
        brokers = tuple(node.id for node in self.nodes if node.is_broker)[:3]
        isr = frozenset(brokers) & said.well or frozenset(brokers[:1])
        controllers = frozenset(node.id for node in self.nodes if node.is_controller)
        leads = sorted(controllers & said.well)
        facts = KafkaFacts(
            now=START + self.now * SECOND,
            nodes=tuple(self._node(node, said) for node in self.nodes),
            partitions=tuple(
                Partition(PartitionId(name, 0), (*brokers[number:], *brokers[:number]), isr, min(isr))
                for number, name in enumerate(self.topics)
            ),
            min_isr=self.topics,
            active_controller=leads[0] if leads else None,
            voters=controllers,
            kafka_problem="no broker answers" if self.is_silent else None,
            is_moving=self.is_moving,
            is_cut=self.is_cut,
            is_approved=self.is_approved,
            is_paused=self.is_paused,
            plan="plan",
        )
        self._steady = {uid: self._steady.get(uid, facts.now) for uid in facts.well_pods()}
        nodes = tuple(replace(node, steady_since=self._steady.get(node.uid)) for node in facts.nodes)
        return replace(facts, nodes=nodes)

    def _node(self, node: Node, said: Answer) -> KafkaNode:
        is_ready = node.ready_at is not None and node.ready_at <= self.now
        gone_by = None if node.ends_at is None else START + node.ends_at * SECOND
        pod = Pod(Key("db", node.name), node.uid, 0, f"rev-{node.template}", ready=is_ready, gone_by=gone_by)
        return KafkaNode(
            id=node.id,
            pod=pod,
            is_broker=node.is_broker,
            is_controller=node.is_controller,
            is_fenced=node.id not in said.registered,
            is_caught_up=node.id in said.well if node.is_controller else None,
            cause=self.cause if node.template != self.template else None,
            has_newest_template=node.newest == self.template,
            has_own_template=node.newest == node.template,
        )

    # --- one tick

    def tick(self) -> Step[KafkaRoll, KafkaAction]:
        """One tick of an operator, and a second of the world."""
        step = self.decide()
        if isinstance(step, Record):
            self.judge_entry(step.status)
            self.roll = step.status
            assert self.roll.entry is not None or not self.away, f"K1: {self.away} are away, and another one may go"
        elif isinstance(step, Act) and self.forbids is None:
            self.act(step.actions)
        self.pass_second()
        return step

    def decide(self) -> Step[KafkaRoll, KafkaAction]:
        """As a controller does: a status that differs is recorded before anything is done."""
        gate = KafkaNodeGate(self.observe(), self.forbids)
        found = machine.decide(self.roll, gate)
        self.reasons.add(found.verdict.reason)
        before, warnings = self.roll, frozenset[str]()
        return step_of(
            self.roll,
            replace(found, publish=lambda verdict: machine.published(before, found.status, verdict, warnings)),
        )

    def act(self, actions: Iterable[KafkaAction]) -> None:
        """What the outside does."""
        for action in actions:
            match action:
                case RenewTemplate(node=number):
                    self.node(number).newest = self.template
                case Evict(pod):
                    self._evict(pod)
        self.check()

    def _evict(self, pod: Pod) -> None:
        node = next((each for each in self.nodes if each.uid == pod.uid), None)
        if node is None or node.ends_at is not None:
            return
        self.judge(node)
        node.ends_at = self.now + ENDS
        node.ready_at = node.well_at = None
        self.away.add(node.id)
        self.evicted.append(node.id)

    # --- what happens by itself

    def node(self, number: int) -> Node:
        """The node of this id."""
        return next(node for node in self.nodes if node.id == number)

    def crash(self, number: int) -> None:
        """Its pod dies and comes back, as its StatefulSet says."""
        node = self.node(number)
        if node.ends_at is None:
            self.lost[number] = self.now
            node.ends_at, node.ready_at, node.well_at = self.now + 1, None, None

    def fall_behind(self, number: int, seconds: int) -> None:
        """Its replicas leave the ISR, or it lags in the metadata log."""
        node = self.node(number)
        if self.is_well(node):
            self.lost[number] = self.now
            node.well_at = self.now + seconds

    def pass_second(self) -> None:
        """Nodes go on, and Kafka's answers get older."""
        self.now += 1
        for node in self.nodes:
            if node.ends_at is not None and self.now >= node.ends_at:
                node.uid, node.ends_at, node.template = f"new-{next(iter(self._uids))}", None, node.newest
            if node.ends_at is None and node.ready_at is None and not node.is_broken:
                node.ready_at, node.well_at = self.now + STARTS, self.now + STARTS + CATCHES_UP
            if self.is_well(node):
                self.away.discard(node.id)
        self.remember()

    def remember(self) -> None:
        """What Kafka could say of this moment."""
        registered = (node for node in self.nodes if node.ready_at is not None and node.ready_at <= self.now)
        well = frozenset(node.id for node in self.nodes if self.is_well(node))
        self._answers.append(Answer(self.now, well, frozenset(node.id for node in registered)))
        del self._answers[: -(OLDEST + 2)]

    # --- the laws

    def judge(self, node: Node) -> None:
        """K1 to K3, as a node goes. What was lost by itself after Kafka said so is no act of ours."""
        assert self.away <= {node.id}, f"K1: {self.away} are away by our acts, and {node.id} goes"
        since = self.answer().at
        unseen = {number for number, at in self.lost.items() if at >= since and number != node.id}
        if node.is_broker and (node.ready_at is not None and node.ready_at <= self.now):
            left = len(self.isr() - {node.id})
            brokers_lost = len([number for number in unseen if self.node(number).is_broker])
            for needed in self.topics.values():
                assert left >= min(needed, 3 - 1 - brokers_lost), f"K2: {left} in sync are left, {needed} are needed"
        if node.is_controller:
            others = {each.id for each in self.nodes if each.is_controller and each.id != node.id}
            behind = {number for number in others if not self.is_well(self.node(number))}
            assert behind <= unseen, f"K3: voters {behind} have not caught up, and {node.id} goes"

    def judge_entry(self, roll: KafkaRoll) -> None:
        """Who gets into the journal was asked for; it stays there, whatever is asked for later."""
        if roll.entry is None or self.roll.entry is not None or roll.entry.kind != "KafkaNodeRestart":
            return
        (node,) = (each for each in self.nodes if each.name == roll.entry.name)
        assert node.template != self.template or self.roll.status.request is not None, "nobody asked for it"

    def check(self) -> None:
        """Only the node in the journal has another template than its pod."""
        entry = self.roll.entry
        waiting = {node.name for node in self.nodes if node.newest != node.template}
        assert waiting <= (set() if entry is None else {entry.name}), f"others have the new template: {waiting}"


def separate(brokers: int = 3) -> World:
    """Three controllers, and brokers, of which the first three have all replicas."""
    controllers = [Node(number, False, True, f"uid-{number}") for number in (100, 101, 102)]
    return _ready(World([*(Node(number, True, False, f"uid-{number}") for number in range(brokers)), *controllers]))


def combined() -> World:
    """Three nodes that are both."""
    return _ready(World([Node(number, True, True, f"uid-{number}") for number in range(3)]))


def _ready(world: World) -> World:
    for _ in range(20):
        world.remember()
        world.tick()
    return world
