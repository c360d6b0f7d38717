"""Durations as Go writes them, in whole seconds: `30s`, `10m`, `1h30m`.

A bare number is refused on both sides, because nobody can tell its unit.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from seawall.api.meta import Rule

SECOND = timedelta(seconds=1)

_PATTERN = r"^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$"
_PARTS = re.compile(r"(?:([0-9]{1,5})h)?(?:([0-9]{1,5})m)?(?:([0-9]{1,5})s)?")


def parse_duration(value: object) -> timedelta:
    """Reads a duration such as `1h30m`.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, timedelta):
        return value
    found = _PARTS.fullmatch(value) if isinstance(value, str) and value else None
    if found is None:
        raise ValueError(f"{value!r} is no duration such as 30s, 10m or 1h30m")
    hours, minutes, seconds = (int(part) for part in found.groups(default="0"))
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def format_duration(value: timedelta) -> str:
    """Writes a duration in the form that `parse_duration` reads; a fraction of a second is left out."""
    minutes, seconds = divmod(int(value.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


Duration = Annotated[
    timedelta,
    Field(ge=SECOND),
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": _PATTERN, "minLength": 2, "maxLength": 18}),
]
"""A duration of at least a second. Shape on the wire: a string such as `1h30m`."""


def duration_rule(field: str) -> Rule:
    """CEL for the lower bound of a field of type `Duration`, which OpenAPI cannot say of a string."""
    return Rule(
        f"!has(self.{field}) || duration(self.{field}) >= duration('1s')",
        f"{field} must be at least a second",
    )
