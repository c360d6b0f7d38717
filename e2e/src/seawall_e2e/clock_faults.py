"""A clock that is wrong: the operator's runs ahead of all others, or behind them, for a while."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from seawall_e2e.cluster import PLATFORM
from seawall_e2e.commands import CommandFailed, asked, kubectl, run
from seawall_e2e.faults import FaultKind
from seawall_e2e.node_faults import Target
from seawall_e2e.waiting import wait_until

LEAST, MOST = 5, 600
"""Seconds: more and less than what an operator's clock may differ from others', and than its Lease lasts."""
TOLERANCE = LEAST - 1
"""Seconds, between two clocks that are as they were set."""
VALUES = (
    "extraVolumes[0].name=clock",
    "extraVolumes[0].emptyDir.sizeLimit=1Mi",
    "extraVolumeMounts[0].name=clock",
    "extraVolumeMounts[0].mountPath=/clock",
)
"""Of the chart: where the image of `build_image` reads what its clock is to say."""
_WRITE = "import sys; open('/clock/offset', 'w').write(sys.argv[1])"
_READ = "import time; print(time.time())"


def build_image() -> str:
    """Builds the operator's image with a clock that can be moved, loads it into the cluster; its reference."""
    return run(str(PLATFORM / "faketime/image.sh"), timeout=1200, show_progress=True).strip()


@dataclass(frozen=True, slots=True)
class ClockSkewed:
    """The wall clock of all processes of a pod says another time, from one moment to the next, and at the end back."""

    target: Target
    seconds: int
    """How far ahead; below 0: behind."""
    kind = FaultKind.CLOCK_SKEWED

    @classmethod
    def drawn(cls, target: Target, number: int) -> ClockSkewed:
        """By a number of chance: ahead or behind, each by few or many seconds."""
        size = LEAST + number // 2 % (MOST - LEAST)
        return cls(target, size if number % 2 else -size)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Moves it; at the end it is right again, or the pod is gone.

        Raises:
            CommandFailed: it cannot be moved, or does not say so.
        """
        try:
            self._set(self.seconds)
            began = time.time()
            read = float(self._python(_READ)) - self.seconds
            ended = time.time()
            if not began - TOLERANCE < read < ended + TOLERANCE:  # a command may take long, and is not what is off
                raise CommandFailed((str(self),), f"says {read - began:+.0f} s of {ended - began:.0f} s", "")
            yield
        finally:
            wait_until(lambda: asked(self._set_right), f"the clock of {self.target} is right", every=0.5)

    def _set_right(self) -> bool:
        """True, unless CommandFailed is raised."""
        if self.target.find() is not None:  # its file outlives its container
            self._set(0)
        return True

    def _set(self, seconds: int) -> None:
        self._python(_WRITE, f"{seconds:+d}")

    def _python(self, *words: str) -> str:
        pod = ("-n", self.target.namespace, "exec", self.target.pod, "--")
        return kubectl(*pod, "python", "-c", *words)

    def __str__(self) -> str:
        return f"{self.target} by {self.seconds:+d} s"
