"""Lives of an operator: one undisturbed, which numbers its calls, then one for each call and move that differ.

A move right before call i is the same as before call i + 1 when call i neither reads nor changes what the move
changes, and no clock is read in between if the move changes clocks: nobody, neither Seawall nor the judge, can tell the
two apart. Such pairs are lived once, at the next call that can notice the move. What databases, other controllers and
time do while the operator waits is such a point, too, for every move; and so is each act, which the judge compares with
all of the world.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from seawall.reconciler import Reconciler
from tests.adversary.bugs import bugs_come_through
from tests.adversary.judge import Violation
from tests.fakes.intents import FakeIntentStore
from tests.fakes.kafka import FakeKafkaClusters
from tests.fakes.kube import FakeKube
from tests.fakes.object_store import FakeObjectStores
from tests.fakes.spark import FakeSparkApplications
from tests.fakes.workloads import FakeWorkloads
from tests.support.watched import OPENS, watched

ALL = "*"
CLOCK = "clock"
PORTS = {
    FakeKube: "kube",
    FakeSparkApplications: "spark",
    FakeWorkloads: "pods",
    FakeIntentStore: "intents",
    FakeKafkaClusters: "kafka",
    FakeObjectStores: "objects",
}
BY_CALL = {
    **dict.fromkeys(("wal_settings", "datanode_settings"), "settings"),  # they show nothing else of the database
    **dict.fromkeys(("reports", "nodes", "flush_regions", "set_maintenance", "in_maintenance"), "database"),
    **dict.fromkeys(("snapshot", "head", "claim", "advance_markers", "table_names"), "etcd"),
    **dict.fromkeys(("get_config_map", "write_config_map", "delete_config_map"), "kube:ConfigMap"),
    "get_secret": "kube:Secret",
    "get_greptimedb_cluster": "kube:GreptimeDBCluster",
    "is_terminating": "kube:Namespace",
    "list_claims": "kube:WALCluster",
    "post_event": "nobody reads events",
    "begin_anew": "nobody is asked",
}
UNFENCED: dict[str, frozenset[str]] = {
    "delete_records": frozenset(),
    "delete_topics": frozenset(),
    "evict": frozenset(),
    "reassign": frozenset(),
    "advance_markers": frozenset({"etcd", "snapshot", ALL}),
}
"""Acts, each with what its other side compares: what moves between the last read and the act is seen by nobody else."""

REPLICA_ACTS = frozenset({"reassign", "alter_configs", "alter_throttles"})
"""What two controllers do that depend on each other: replicas come and go, and min.insync.replicas with them; and what
slows replicas down, which a sleeper may set after the end."""


COMPARES: dict[str, frozenset[str]] = {**UNFENCED, "set_maintenance": frozenset(), "create": frozenset()}
"""With the switch, which the metasrv turns that answers then (where it was turned is judged at the end of a life), and
with objects, which the API server makes whatever became of those by which they were decided."""


@dataclass(frozen=True)
class Move:
    """One move of the world.

    Attributes:
        touches: the parts of the outside that it changes.
        make: makes it; where there is nothing to move it does nothing.
        shown_by: the parts, or calls, that show it to who asks; None: those that it touches.
        is_evidence: it is shown by evidence, which a look reads, and of the actions only the announcement asks for
            again (design.md §3).
    """

    name: str
    touches: frozenset[str]
    make: Callable[[Any], object]
    shown_by: frozenset[str] | None = None
    is_evidence: bool = False

    def is_shown(self, name: str, part: str) -> bool:
        """Whether such a call shows it."""
        shown = self.touches if self.shown_by is None else self.shown_by
        return not shown.isdisjoint({name, part})


@dataclass(frozen=True)
class Scenario:
    """What is lived.

    Attributes:
        start: builds the world of the beginning.
        live: one life in it; the calls of the operator go by way of the guard.
        moves: those that can be made.
    """

    name: str
    start: Callable[[], Any]
    live: Callable[[Any, Adversary], None]
    moves: tuple[Move, ...]


@dataclass
class Adversary:
    """Numbers the calls of a life, and makes moves right before some of them."""

    arena: Any
    plan: Mapping[int, tuple[Move, ...]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    """How often clocks were read before each."""
    made: list[tuple[int, Move]] = field(default_factory=list)
    acts_since: int = 0
    """The first call of the newest action."""
    looks_since: int = 0
    """The first call of the newest look."""
    since: list[tuple[int, int]] = field(default_factory=list)
    """Both, of each call."""
    unobserved: set[str] = field(default_factory=set)
    """Databases that were put into maintenance because a move was made after all that could have shown it."""

    def acting(self, process: Reconciler[Any, Any, Any, Any]) -> Reconciler[Any, Any, Any, Any]:
        """The same process; where its actions begin is known."""
        return Reconciler(_Acting(self, process.controller), process.may_write)

    def guard(self, port: Any) -> Any:
        """The same port, with each call numbered and judged."""
        kind = next((part for known, part in PORTS.items() if isinstance(port, known)), None)
        return watched(_Seat(self, kind), port)

    def call(self, part: str, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        at = self._note(name, part)
        is_late = name in COMPARES and any(self._is_late(made, move, at) for made, move in self.made)
        try:
            return self.arena.referee.call(function, name, *args, **kwargs)
        except Violation as violation:
            if is_late:
                raise Unavoidable(str(violation)) from violation
            raise
        finally:
            if name == "set_maintenance" and is_late and kwargs["enabled"]:
                self.unobserved |= self.arena.in_maintenance()

    def _is_late(self, made: int, move: Move, act: int) -> bool:
        """Whether the action asked for what would show the move, and the move was made after the last answer."""
        shows = self.shows(move, act)
        return bool(shows) and shows[-1] < made

    def shows(self, move: Move, act: int) -> Sequence[int]:
        """The calls of the act's action that show a move; none where the act itself compares."""
        shown = move.touches if move.shown_by is None else move.shown_by
        if not shown.isdisjoint(COMPARES[self.names[act]]):
            return ()
        acts_since, looks_since = self.since[act]
        since = looks_since if move.is_evidence else acts_since
        return [n for n in range(since, act) if move.is_shown(self.names[n], self.parts[n])]

    def between(self) -> None:
        """The operator waits: others do something now."""
        self._note("(others)", ALL)

    def _note(self, name: str, part: str) -> int:
        at = len(self.names)
        self.names.append(name)
        self.parts.append(part)
        self.reads.append(self.arena.time.reads)
        self.since.append((self.acts_since, self.looks_since))
        for move in self.plan.get(at, ()):
            self.made.append((at, move))
            move.make(self.arena)
            self.arena.referee.moved()
        return at


