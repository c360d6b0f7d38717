"""What a job does to the outside, and what that is called: each action is idempotent by the attempt's name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WALHold, WALHoldSpec
from seawall.domain.events import EventReason
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.spark_job.application import SparkApplication
from seawall.domain.step import Event, EventType

MAX_NAME = 45
"""Spark makes Services and labels of the application's name, which take 63 characters with what it adds."""

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def why_unusable(name: str) -> str | None:
    """Why an object of this name cannot have an application named after it; None: it can."""
    if len(name) > MAX_NAME:
        return f"the name is longer than {MAX_NAME} characters: Spark's Services could not be named after it"
    if _NAME.fullmatch(name) is None:
        return "the name must begin with a letter and hold no dots: Spark's Services are named after it"
    return None


def attempt_key(job: Key, attempt: int) -> Key:
    """The hold, the request's ConfigMap and the SparkApplication of an attempt share one name."""
    return Key(job.namespace, f"{job.name}-{attempt}")


@dataclass(frozen=True, slots=True)
class PlaceHold:
    """Ask for a hold on what will be read."""

    key: Key
    spec: WALHoldSpec

    def event(self) -> Event:
        """What the event says."""
        message = f"Placed WALHold {self.key.name} on {len(self.spec.topics)} topics"
        return Event(EventType.NORMAL, EventReason.HOLD_PLACED, message)


@dataclass(frozen=True, slots=True)
class FreezeRequest:
    """Write down what is to be read, for good."""

    config_map: ConfigMap
    topics: int

    def event(self) -> Event:
        """What the event says."""
        message = f"Froze the request in ConfigMap {self.config_map.key.name}: {self.topics} topics"
        return Event(EventType.NORMAL, EventReason.REQUEST_FROZEN, message)


@dataclass(frozen=True, slots=True)
class Submit:
    """Make the SparkApplication."""

    key: Key
    spec: Mapping[str, Any]
    service_account: str
    secrets: tuple[str, ...] = ()
    """Those that the driver alone needs, and cannot start without."""

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.APPLICATION_CREATED, f"Created SparkApplication {self.key.name}")


@dataclass(frozen=True, slots=True)
class ReleaseHold:
    """Let the hold go, by deleting it."""

    hold: WALHold

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.HOLD_RELEASED, f"Deleted WALHold {self.hold.metadata.name}")


@dataclass(frozen=True, slots=True)
class RemoveApplication:
    """Remove the application of an attempt that was interrupted, with whatever of it still runs."""

    application: SparkApplication

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.APPLICATION_REMOVED, f"Deleted SparkApplication {self.application.key.name}"
        )


@dataclass(frozen=True, slots=True)
class RemoveItself:
    """Delete the object, whose ttlSecondsAfterFinished is over."""

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.EXPIRED, "ttlSecondsAfterFinished is over")


JobAction = PlaceHold | FreezeRequest | Submit | ReleaseHold | RemoveApplication | RemoveItself
