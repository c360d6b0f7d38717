"""The invariants that can be seen from outside, looked at again and again while faults go on."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

from seawall_e2e.commands import CommandFailed
from seawall_e2e.purges import Purges

DISASTERS = frozenset({"LogStartBeyondReplay", "IdentityFenceBroken", "ForeignDelete"})


@dataclass(slots=True)
class InvariantSampler:
    """Asks for the ledger all the time, in a thread, as long as the `with` lasts.

    Attributes:
        samples: how often the ledger was answered.
        unanswered: how often not: the operator was down.
        violations: what must not be, in words. Log starts are not compared: they may go back when a broker dies.
        reasons: how often a topic was left alone for which reason.
    """

    purges: Purges
    every: float = 1.0
    samples: int = 0
    unanswered: int = 0
    violations: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    _markers: dict[str, int] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(self.every):
            try:
                lines = self.purges.ledger()
            except CommandFailed:
                self.unanswered += 1
                continue
            self.samples += 1
            for topic, line in lines.items():
                self._judge(topic, line)

    def _judge(self, topic: str, line: dict[str, object]) -> None:
        reason, marker = line["reason"], line["marker"]
        self.reasons[str(reason)] += 1
        if reason in DISASTERS:
            self.violations.append(f"{topic}: {reason}: {line['message']}")
        if not isinstance(marker, int):
            return
        highest = self._markers.get(topic, marker)
        if marker < highest:
            self.violations.append(f"{topic}: its marker went back from {highest} to {marker}")
        self._markers[topic] = max(marker, highest)
