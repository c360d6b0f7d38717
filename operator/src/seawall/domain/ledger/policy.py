"""The effective policy of a topic: of each rule the strictest of all policies that match it, and which policy said so.

A run made by hand counts as one more policy, so it cannot be weaker. Safe reading of the design: what a suspended
policy or a dry run asks for counts too, because it says how careful somebody wants this topic to be treated; whether
a run deletes is the run's own business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from fnmatch import translate
from functools import lru_cache
from typing import Any

from pydantic.alias_generators import to_camel

from seawall.api.duration import format_duration


class Level(IntEnum):
    """How much a replay verification looked at; a higher one includes the lower."""

    COVERAGE = 1
    """Every entry of every region is there."""
    INTEGRITY = 2
    """And can be read."""
    EQUIVALENCE = 3
    """And gives the rows that the database has."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A verification that must exist before anything is deleted."""

    level: Level
    max_age: timedelta

    def __str__(self) -> str:
        return f"{self.level.name.capitalize()} within {format_duration(self.max_age)}"


@dataclass(frozen=True, slots=True)
class Safety:
    """What a policy asks for."""

    keep_entries: int = 0
    stale_after: timedelta = timedelta(seconds=60)
    open_grace: timedelta = timedelta(minutes=2)
    verification: Requirement | None = None
    count_followers: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy, or a run, by the name that people know; `topics` are globs on topic names."""

    name: str
    topics: tuple[str, ...] = ("*",)
    safety: Safety = Safety()

    def matches(self, topic: str) -> bool:
        """Whether any of the globs does."""
        return any(_pattern(glob).fullmatch(topic) for glob in self.topics)


@dataclass(frozen=True, slots=True)
class EffectivePolicy:
    """The strictest of all that match, and by field the policies that asked for it."""

    safety: Safety
    said_by: Mapping[str, str]

    def overrules(self, policy: Policy) -> tuple[str, ...]:
        """What other policies made stricter than this one asks, one clause each: it goes into its condition."""
        return tuple(
            f"{_CALLED.get(field) or to_camel(field)} {_written(getattr(self.safety, field))} of {self.said_by[field]}"
            for field in self.said_by
            if getattr(self.safety, field) != getattr(policy.safety, field)
        )


_CALLED = {"verification": "requireVerification"}
"""Fields that policies call otherwise."""


def _written(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return format_duration(value) if isinstance(value, timedelta) else value


def effective_policy(topic: str, policies: Iterable[Policy]) -> EffectivePolicy | None:
    """The effective policy of a topic; None if none matches."""
    matching = [policy for policy in policies if policy.matches(topic)]
    return strictest(matching) if matching else None


def counts_followers(policy: EffectivePolicy | None) -> bool:
    """Whether followers of regions count as readers of a topic with this policy; of one without, they do."""
    return policy is None or policy.safety.count_followers


def strictest(policies: Sequence[Policy]) -> EffectivePolicy:
    """The strictest of at least one policy; of equals the first by name is named."""
    ordered = sorted(policies, key=lambda policy: policy.name)
    keep = max(ordered, key=lambda policy: policy.safety.keep_entries)
    stale = min(ordered, key=lambda policy: policy.safety.stale_after)
    grace = max(ordered, key=lambda policy: policy.safety.open_grace)
    said_by = {"keep_entries": keep.name, "stale_after": stale.name, "open_grace": grace.name}
    demanding = [(policy, required) for policy in ordered if (required := policy.safety.verification) is not None]
    requirement = None
    if demanding:
        levels, ages = _strictest_by(demanding, lambda r: -r.level), _strictest_by(demanding, lambda r: r.max_age)
        requirement = Requirement(levels[1].level, ages[1].max_age)
        said_by["verification"] = ", ".join(dict.fromkeys((levels[0].name, ages[0].name)))
    counting = max(ordered, key=lambda policy: policy.safety.count_followers)
    said_by["count_followers"] = counting.name
    safety = Safety(
        keep.safety.keep_entries,
        stale.safety.stale_after,
        grace.safety.open_grace,
        requirement,
        counting.safety.count_followers,
    )
    return EffectivePolicy(safety, said_by)


def _strictest_by(
    demanding: list[tuple[Policy, Requirement]], key: Callable[[Requirement], Any]
) -> tuple[Policy, Requirement]:
    return min(demanding, key=lambda pair: key(pair[1]))


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))
