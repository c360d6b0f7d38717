"""Faults in the middle of a replay verification: of its driver, of its executor, and of the log that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from seawall_e2e.commands import CommandFailed
from seawall_e2e.faults import FaultKind, TableFlushed
from seawall_e2e.purges import Purges
from seawall_e2e.site import Site
from seawall_e2e.verifications import Verification, Verifications
from seawall_e2e.waiting import wait_until

STARTED, DONE = "TaskSetManager: Starting task", "DAGScheduler: Job 0 finished"
"""What Spark's driver logs when an executor begins to read the log, and when all of it was read and judged."""

FOREIGN = "ForeignDelete"


@dataclass(frozen=True, slots=True)
class MidJob:
    """A verification whose only executor is stopped while it reads."""

    seen: Verification
    executor: str


@contextmanager
def stopped_in_mid_job(verifications: Verifications, name: str) -> Iterator[MidJob]:
    """Requests a verification and stops its executor while it reads; at the end the executor goes on, if it lives."""
    verifications.request(name)
    seen = verifications.wait_until_runs(name)
    if seen.application is None:
        raise ValueError("a verification that runs has an application")
    application, explain = seen.application, verifications.explain
    executor, *_ = wait_until(lambda: verifications.executors(application), f"{name} has an executor", explain=explain)
    wait_until(lambda: STARTED in verifications.driver_log(application), f"{name} reads the log", explain=explain)
    verifications.signal(executor, "STOP")
    try:
        if DONE in verifications.driver_log(application):
            raise AssertionError(f"{name} was stopped too late\n{explain()}")
        yield MidJob(seen, executor)
    finally:
        with suppress(CommandFailed):  # it was killed, or went with its driver
            verifications.signal(executor, "CONT")


@dataclass(frozen=True, slots=True)
class DriverKilled:
    """SIGKILL of the driver."""

    verifications: Verifications
    seen: Verification
    kind = FaultKind.DRIVER_KILLED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Kills it; at the end another attempt has begun."""
        self.verifications.signal(self.seen.driver, "KILL")
        yield
        wait_until(self._is_tried_again, f"{self.seen.name} is tried again", explain=self.verifications.explain)

    def _is_tried_again(self) -> bool:
        return self.verifications.find(self.seen.name).attempt > self.seen.attempt

    def __str__(self) -> str:
        return self.seen.driver


@dataclass(frozen=True, slots=True)
class ExecutorKilled:
    """SIGKILL of the executor, which Spark replaces."""

    verifications: Verifications
    at: MidJob
    kind = FaultKind.EXECUTOR_KILLED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Kills it; at the end another one runs, or the verification is over."""
        self.verifications.signal(self.at.executor, "KILL")
        yield
        wait_until(self._is_replaced, f"{self} is replaced", explain=self.verifications.explain)

    def _is_replaced(self) -> bool:
        others = set(self.verifications.executors(self.at.seen.application or "")) - {self.at.executor}
        return bool(others) or self.verifications.find(self.at.seen.name).is_over

    def __str__(self) -> str:
        return self.at.executor


@dataclass(frozen=True, slots=True)
class LogCut:
    """DeleteRecords by hand, as somebody would who knows nothing of Seawall, of what a region of a table would read."""

    site: Site
    purges: Purges
    flush: TableFlushed
    topic: str
    before: int
    kind = FaultKind.LOG_CUT

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Cuts it, and flushes the table: no row is lost. At the end somebody has readopted the topic."""
        self.site.toolbox.cut(self.topic, self.before)
        with self.flush.applied():
            pass
        if (start := self.site.log_starts()[self.topic]) < self.before:
            raise AssertionError(f"{self} was not cut: it starts at {start}")
        yield
        explain = self.purges.explain
        wait_until(lambda: self._reason() == FOREIGN, "Seawall has noticed the cut", every=0.5, explain=explain)
        self.purges.readopt(f"{self} was cut")
        wait_until(lambda: self._reason() != FOREIGN, "the topic is readopted", every=0.5, explain=explain)

    def _reason(self) -> str | None:
        found: str | None = self.purges.ledger()[self.topic]["reason"]
        return found

    def __str__(self) -> str:
        return f"{self.topic} before {self.before}"
