"""What a run of a purge is told: the part that a WALPurgePolicy and the WALPurges that it makes share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar

from pydantic import Field, StrictBool

from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Name, Rule
from seawall.api.quantity import MAX_INTEGER, MI, Bytes, bytes_rule
from seawall.api.v1alpha1.verification_level import VerificationRequirement

GRACE_BEYOND_STALE = timedelta(seconds=10)
"""openGrace is at least this longer than staleAfter: a region that opened unseen has then reported, or is stale."""

TopicGlob = Annotated[str, Field(min_length=1, max_length=249, pattern=r"^[a-zA-Z0-9._*?-]+$")]
"""A topic name, in which `*` stands for any characters and `?` for one."""


def matches_any(topic: str, globs: Iterable[str]) -> bool:
    """Whether one of the patterns stands for this topic."""
    return any(fnmatchcase(topic, glob) for glob in globs)


class ClusterRef(APIModel):
    """A WALCluster in the same namespace."""

    name: Name
    """Name of the WALCluster."""


class FlushSpec(APIModel):
    """Which regions are asked to flush, because they hold the floor back."""

    RULES: ClassVar[tuple[Rule, ...]] = (bytes_rule("whenBehindBytes"), duration_rule("timeout"))

    when_behind_entries: Annotated[int, Field(strict=True, ge=1, le=MAX_INTEGER)] = 10_000
    """A region that holds back at least this many entries is asked to flush."""
    when_behind_bytes: Annotated[Bytes, Field(json_schema_extra={"default": "64Mi"})] = 64 * MI
    """A region that holds back at least this many bytes is asked to flush."""
    max_concurrent: Annotated[int, Field(strict=True, ge=1, le=1000)] = 10
    """Flushes that are under way at the same time."""
    timeout: Annotated[Duration, Field(json_schema_extra={"default": "2m"})] = timedelta(minutes=2)
    """How long a run waits for a flush; then it goes on without it."""


class SafetySpec(APIModel):
    """Margins on top of what the database no longer needs."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        duration_rule("staleAfter"),
        Rule(
            "!has(self.openGrace) || duration(self.openGrace) >= duration(self.staleAfter) + duration('10s')",
            "openGrace must be at least staleAfter + 10s: a region that opens must be seen before anything is deleted",
            lambda safety: safety.open_grace >= safety.stale_after + GRACE_BEYOND_STALE,
        ),
    )

    keep_entries: Annotated[int, Field(strict=True, ge=0, le=MAX_INTEGER)] = 0
    """Entries below the floor that stay all the same."""
    stale_after: Annotated[Duration, Field(json_schema_extra={"default": "60s"})] = timedelta(seconds=60)
    """A region's report that is older than this counts as missing."""
    open_grace: Annotated[Duration, Field(json_schema_extra={"default": "2m"})] = timedelta(minutes=2)
    """Least time between seeing what may go and deleting it. At least staleAfter + 10s."""
    count_followers: StrictBool = True
    """Whether followers of regions (read replicas, hot standbys) count as readers of the log: nothing is deleted beyond
    where the slowest is, and nothing at all while one does not say where. GreptimeDB's read no log: there false lets a
    purge go as far as the leader allows."""
    require_verification: VerificationRequirement | None = None
    """Nothing is deleted beyond where a successful, recent WALVerification of this level began to read."""


class PurgeTemplate(APIModel):
    """What a run is told."""

    cluster_ref: ClusterRef
    """The WALCluster whose topics are purged."""
    topics: Annotated[tuple[TopicGlob, ...], Field(min_length=1, max_length=100)] = ("*",)
    """Which topics of its pool: names, in which `*` stands for any characters and `?` for one."""
    flush: FlushSpec = FlushSpec()
    """Which regions are asked to flush, because they hold the floor back."""
    safety: SafetySpec = SafetySpec()
    """Margins on top of what the database no longer needs."""
    dry_run: StrictBool = False
    """Plans and reports, and deletes nothing."""

    def selects(self, topic: str) -> bool:
        """Whether a run looks at this topic of the pool."""
        return matches_any(topic, self.topics)
