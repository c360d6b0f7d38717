"""SparkApplications and their drivers, as values.

Source: sparkoperator.k8s.io/v1beta2 of kubeflow's Spark Operator 2.4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import Key

OVER = frozenset({"COMPLETED", "FAILED"})
"""The states in which nothing happens any more: with restartPolicy Never, a submission that fails ends in FAILED."""

NEEDS_PERSON = frozenset(
    {
        "CreateContainerConfigError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
    }
)
"""Why a container does not start, in the kubelet's words, where waiting alone does not help."""

_MISSING_CLAIM = re.compile(r'persistentvolumeclaim "[^"]*" (not found|is being deleted)')
"""What the scheduler says of a pod with a claim that somebody has to make first."""


@dataclass(frozen=True, slots=True)
class SparkApplication:
    """A SparkApplication as the API server has it."""

    key: Key
    uid: str
    created_at: datetime
    controller_uid: str | None = None
    state: str = ""
    """The Spark Operator's word; empty: it has not looked at it yet."""
    error: str = ""
    """Why it failed, in the Spark Operator's words, which may be many lines of a log."""
    driver_pod: str | None = None
    executors: tuple[str, ...] = ()
    """In what states its executors' pods are, in the Spark Operator's words, sorted."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.state in OVER

    def progress(self) -> str:
        """How far it is, as a clause: a driver whose executors do not come waits, and nobody else says so."""
        if self.state != "RUNNING" or "RUNNING" in self.executors:
            return f"is {self.state}"
        states = ", ".join(self.executors) or "none has a pod"
        return f"is {self.state}, and no executor of it runs ({states})"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a driver's container ended: its exit code, and what it wrote as its termination message."""

    exit_code: int
    message: str


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why a driver does not start, in one word and in one sentence of the kubelet's or the scheduler's."""

    reason: str
    message: str

    @property
    def needs_person(self) -> bool:
        """Whether it cannot pass by itself."""
        return self.reason in NEEDS_PERSON or _MISSING_CLAIM.search(self.message) is not None


Driver = Ended | Stuck | None
"""A driver; None: there is none, or it runs."""
