"""What people declare by annotations of a WALCluster, each for a while: dead regions, and topics that nobody needs.

<reason>@<expiry>             Grounds: seawall.dev/readopt, seawall.dev/override-restart-gate
<what>: <reason>@<expiry>     Declaration: seawall.dev/dead-regions, seawall.dev/purge-unused-topics

A dead region is in the metadata and nobody reports it, so it keeps its topic for ever. Declared dead it does not count
for what its topic still needs; for everything else (the identity fence, vanished regions, metadata that disagree) it
does. A declaration counts only while nothing contradicts it, see `dead_watch.py`; one that is contradicted by a report
leaves its topic alone, because the marker may have been announced beyond what that region needs. So does one that has
expired, as long as the annotation names the region, until that has flushed up to the marker.

It is about topics that no region writes to, and about no others: of those nothing says what is still needed. A region
that appears, is reported, or vanished a moment ago stops it at once. Such a topic goes up to where its log ended when a
run saw it, and one openGrace later; holds, margins and the identity fence count as ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b

from seawall.api.meta import DEAD_ANNOTATION, UNUSED_ANNOTATION
from seawall.api.v1alpha1.purge_template import matches_any
from seawall.domain.clocks import TrustedTime
from seawall.domain.text import few
from seawall.domain.times import DECLARATION_LONGEST, DECLARATION_SKEW

_REASON_AND_EXPIRY = r"(?P<reason>.*\S.*)@(?P<expires>[^@]+)"
_GROUNDS = re.compile(_REASON_AND_EXPIRY, re.DOTALL)
_DECLARATION = re.compile(rf"(?P<what>[^:]+):{_REASON_AND_EXPIRY}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why a person answers for it, and until when."""

    reason: str
    expires: datetime

    @property
    def until_and_why(self) -> str:
        """For people."""
        until = self.expires.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"by annotation until {until} ({self.reason})"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is declared (as it was written, one by one), and on which grounds."""

    what: tuple[str, ...]
    grounds: Grounds


def parse_grounds(annotation: str, text: str, time: TrustedTime | None, *, example: str) -> Grounds | str:
    """The grounds, or the sentence that says why the annotation counts for nothing now.

    Args:
        annotation: its name.
        text: its value.
        time: what has expired by either clock, or expires too late, counts for nothing, and neither does anything
            while the clocks disagree. None: the caller compares the expiry by itself.
        example: a value that is right.
    """
    found = _GROUNDS.fullmatch(text.strip())
    if found is None:
        return f"{annotation} must be <reason>@<expiry>, such as {example}"
    return _read_grounds(annotation, found, time)


def parse_declaration(annotation: str, text: str, time: TrustedTime, *, what: str, example: str) -> Declaration | str:
    """The declaration, or the sentence that says why the annotation declares nothing now.

    Args:
        annotation: its name.
        text: its value.
        time: what has expired by either clock, or expires too late, declares nothing, and neither does anything while
            the clocks disagree.
        what: what is declared, as a person is told to write it.
        example: a value that is right.
    """
    found = _DECLARATION.fullmatch(text.strip())
    if found is None:
        return f"{annotation} must be <{what}>: <reason>@<expiry>, such as {example}"
    grounds = _read_grounds(annotation, found, time)
    if isinstance(grounds, str):
        return grounds
    return Declaration(tuple(one.strip() for one in found["what"].split(",")), grounds)


def _read_grounds(annotation: str, found: re.Match[str], time: TrustedTime | None) -> Grounds | str:
    """The grounds, or the sentence that says what is wrong with the expiry."""
    written = found["expires"].strip()
    try:
        expires = datetime.fromisoformat(written)
    except ValueError:
        return f"{annotation}: {written!r} is no time such as 2026-12-24T18:00:00Z"
    if expires.tzinfo is None:
        return f"{annotation}: {written!r} has no time zone"
    problem = None if time is None else _why_not_now(annotation, expires, written, time)
    if problem is not None:
        return problem
    return Grounds(found["reason"].strip(), expires)


def _why_not_now(annotation: str, expires: datetime, written: str, time: TrustedTime) -> str | None:
    now = time.latest
    if now is None:
        return doubtful(annotation, time)
    if expires <= now:
        return f"{annotation} has expired: {_AFTER_EXPIRY.get(annotation, 'remove it')}"
    if is_too_far(expires, now):
        return f"{annotation}: the expiry {written} is more than 24 hours ahead"
    return None


_AFTER_EXPIRY = {DEAD_ANNOTATION: "remove it, once those of its regions that are back have flushed"}


def is_too_far(expires: datetime, now: datetime) -> bool:
    """Whether an expiry is further ahead than any may be, whoever's clock it was written by."""
    return expires - now > DECLARATION_LONGEST + DECLARATION_SKEW


