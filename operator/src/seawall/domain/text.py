"""Texts for people: words of a closed set that explain themselves, and names in a row."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Self


class Explained(StrEnum):
    """A word, its sentence for people, and what a person can do."""

    sentence: str
    remedy: str

    def __new__(cls, value: str, sentence: str, remedy: str) -> Self:
        """A member that is its name, with its explanation."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        member.remedy = remedy
        return member


FEW = 3
"""As many as one reads."""


def few(names: Iterable[object], most: int = FEW) -> str:
    """`a, b, c and 2 more`; empty: there are none."""
    found = [str(name) for name in names]
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return f"{', '.join(found[:most])}{more}"


def written(at: datetime) -> str:
    """A time of UTC to the second, as Kubernetes writes it: `2026-11-28T12:00:00Z`."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def listed(names: list[str]) -> str:
    """`3 topics (a, b, c)`, or the first and the last of many; `topic a` for one."""
    if len(names) == 1:
        return f"topic {names[0]}"
    shown = ", ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]}"  # noqa: PLR2004 - what fits a line
    return f"{len(names)} topics ({shown})"
