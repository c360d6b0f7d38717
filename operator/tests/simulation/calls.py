"""Where the calls of one process arrive: faults happen to them, others act before them, and a judge sees them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from seawall.api.meta import Key
from seawall.api.resource import Resource
from seawall.domain.dataplane.connection import NotReached, PartUnavailable
from seawall.domain.errors import Conflict, OutsideUnavailable
from seawall.domain.kafka import NoKafka, Unreachable
from tests.adversary.judge import CHANGES, Violation
from tests.adversary.lives import ALL, BY_CALL, COMPARES, PORTS, Move
from tests.fakes.kafka import FakeKafka
from tests.support.mortal import Died
from tests.support.watched import OPENS, watched

if TYPE_CHECKING:  # they import this module
    from tests.simulation.process import Process
    from tests.simulation.run import Simulation

CHANGING = CHANGES | {
    *("reassign", "alter_configs", "alter_throttles", "elect_preferred_leaders", "create_topics"),
    *("replace_spec", "take_producer_id", "append_nulls"),
}
"""Calls after which the world may be another one."""
QUIET = frozenset({"post_event", "forget", "maintenance_of", "begin_anew"}) | OPENS
"""Calls that send nothing, or whose failure nobody sees."""
OF_KUBE = frozenset({"kube", "spark", "pods", "intents"})
"""Ports behind which the API server is."""
SILENT = NoKafka(Unreachable.NOT_ANSWERING, "No broker of Kafka answered.")


@dataclass
class Tick:
    """One tick: where in the list of all calls its newest look and its newest action began."""

    process: Process
    kind: str
    key: Key
    looks_since: int = 0
    acts_since: int = 0
    fault: str | None = None
    """What happens to the first change of the action that is under way."""


@dataclass
class Record:
    """All calls of all processes, in their order; by whom, and what moved in between."""

    names: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    ticks: list[Tick | None] = field(default_factory=list)
    moves: list[tuple[int, Move]] = field(default_factory=list)

    def is_late(self, tick: Tick | None, act: int) -> bool:
        """Whether the action asked for what would show a move, and the move was made after the last answer."""
        name = self.names[act]
        if name not in COMPARES or tick is None:
            return False
        return any(self._is_late(tick, made, move, act) for made, move in self.moves)

    def _is_late(self, tick: Tick, made: int, move: Move, act: int) -> bool:
        shown = move.touches if move.shown_by is None else move.shown_by
        if not shown.isdisjoint(COMPARES[self.names[act]]):
            return False
        since = tick.looks_since if move.is_evidence else tick.acts_since
        mine = (n for n in range(since, act) if self.ticks[n] is tick)
        shows = [n for n in mine if move.is_shown(self.names[n], self.parts[n])]
        return bool(shows) and shows[-1] < made


@dataclass
class Guarded:
    """The ports of one process."""

    sim: Simulation
    process: Process

    def guard(self, port: Any) -> Any:
        """The same port, each of whose calls may go wrong."""
        kind = next((part for known, part in PORTS.items() if isinstance(port, known)), None)
        return watched(_Seat(self.sim, self.process, kind), port)


@dataclass
class _Seat:
    """Where the calls of one port arrive."""

    sim: Simulation
    process: Process
    kind: str | None

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call; to open a port sends nothing."""
        if name in QUIET:
            answer = function(*args, **kwargs)
            return watched(self, answer) if name == "maintenance_of" else answer
        sim, part = self.sim, self._part(name, args)
        at = sim.note_call(name, part)
        fault = sim.before_call(self.process, name, part)
        self._fail(fault, name, part)
        try:
            answer = self._send(fault, at, partial(function, *args, **kwargs), name, args)
        finally:
            sim.after_call(self.process, name, self.kind, args)
        if fault == "dies_after":
            self._die()
        if fault == "answer_lost" and name in CHANGING and self.kind != "kafka":
            raise self._silence(part, f"no answer to {name}: timed out")
        if fault == "sent_twice":
            self._repeat(function, name, args, kwargs)
        if self.kind in OF_KUBE:
            self.process.clock.heard = sim.day.time.time
        return answer

    def _send(self, fault: str | None, at: int, function: partial[Any], name: str, args: tuple[Any, ...]) -> Any:
        """The call arrives and is judged. What nobody could see is written off, and its answer is as it was."""
        answers: list[Any] = []

        def keep() -> Any:
            answers.append(function())
            return answers[0]

        def judged(*_: Any) -> Any:
            return self.sim.checks.call(keep, name, args) if name in CHANGING else keep()

        try:
            with _losing(fault, function):
                return self.sim.day.referee.call(judged, name, *args)
        except Violation as violation:
            self.sim.found(violation, at)
            if not answers and violation.__context__ is not None:
                raise violation.__context__ from None
            return answers[0]

    def _fail(self, fault: str | None, name: str, part: str) -> None:
        """What hinders a call from arriving."""
        if fault == "dies_before":
            self._die()
        if self.kind in OF_KUBE and not self.sim.reaches_kube(self.process):
            raise self._silence(part, "the API server does not answer: connection refused")
        if fault == "conflict" and self.kind in OF_KUBE and name in CHANGING:
            raise Conflict(f"{name}: the object has been modified")
        if fault == "not_sent" and self.kind != "kafka":
            raise self._silence(part, f"{name}: connection reset")

    def _die(self) -> None:
        self.process.die()
        raise Died

    def _repeat(self, function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> None:
        """A proxy sends the request once more: whatever the second answer is, nobody hears it."""
        if name in CHANGING:
            try:
                self.sim.day.referee.call(function, name, *args, **kwargs)
            except (Conflict, OutsideUnavailable):
                return

    def _silence(self, part: str, why: str) -> OutsideUnavailable:
        if part in {"database", "settings"}:
            return PartUnavailable(NotReached.METASRV_UNREACHABLE, why)
        if part == "etcd":
            return PartUnavailable(NotReached.METADATA_STORE_UNREACHABLE, why)
        return OutsideUnavailable(why)

    def _part(self, name: str, args: tuple[Any, ...]) -> str:
        if self.kind == "kube":
            found = BY_CALL.get(name)
            return found or f"kube:{args[0].KIND.kind}"
        return self.kind or BY_CALL.get(name, ALL)


@contextmanager
def _losing(fault: str | None, function: partial[Any]) -> Iterator[None]:
    """The Kafka that is asked loses the request, or its answer."""
    port = getattr(function.func, "__self__", None)
    kafka = getattr(port, "kafka", port)
    if not isinstance(kafka, FakeKafka):
        yield
        return
    before = kafka.unreachable
    kafka.unreachable = SILENT if fault == "not_sent" else before
    kafka.lost_answers = int(fault == "answer_lost")
    try:
        yield
    finally:
        kafka.unreachable, kafka.lost_answers = before, 0


def describe(name: str, args: tuple[Any, ...]) -> str:
    """A call that changes something, as a log has it: no object's address, nothing in the order of a set."""
    first = args[0] if args else None
    if isinstance(first, Resource):
        what = f"{first.KIND.kind}/{first.metadata.name}"
    elif isinstance(first, type):
        what = f"{first.__name__}/{args[1].name}"
    elif isinstance(first, dict):
        what = json.dumps(sorted((str(key), str(value)) for key, value in first.items()))
    else:
        what = ""
    return f"{name} {what}".strip()
