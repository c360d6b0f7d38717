"""One tick ends in exactly one step: record the status, act on the world, or wait.

A tick never does two of them. What is intended is in the status before it is acted on, and what was done is seen in the
world by the next tick, so a crash between any two ticks loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

StatusT = TypeVar("StatusT")
ActionT = TypeVar("ActionT")


class EventType(StrEnum):
    """Types of a Kubernetes Event."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Event:
    """What a person sees under Events in `kubectl describe`."""

    type: EventType
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Record(Generic[StatusT]):
    """Replace the object's status; the events tell of what changed in it.

    `after` is the time until the next look in seconds; None means the resync period.
    """

    status: StatusT
    events: tuple[Event, ...] = ()
    after: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Act(Generic[ActionT]):
    """Perform the actions in their order. Each is idempotent and is derived again from the world by the next tick."""

    actions: tuple[ActionT, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do now.

    `after` is the time until the next look in seconds; None means the resync period.
    """

    reason: str
    after: float | None = None


Step = Record[StatusT] | Act[ActionT] | Wait
