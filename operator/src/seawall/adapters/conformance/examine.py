"""All checks, one after another: what passed, what is broken, what could not be examined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from seawall.adapters.conformance import reading, writing
from seawall.adapters.conformance.server import Broken, Server, Skipped
from seawall.domain.dataplane.connection import PartRefused, PartUnavailable

Check = Callable[[Server], None]

CHECKS: tuple[Check, ...] = (
    reading.description_fits,
    reading.can_be_purged,
    reading.identity_stays,
    reading.reports_fit,
    reading.reports_go_on,
    reading.metadata_fit,
    reading.metadata_stay,
    reading.routes_have_revisions,
    reading.one_database,
    reading.regions_are_mapped,
    reading.followers_report,
    reading.topics_are_the_pools,
    reading.starts_are_known,
    reading.markers_are_known,
    reading.head_is_not_behind,
    reading.errors_are_problems,
    writing.flush_flushes,
    writing.claims_compare,
    writing.markers_compare,
    writing.markers_move,
    writing.maintenance_stays,
)
"""Those that change something come last, and markers move after it was shown that they do not when they must not."""


class Result(StrEnum):
    """What a check ended with."""

    PASSED = "passed"
    BROKEN = "BROKEN"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what must be so, and whether it is."""

    check: str
    result: Result
    promise: str
    detail: str = ""


def examine(server: Server) -> Iterator[Finding]:
    """The findings, each when it is there."""
    for check in CHECKS:
        name, promise = check.__name__.replace("_", " "), (check.__doc__ or "").strip()
        try:
            check(server)
        except (Broken, PartRefused, PartUnavailable) as broken:
            yield Finding(name, Result.BROKEN, promise, str(broken))
        except Skipped as skipped:
            yield Finding(name, Result.SKIPPED, promise, str(skipped))
        else:
            yield Finding(name, Result.PASSED, promise)
