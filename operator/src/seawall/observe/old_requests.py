"""Requests of runs that are long over: one after another, from the newest down to the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from seawall.api.meta import Key
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.subscription.case import Case

ABSENT_AT_ONCE = 10
"""How many that are gone already one tick passes over."""


@dataclass(slots=True)
class OldRequests:
    """Which ones were not read yet: a process that starts begins with all, and each run makes one more of them old.

    Attributes:
        run: the number of the run that was meant last.
        waiting: the runs whose request is to be read, the next one last.
    """

    run: int = 0
    waiting: list[int] = field(default_factory=list)

    def read(self, case: Case, read: Callable[[Key], ConfigMap | None]) -> ConfigMap | None:
        """One that this subscription made, until it is gone; None: there is none here, or there are no more."""
        self._count(0 if case.status.run is None else case.status.run.number)
        for _ in range(min(ABSENT_AT_ONCE, len(self.waiting))):
            found = read(case.run_key(self.waiting[-1]))
            if found is not None and found.controller_uid == case.uid:
                return found
            self.waiting.pop()
        return None

    def _count(self, run: int) -> None:
        """That of the run before the one that is meant is not old."""
        if run < self.run:  # the status was lost
            self.run, self.waiting = 0, []
        if run != self.run:
            self.waiting.extend(range(max(1, self.run - 1), run - 1))
            self.run = run
