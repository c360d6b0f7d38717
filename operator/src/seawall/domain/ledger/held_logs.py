"""Which logs a hold was granted: a topic that was recreated since has another one.

A hold on named topics knows them by its grant. One on everything may be on 10,000, so it has their numbers beside the
digest of their ids: as `0-9999` that is short. So what was held is compared whether the pool has grown since or not,
and a pool that has grown is written down only if what was held before is as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from seawall.api.v1alpha1.hold import MAX_NUMBERS

MAX_TOPICS = 100_000
"""A pool has 10,000 topics at most."""


@dataclass(frozen=True, slots=True)
class LogIds:
    """Which logs were granted, small however many they are: a log that was recreated since has another id."""

    count: int
    digest: str
    """16 hexadecimal digits of their names and topic ids."""
    numbers: str | None = None
    """The numbers of the topics, `0-2,5`, of a grant on everything; None: by a version that did not write them, or as
    `_written` says."""

    @classmethod
    def of(cls, topic_ids: Mapping[str, str], *, everything: bool = False) -> LogIds:
        """Those of these topics."""
        listed = "\n".join(f"{name} {topic_ids[name]}" for name in sorted(topic_ids))
        digest = blake2b(listed.encode(), digest_size=8).hexdigest()
        return cls(len(topic_ids), digest, _written(topic_ids) if everything else None)

    def among(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of these names that were held; all, if nobody wrote down which."""
        if self.numbers is None:
            return tuple(names)
        held = _read(self.numbers)
        return tuple(name for name in names if _number(name) in held)

    def is_outgrown_by(self, now: LogIds) -> bool:
        """Whether more are held now, and all that were held before; or as many, and now it can be written which."""
        if self.numbers is None:
            return self.count < now.count or (self.count == now.count and now.numbers is not None)
        return now.numbers is not None and _read(self.numbers) < _read(now.numbers)


def _number(name: str) -> int | None:
    number = name.rpartition("_")[2]
    return int(number) if number.isascii() and number.isdecimal() else None


def _written(names: Iterable[str]) -> str | None:
    """None: there are none, not each has a number of its own, or they take too much room (a pool with many holes)."""
    numbers = [_number(name) for name in names]
    known = sorted({number for number in numbers if number is not None})
    if len(known) != len(numbers):
        return None
    ranges: list[list[int]] = []
    for number in known:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return text if text and len(text) <= MAX_NUMBERS else None


def _read(numbers: str) -> frozenset[int]:
    """More than any pool has were not written by us: none is known then."""
    parts = (part.partition("-") for part in numbers.split(",") if part)
    ranges = [range(int(first), int(last or first) + 1) for first, _, last in parts]
    return (
        frozenset(number for each in ranges for number in each) if sum(map(len, ranges)) <= MAX_TOPICS else frozenset()
    )