def doubtful(annotation: str, time: TrustedTime) -> str:
    """That an annotation counts for nothing while two clocks disagree."""
    return f"{annotation} does not count, as it may have expired: {time.problem}"


_REGION_ID = re.compile(r"[0-9]{1,20}")
_BEYOND = 2**64
_EXAMPLE_OF_DEAD = "4398046511104, 4398046511105: disk of datanode 3 lost@2026-12-24T18:00:00Z"
_NAMED = 8


@dataclass(frozen=True, slots=True)
class DeadRegions:
    """The regions that a person declared dead, why, and until when."""

    regions: frozenset[int]
    grounds: Grounds

    def sentence(self, regions: Iterable[int]) -> str:
        """For people: that some of them are declared dead. Of others it is another one: all are in its digest."""
        ids = sorted(regions)
        are, listed = _are(ids)
        digest = f" (digest {_digest(ids)})" if len(ids) > _NAMED else ""
        return f"{listed}{digest} {are} declared dead {self.grounds.until_and_why}"


def parse_dead(annotation: str, time: TrustedTime) -> DeadRegions | str:
    """The declaration, or the sentence that says why the annotation declares nothing now."""
    found = parse_declaration(DEAD_ANNOTATION, annotation, time, what="region ids", example=_EXAMPLE_OF_DEAD)
    if isinstance(found, str):
        return found
    wrong = next((one for one in found.what if not is_region_id(one)), None)
    if wrong is not None:
        return f"{DEAD_ANNOTATION}: {wrong!r} is no region id"
    return DeadRegions(frozenset(map(int, found.what)), found.grounds)


def named_dead(annotation: str) -> frozenset[int]:
    """The regions that it names, whether it declares anything or not: a run may have relied on it while it did."""
    named = (one.strip() for one in annotation.partition(":")[0].split(","))
    return frozenset(int(one) for one in named if is_region_id(one))


def unknown_problem(regions: Iterable[int]) -> str:
    """That these are nobody's here."""
    are, listed = _are(regions)
    return f"{DEAD_ANNOTATION}: {listed} {are} in no topic of this pool, nothing is declared by that"


def contradicted_problem(regions: Iterable[int], fact: str) -> str:
    """That a fact contradicts the declaration of these, or of the first and so many more."""
    return f"{DEAD_ANNOTATION}: {_first_of(regions)} is declared dead and {fact}: the declaration is ignored"


def lapsed_problem(regions: Iterable[int]) -> str:
    """That these, or the first and so many more, are back behind the marker, and named by what declares nothing now."""
    return (
        f"{DEAD_ANNOTATION}: {_first_of(regions)} was declared dead, reports again and has flushed less than the "
        "marker: flush it before you take it out of the annotation"
    )


def _first_of(regions: Iterable[int]) -> str:
    first, *others = sorted(regions)
    return f"region {first} (and {len(others)} more)" if others else f"region {first}"


def is_region_id(text: str) -> bool:
    """Whether it is an id of a region: a number of 64 bits."""
    return _REGION_ID.fullmatch(text) is not None and int(text) < _BEYOND


def _digest(ids: Iterable[int]) -> str:
    return blake2b(" ".join(map(str, ids)).encode(), digest_size=8).hexdigest()


def _are(regions: Iterable[int]) -> tuple[str, str]:
    """The verb, and the regions: a few by their ids."""
    ids = sorted(regions)
    if len(ids) == 1:
        return "is", f"region {ids[0]}"
    return "are", f"regions {few(ids, _NAMED)}"


_GLOB = re.compile(r"[a-zA-Z0-9._*?-]{1,249}")
_EXAMPLE_OF_UNUSED = "wal_7, wal_9: table dropped in May@2026-12-24T18:00:00Z"


def is_glob(text: str) -> bool:
    """Whether it is a name of a topic, or a pattern of one with * and ?."""
    return _GLOB.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Unused:
    """The topics that a person declared unused, why, and until when."""

    topics: tuple[str, ...]
    grounds: Grounds

    def is_about(self, topic: str) -> bool:
        """Whether a topic is named, or matched by a glob."""
        return matches_any(topic, self.topics)

    @property
    def sentence(self) -> str:
        """For people."""
        return f"declared unused {self.grounds.until_and_why}"


def parse_unused(annotation: str, time: TrustedTime) -> Unused | str:
    """The declaration, or the sentence that says why the annotation declares nothing now."""
    found = parse_declaration(UNUSED_ANNOTATION, annotation, time, what="topics", example=_EXAMPLE_OF_UNUSED)
    if isinstance(found, str):
        return found
    wrong = next((topic for topic in found.what if not is_glob(topic)), None)
    if wrong is not None:
        return f"{UNUSED_ANNOTATION}: {wrong!r} is no name of a topic, nor a glob"
    return Unused(found.what, found.grounds)
