"""`seawall.dev/dead-regions: <region ids>: <reason>@<expiry>`: a person says that nobody has these regions any more.

A dead region is in the metadata and nobody reports it, so it keeps its topic for ever. Declared dead it does not count
for what its topic still needs; for everything else (the identity fence, vanished regions, metadata that disagree) it
does. A declaration counts only while nothing contradicts it, see `dead_watch.py`; one that is contradicted by a report
leaves its topic alone, because the marker may have been announced beyond what that region needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from seawall.api.meta import DEAD_ANNOTATION
from seawall.domain.clocks import TrustedTime
from seawall.domain.ledger.declaration import Grounds, parse_declaration

_REGION_ID = re.compile(r"[0-9]{1,20}")
_BEYOND = 2**64
_EXAMPLE = "4398046511104, 4398046511105: disk of datanode 3 lost@2026-12-24T18:00:00Z"
_NAMED = 8


@dataclass(frozen=True, slots=True)
class DeadRegions:
    """The regions that a person declared dead, why, and until when."""

    regions: frozenset[int]
    grounds: Grounds

    def sentence(self, regions: Iterable[int]) -> str:
        """For people: that some of them are declared dead."""
        are, listed = _are(regions)
        return f"{listed} {are} declared dead {self.grounds.until_and_why}"


def parse_dead(annotation: str, time: TrustedTime) -> DeadRegions | str:
    """The declaration, or the sentence that says why the annotation declares nothing now."""
    found = parse_declaration(DEAD_ANNOTATION, annotation, time, what="region ids", example=_EXAMPLE)
    if isinstance(found, str):
        return found
    wrong = next((one for one in found.what if not _is_region_id(one)), None)
    if wrong is not None:
        return f"{DEAD_ANNOTATION}: {wrong!r} is no region id"
    return DeadRegions(frozenset(map(int, found.what)), found.grounds)


def unknown_problem(regions: Iterable[int]) -> str:
    """That these are nobody's here."""
    are, listed = _are(regions)
    return f"{DEAD_ANNOTATION}: {listed} {are} in no topic of this pool, nothing is declared by that"


def contradicted_problem(regions: Iterable[int], fact: str) -> str:
    """That a fact contradicts the declaration of these, or of the first and so many more."""
    first, *others = sorted(regions)
    more = f" (and {len(others)} more)" if others else ""
    return f"{DEAD_ANNOTATION}: region {first}{more} is declared dead and {fact}: the declaration is ignored"


def _is_region_id(text: str) -> bool:
    return _REGION_ID.fullmatch(text) is not None and int(text) < _BEYOND


def _are(regions: Iterable[int]) -> tuple[str, str]:
    """The verb, and the regions: a few by their ids."""
    ids = sorted(regions)
    if len(ids) == 1:
        return "is", f"region {ids[0]}"
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return "are", f"regions {', '.join(map(str, ids[:_NAMED]))}{more}"
