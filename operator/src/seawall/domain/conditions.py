"""Conditions: written only when they change, with the time of the last change of their status."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from seawall.api.meta import Condition, ConditionType

ConditionStatus = Literal["True", "False", "Unknown"]

MAX_MESSAGE = 2000
"""Longer sentences are cut: a status that the API server refuses would be written in vain for ever."""


def find_condition(conditions: Iterable[Condition], wanted: ConditionType) -> Condition | None:
    """The condition of this type, if there is one."""
    return next((condition for condition in conditions if condition.type == wanted), None)


def build_condition(
    previous: Iterable[Condition],
    wanted: ConditionType,
    status: ConditionStatus,
    reason: str,
    message: str,
    *,
    generation: int,
    now: datetime,
) -> Condition:
    """A condition that keeps the last transition time of the previous one unless its status changes."""
    before = find_condition(previous, wanted)
    changed = before is None or before.status != status
    return Condition(
        type=wanted.value,
        status=status,
        reason=reason,
        message=message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 1]}…",
        observed_generation=generation,
        last_transition_time=now.replace(microsecond=0) if changed or before is None else before.last_transition_time,
    )


def as_status(holds: bool) -> ConditionStatus:  # noqa: FBT001 - a conversion
    """`True` or `False` as Kubernetes writes it."""
    return "True" if holds else "False"
