"""Faults of the operator itself: killed, or stopped until another replica leads and then continued."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from seawall_e2e.armed import ArmedSignal
from seawall_e2e.cluster import Operator
from seawall_e2e.commands import asked, kubectl
from seawall_e2e.faults import FaultKind
from seawall_e2e.intents import read_intents, wait_for_a_new_intent
from seawall_e2e.node_faults import Frozen, Target
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

ATTEMPTS = 3
"""Between an intent and its delete lie some hundred milliseconds; on a busy machine the signal may come later."""


@dataclass(frozen=True, slots=True)
class OperatorKilled:
    """SIGKILL of the operator's pod that leads; the container is started again."""

    operator: Operator
    kind = FaultKind.OPERATOR_KILLED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Kills it; at the end every pod is ready and one of them leads."""
        operator = self.operator
        leader = wait_until(operator.leader, "one leads", explain=operator.log)
        restarts = operator.restarts()
        operator.crash(leader)
        wait_until(lambda: operator.restarts() > restarts, f"{self} is started again", every=0.5, explain=operator.log)
        yield
        wait_until(operator.is_ready, f"{self} is ready again", every=0.5, explain=operator.log)

    def __str__(self) -> str:
        return "seawall"


@dataclass(frozen=True, slots=True)
class LeadingPodCrashed:
    """SIGKILL of the pod that leads, which is replaced by another: however often, no back-off."""

    operator: Operator
    kind = FaultKind.OPERATOR_KILLED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Kills it; at the end another leads."""
        operator = self.operator
        leader = wait_until(operator.leader, "one leads", explain=operator.log)
        operator.crash(leader)
        operator.remove(leader)
        yield
        wait_until(lambda: asked(operator.leader) not in {None, leader}, "another leads", explain=operator.log)

    def __str__(self) -> str:
        return "the pod that leads"


@dataclass(frozen=True, slots=True)
class OperatorFrozen:
    """SIGSTOP of the pod that leads until another leads; then both run, and the first one does not know it."""

    operator: Operator
    kind = FaultKind.OPERATOR_STOPPED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Stops it until another leads; at the end it goes on, or its kubelet has begun it anew, and all are ready."""
        operator = self.operator
        leader = wait_until(operator.leader, "one leads", explain=operator.log)
        with Frozen(self.kind, Target(operator.namespace, leader, ".*")).applied():
            wait_until(lambda: operator.leader() not in {None, leader}, "another leads", explain=operator.log)
            yield
        wait_until(lambda: asked(operator.is_ready), f"{self} is ready again", every=0.5, explain=operator.log)

    def __str__(self) -> str:
        return "the pod that leads"


@dataclass(slots=True)
class StoppedBeforeDelete:
    """SIGSTOP of the pod that leads as soon as it has written an intent, which is before its delete; then SIGCONT.

    Attributes:
        pending: topic → intent, of those topics from which it had not deleted when it stopped.
        leader: the pod that was stopped.
    """

    site: Site
    pending: dict[str, int] = field(default_factory=dict)
    leader: str | None = None
    kind = FaultKind.OPERATOR_STOPPED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Stops it; at the end it goes on, and another must lead by then. The kubelet must not have given up on it."""
        operator = self.site.operator
        self.leader = leader = wait_until(operator.leader, "one leads", explain=operator.log)
        restarts, lost = operator.restarts(), self._losses(leader)
        try:
            for _ in range(ATTEMPTS):
                self._stop(leader)
                if self.pending:
                    break
                operator.signal(leader, "CONT")
            else:
                raise AssertionError(f"{leader} was stopped too late {ATTEMPTS} times: it had deleted already")
            yield
            if operator.leader() in {None, leader}:
                raise AssertionError(f"{leader} leads still: nobody acted beside it")
        finally:
            operator.signal(leader, "CONT")
        wait_until(
            lambda: self._losses(leader) > lost or operator.restarts() > restarts,
            f"{leader} goes on and sees that another leads",
            every=0.5,
            explain=operator.log,
        )
        if operator.restarts() > restarts:
            raise AssertionError(f"{leader} was started again: it did not go on as a leader that knows nothing")

    def _stop(self, leader: str) -> None:
        with ArmedSignal(self.site.operator.namespace, leader, "STOP") as stop:
            wait_for_a_new_intent(self.site.namespace, self.site.log_starts())
            stop.fire()
        starts = self.site.log_starts()
        intents = read_intents(self.site.namespace, starts)
        self.pending = {name: intent for name, intent in intents.items() if starts[name] < intent}

    def _losses(self, pod: str) -> int:
        """How often a pod's process told that it leads no more."""
        return kubectl("-n", self.site.operator.namespace, "logs", pod).count("not leading")

    def wait_for_another(self) -> None:
        """While it is stopped: waits until another leads."""
        operator = self.site.operator
        wait_until(lambda: operator.leader() not in {None, self.leader}, "another leads", explain=operator.log)

    def __str__(self) -> str:
        return "the pod that leads, before its delete"
