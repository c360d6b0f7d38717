"""The invariants of purges that can be seen from outside, looked at again and again while faults go on.

What is read later may allow more, never less: log starts and markers are read first, then what the database has
flushed, then the intents and holds, then what was acknowledged. So a change in between raises no alarm.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.commands import CommandFailed, Object
from seawall_e2e.intents import intents_of
from seawall_e2e.objects import items
from seawall_e2e.site import Site

PAUSE = 1.5
"""Seconds between two samples."""
SHOWN = 20
"""So many violations are told."""
GRANTED = frozenset({"Active", "Extended", "AtRisk"})


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen at about one time; offsets by topic."""

    log_starts: Mapping[str, int]
    markers: Mapping[str, int]
    intents: Mapping[str, int]
    granted: Mapping[str, Mapping[str, int]]
    """Hold → topic → what it was granted, of the holds that are not over."""
    needed: Sequence[Mapping[str, Any]]
    """Of each region, the oldest acknowledged entry that is only in its log: `topic`, `entry_id`, `region_id`."""
    disaster: str | None = None
    """What WALIntact says when it is False."""


def violations(before: Sample | None, now: Sample) -> Iterator[str]:
    """What must not be, in words."""
    yield from _needed(now)
    yield from _promised(now)
    for what, old, new in _what_only_rises(before, now):
        for topic in old.keys() & new.keys():
            if new[topic] < old[topic]:
                yield f"I2: the {what} of {topic} went back from {old[topic]} to {new[topic]}"
    if now.disaster is not None:
        yield f"WALIntact is False: {now.disaster}"


def _needed(now: Sample) -> Iterator[str]:
    for entry in now.needed:
        topic, offset = str(entry["topic"]), int(entry["entry_id"])
        if offset < now.log_starts.get(topic, 0):
            yield f"I1: {topic} starts at {now.log_starts[topic]}, region {entry['region_id']} needs {offset}"
        if offset <= now.markers.get(topic, -1):
            yield f"I1: the marker of {topic} is {now.markers[topic]}, region {entry['region_id']} needs {offset}"


def _promised(now: Sample) -> Iterator[str]:
    for topic, start in now.log_starts.items():
        if start > now.intents.get(topic, start):
            yield f"{topic} starts at {start}, and the intent was {now.intents[topic]}"
        for hold, topics in now.granted.items():
            if start > topics.get(topic, start):
                yield f"hold {hold} was granted {topics[topic]} of {topic}, which starts at {start}"


def _what_only_rises(before: Sample | None, now: Sample) -> Iterator[tuple[str, Mapping[str, int], Mapping[str, int]]]:
    """Log starts are not among it: they may go back when a broker dies."""
    if before is not None:
        yield "marker", before.markers, now.markers
        yield "intent", before.intents, now.intents


def read_granted(objects: Sequence[Object]) -> dict[str, dict[str, int]]:
    """Hold → topic → offset, of the holds that were granted and are neither over nor being deleted."""
    return {
        each["metadata"]["name"]: {
            topic: offset for topic, offset in each["status"].get("granted", {}).items() if isinstance(offset, int)
        }
        for each in objects
        if each["kind"] == "WALHold"
        and each.get("status", {}).get("state") in GRANTED
        and "deletionTimestamp" not in each["metadata"]
    }


@dataclass(slots=True)
class Excuse:
    """For a while, something may be that must not be otherwise."""

    _turns: int = 0

    def turn(self) -> None:
        """It begins, or ends."""
        self._turns += 1

    def of_a_look(self) -> Callable[[], bool]:
        """When a look is over, whether any of it was in such a time, which may lie in the middle of a long one."""
        began = self._turns
        return lambda: began % 2 == 1 or self._turns != began


@dataclass(slots=True)
class InvariantSampler:
    """Samples all the time, in a thread, as long as the `with` lasts; `check` and its end raise what was found.

    Attributes:
        samples: how often all of it was read.
        unanswered: how often something did not answer, because of a fault.
        violations: what must not be, in words.
        largest: the greatest number of regions of which something was needed, and of holds that were granted.
    """

    site: Site
    rows: AckedRows
    samples: int = 0
    unanswered: int = 0
    violations: list[str] = field(default_factory=list)
    largest: Counter[str] = field(default_factory=Counter)
    _over: threading.Event = field(default_factory=threading.Event)
    _excuse: Excuse = field(default_factory=Excuse)
    _thread: threading.Thread | None = None
    _broken: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, _: object, failed: BaseException | None, *__: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if failed is None:
            self.check()
        elif self.violations:  # it may be why
            failed.add_note("invariants that were broken: " + "\n".join(self.violations[:SHOWN]))

    @contextmanager
    def markers_may_fall(self) -> Iterator[None]:
        """For as long as it lasts the metadata may be those of an older time, and Seawall may say so."""
        self._excuse.turn()
        try:
            yield
        finally:
            self._excuse.turn()

    def check(self) -> None:
        """Raises AssertionError when something was seen that must not be."""
        if self._broken is not None:
            raise AssertionError(f"the sampler ended: {self._broken!r}") from self._broken
        if self.violations:
            raise AssertionError("\n".join(self.violations[:SHOWN]))

    def _run(self) -> None:
        before: Sample | None = None
        try:
            with self.site.toolbox.sampling(f"{self.site.prefix}_", self.site.namespace) as sample:
                while not self._over.wait(PAUSE):
                    is_excused = self._excuse.of_a_look()
                    now = self._completed(sample)
                    if is_excused():  # also of the next one, what was seen before is of another time
                        before = None
                    if now is None:
                        self.unanswered += 1
                        continue
                    self.samples += 1
                    self.largest |= Counter(needed=len(now.needed), granted=len(now.granted))
                    self.violations += violations(before, replace(now, disaster=None) if is_excused() else now)
                    before = None if is_excused() else now
        except BaseException as error:  # noqa: BLE001 - raised by `check`
            self._broken = error

    def _completed(self, sample: Callable[[], Mapping[str, Mapping[str, int]] | None]) -> Sample | None:
        """What the toolbox reads, and what is read only then: intents, holds and acknowledged rows."""
        try:
            read = sample()
            if read is None:
                return None
            objects = items(self.site.namespace, "configmaps", "walholds", "walclusters")
            needed = self.rows.needed(read["flushed"])
        except CommandFailed:
            return None
        intents = intents_of(objects, read["starts"])
        granted, disaster = read_granted(objects), _disaster(objects)
        return Sample(read["starts"], read["markers"], intents, granted, needed, disaster)


def _disaster(objects: Sequence[Object]) -> str | None:
    conditions = [
        each for found in objects if found["kind"] == "WALCluster" for each in found["status"].get("conditions", ())
    ]
    broken = [each for each in conditions if (each["type"], each["status"]) == ("WALIntact", "False")]
    return f"{broken[0]['reason']}: {broken[0]['message']}" if broken else None
