"""Faults of the operator itself: killed, or stopped until another replica leads and then continued."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from seawall_e2e.cluster import Operator
from seawall_e2e.faults import FaultKind
from seawall_e2e.waiting import wait_until


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
        leader = wait_until(self.operator.leader, "one leads", explain=self.operator.log)
        self.operator.crash(leader)
        self.operator.remove(leader)
        yield
        wait_until(lambda: self.operator.leader() not in {None, leader}, "another leads", explain=self.operator.log)

    def __str__(self) -> str:
        return "the pod that leads"


@dataclass(frozen=True, slots=True)
class LeadingPodStopped:
    """SIGSTOP of the pod that leads until another does; then it goes on, not knowing that."""

    operator: Operator
    kind = FaultKind.OPERATOR_STOPPED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Stops it; at the end it goes on. The kubelet must not have given up on it before."""
        leader = wait_until(self.operator.leader, "one leads", explain=self.operator.log)
        restarts = self.operator.restarts()
        self.operator.signal(leader, "STOP")
        try:
            wait_until(lambda: self.operator.leader() not in {None, leader}, "another leads", explain=self.operator.log)
            yield
        finally:
            self.operator.signal(leader, "CONT")
        if self.operator.restarts() > restarts:
            raise AssertionError(f"{leader} was started again: it did not go on as a leader that knows nothing")

    def __str__(self) -> str:
        return "the pod that leads"
