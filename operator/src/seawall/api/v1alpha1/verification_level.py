"""How much a replay verification looks at, and what a purge may require of one."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Rule


class VerificationLevel(StrEnum):
    """How much is looked at; each level includes those before it."""

    COVERAGE = "Coverage"
    """Everything that a restart would read is there, and can be read end to end."""
    INTEGRITY = "Integrity"
    """And every record decodes, entries are whole, and each region's sequence has no hole."""
    EQUIVALENCE = "Equivalence"
    """And replaying gives the rows that a snapshot of the database has."""


class VerificationRequirement(APIModel):
    """Which replay verification must have succeeded before anything is deleted."""

    RULES: ClassVar[tuple[Rule, ...]] = (duration_rule("maxAge"),)

    level: VerificationLevel = VerificationLevel.INTEGRITY
    """At least this level: Coverage, Integrity or Equivalence."""
    max_age: Annotated[Duration, Field(json_schema_extra={"default": "24h"})] = timedelta(hours=24)
    """A verification that ended longer ago than this does not count any more."""
