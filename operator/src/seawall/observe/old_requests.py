"""Requests of runs that are long over: one tick looks at one of them, from the newest down to the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seawall.api.meta import Key
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.subscription.case import Case


@dataclass(slots=True)
class OldRequests:
    """How far down it has looked since it began, or since another run is meant.

    Attributes:
        run: the number of the run that was meant then.
        number: the run whose request is looked at next; below 1: all were.
    """

    run: int = 0
    number: int = 0

    def read(self, case: Case, read: Callable[[Key], ConfigMap | None]) -> ConfigMap | None:
        """One that this subscription made, until it is gone; None: there is none here, or there are no more."""
        run = 0 if case.status.run is None else case.status.run.number
        if run != self.run:
            self.run, self.number = run, run - 2
        if self.number < 1:
            return None
        found = read(case.run_key(self.number))
        if found is not None and found.controller_uid == case.uid:
            return found
        self.number -= 1
        return None