class Unavoidable(Violation):
    """The action asked again, and the move was made after that, before the act: Kafka cannot be fenced."""


class _Acting:
    """A controller, of which is known when its actions begin."""

    def __init__(self, adversary: Adversary, controller: Any) -> None:
        self._adversary, self._controller = adversary, controller

    def __getattr__(self, name: str) -> Any:
        return getattr(self._controller, name)

    def observe(self, obj: Any) -> Any:
        """One look."""
        self._adversary.looks_since = len(self._adversary.names)
        return self._controller.observe(obj)

    def perform(self, obj: Any, action: Any) -> Any:
        """One action."""
        self._adversary.acts_since = len(self._adversary.names)
        return self._controller.perform(obj, action)


@dataclass
class _Seat:
    """Where the calls of one port arrive."""

    adversary: Adversary
    kind: str | None

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call; to open a port sends nothing."""
        if name in OPENS or name == "maintenance_of":
            answer = function(*args, **kwargs)
            return answer if name in OPENS else watched(self, answer)
        return self.adversary.call(self._part(name, args), function, name, *args, **kwargs)

    def _part(self, name: str, args: tuple[Any, ...]) -> str:
        if self.kind == "kube":
            found = BY_CALL.get(name)
            return found or f"kube:{args[0].KIND.kind}"
        return self.kind or BY_CALL.get(name, ALL)


@dataclass(frozen=True)
class Pair:
    """A call, by its number, and a move before it.

    Attributes:
        weight: how many pairs of calls and moves it stands for.
        is_only_judged: the call is an act that shows the move to nobody but the judge.
    """

    at: int
    move: Move
    weight: int
    is_only_judged: bool = False


@dataclass
class Finding:
    """What a life ended with, and in which call."""

    pair: tuple[Pair, ...]
    call: str
    what: str
    is_unavoidable: bool = False


@cache
def calm_life(scenario: Scenario) -> tuple[Any, Adversary]:
    """The beginning of a scenario and its life in which nothing is moved, once for all tests of a process.

    Nobody lives in this beginning, but in copies of it.
    """
    start = scenario.start()
    return start, undisturbed(scenario, start)


@bugs_come_through()
def undisturbed(scenario: Scenario, start: Any) -> Adversary:
    """The calls of a life in which nothing is moved."""
    arena = copy.deepcopy(start)
    adversary = Adversary(arena)
    scenario.live(arena, adversary)
    adversary.reads.append(arena.time.reads)
    return adversary


def pairs_of(scenario: Scenario, calm: Adversary) -> Iterator[Pair]:
    """All pairs that differ."""
    for move in scenario.moves:
        weight = 0
        for at, part in enumerate(calm.parts):
            weight += part != ALL or calm.names[at] != "(others)"
            reads_clock = CLOCK in move.touches and calm.reads[at + 1] != calm.reads[at]
            is_noticed = part == ALL or part in move.touches or reads_clock or ALL in move.touches
            if is_noticed or calm.names[at] in COMPARES:
                yield Pair(at, move, weight, not is_noticed)
                weight = 0
        if weight:
            yield Pair(len(calm.parts), move, weight)


@bugs_come_through()
def live(scenario: Scenario, start: Any, calm: Adversary, pairs: Iterable[Pair]) -> Finding | None:
    """One life with one move, or with some."""
    pairs = tuple(pairs)
    arena = copy.deepcopy(start)
    plan: dict[int, tuple[Move, ...]] = {}
    for pair in pairs:
        plan[pair.at] = (*plan.get(pair.at, ()), pair.move)
    adversary = Adversary(arena, plan)
    first = min(pair.at for pair in pairs)
    found = None
    try:
        scenario.live(arena, adversary)
    except Violation as violation:
        found = violation
    except Exception as error:  # noqa: BLE001 - a bug of the operator is a finding
        found = Violation(f"E: {type(error).__name__}: {error}")
    assert adversary.names[:first] == calm.names[:first], (
        "lives differ before the move: calls must not depend on chance"
    )
    if found is None:
        return None
    return Finding(pairs, adversary.names[-1], str(found), isinstance(found, Unavoidable))
