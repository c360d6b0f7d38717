"""A watch that is deaf, to one kind or to all: what it does not tell of is looked at all the same; it is replaced."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seawall.api.meta import Key
from seawall.api.resource import AnyResource
from seawall.domain.errors import Forbidden, OutsideUnavailable
from seawall.domain.times import WATCH_DEAF_SECONDS, WATCH_LIST_SECONDS
from seawall.handlers import watch
from seawall.handlers.event_filter import EventFilter, Subject
from seawall.handlers.operator import Operator
from seawall.handlers.unheard import Unheard
from seawall.handlers.watch import Watcher
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

RESYNC = 60.0
RUN = Subject("WALPurge", Key("db", "run"))
WAL = Subject("WALCluster", Key("db", "wal"))
Metadata = dict[str, Any]


@dataclass
class World:
    """An API server, what the watch has told of it, and who leads.

    Attributes:
        there: kind → the metadata of its objects.
        refused: kind → what a list of it is answered with.
        done: what the process did, in its order.
    """

    there: dict[str, list[Metadata]] = field(default_factory=dict)
    refused: dict[str, Exception] = field(default_factory=dict)
    leads: bool = True
    now: float = 0.0
    done: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.heard = EventFilter()
        self.unheard = Unheard(self._list, self.heard.has_heard, lambda: self.now)
        self.process = SimpleNamespace(
            _lease=SimpleNamespace(is_leader=lambda: self.leads),
            _unheard=self.unheard,
            _watcher=self._watcher("first"),
            _telemetry=SimpleNamespace(begin_to_watch_anew=lambda kinds: self.done.append(("deaf", *kinds))),
            _wake_from_watcher=self.done.append,
        )

    def _watcher(self, name: str) -> Any:
        def note(what: str) -> Any:
            return lambda: self.done.append(f"{name} {what}")

        return SimpleNamespace(stop=note("stops"), start=note("starts"), successor=lambda: self._watcher("second"))

    def _list(self, resource: type[AnyResource]) -> list[Metadata]:
        kind = resource.KIND.kind
        if kind in self.refused:
            raise self.refused[kind]
        return self.there.get(kind, [])

    def make(self, subject: Subject, *, tells: bool, **more: object) -> None:
        """An object is made, or changed; the watch tells of it, or not."""
        at = {"namespace": subject.key.namespace, "name": subject.key.name, "uid": "1", "generation": 1, **more}
        self.there[subject.kind] = [at]
        if tells:
            self.heard.wakes(subject.kind, {"metadata": at}, deleted=False)

    def resync(self, times: int = 1) -> list[object]:
        """So many resyncs; what the process did in the last one."""
        for _ in range(times):
            self.done.clear()
            asyncio.run(Operator._wake_unheard(cast("Operator", self.process)))
            self.now += RESYNC
        return self.done


def test_what_no_watch_told_of_is_woken_by_the_next_resync() -> None:
    world = World()
    world.make(WAL, tells=True)
    world.make(RUN, tells=False)
    assert world.resync() == [RUN]
    world.make(RUN, tells=True)
    assert world.resync() == []


@pytest.mark.parametrize(
    "change",
    [
        {"generation": 2},
        {"uid": "2"},
        {"deletionTimestamp": "2026-12-01T03:00:00Z", "finalizers": ["seawall.dev/topics"]},
        {"annotations": {"seawall.dev/stop-deletes": "incident 7"}},
    ],
)
def test_an_edit_that_no_watch_told_of_is_woken_and_another_ones_annotation_is_none(change: Mapping[str, Any]) -> None:
    world = World()
    world.make(WAL, tells=True)
    world.make(WAL, tells=False, annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"})
    assert world.resync() == []
    world.make(WAL, tells=False, **change)
    assert world.resync() == [WAL]
    assert [each.family for each in world.unheard.find().unheard] == [WAL.key]


def test_a_kind_that_cannot_be_listed_is_told_once_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    world = World(refused={"WALHold": Forbidden("walholds is forbidden")})
    world.make(RUN, tells=False)
    with caplog.at_level(logging.WARNING, "seawall.handlers.unheard"):
        assert world.resync(2) == [RUN]
        world.make(RUN, tells=True)
        assert caplog.messages == ["whether the watch tells of each WALHold is not known: walholds is forbidden"]
        world.refused["WALHold"] = OutsideUnavailable("no answer")
        world.resync()
        world.refused.clear()
        world.resync()
        world.refused["WALHold"] = OutsideUnavailable("no answer")
        world.resync()
    assert [each.rpartition(": ")[2] for each in caplog.messages[1:]] == ["no answer", "no answer"]


def test_a_watch_that_stays_deaf_is_replaced_and_the_new_one_has_its_time() -> None:
    world = World()
    world.make(RUN, tells=False)
    assert world.resync(2) == [RUN]
    replaced = [RUN, ("deaf", "WALPurge"), "first stops", "second starts"]
    assert world.resync() == replaced, "after WATCH_DEAF_SECONDS"
    assert world.resync(2) == [RUN]
    assert world.resync() == [*replaced[:2], "second stops", "second starts"]


def test_a_kind_that_cannot_be_listed_for_a_moment_is_deaf_as_long_as_before() -> None:
    world = World()
    world.make(RUN, tells=False)
    world.resync()
    world.refused["WALPurge"] = OutsideUnavailable("no answer")
    assert "first stops" not in world.resync(5), "the watch may have told of it meanwhile"
    world.refused.clear()
    assert "first stops" in world.resync()


def test_what_changes_while_it_is_listed_is_no_sign_that_the_watch_is_deaf() -> None:
    world = World()
    for generation in range(10):
        world.make(RUN, tells=False, generation=generation)
        assert world.resync() == [RUN]


def test_who_does_not_lead_lists_nothing_and_begins_anew_when_it_leads() -> None:
    world = World()
    world.make(RUN, tells=False)
    world.resync(2)
    world.leads = False
    assert world.resync(5) == []
    world.leads = True
    for _ in range(2):
        assert world.resync() == [RUN]


def test_a_watch_that_begins_anew_knows_what_the_one_before_has_heard() -> None:
    first = Watcher((), lambda _: None)
    metadata = {"namespace": "db", "name": "wal", "uid": "1"}
    assert not first.has_heard("WALCluster", metadata)
    first._summary.wakes("WALCluster", {"metadata": metadata}, deleted=False)
    second = first.successor()
    assert second.has_heard("WALCluster", metadata)
    assert not second.has_ended()
    assert not second.is_watching()


def test_no_list_of_the_watch_hangs_for_minutes() -> None:
    assert watch._settings().networking.request_timeout == WATCH_LIST_SECONDS < WATCH_DEAF_SECONDS


def test_each_guard_is_missed() -> None:
    at_once = "for_ >= WATCH_DEAF_SECONDS"
    survivors = find_survivors(
        [
            (rewritten(Unheard, "find", at_once, "True"), test_what_no_watch_told_of_is_woken_by_the_next_resync),
            (
                rewritten(Unheard, "find", at_once, "False"),
                test_a_watch_that_stays_deaf_is_replaced_and_the_new_one_has_its_time,
            ),
            (
                rewritten(Unheard, "find", "subject.kind in listed", "True"),
                test_a_kind_that_cannot_be_listed_for_a_moment_is_deaf_as_long_as_before,
            ),
            (
                rewritten(Unheard, "_compare", "before.get(state, now)", "now"),
                test_a_watch_that_stays_deaf_is_replaced_and_the_new_one_has_its_time,
            ),
            (
                rewritten(EventFilter, "has_heard", " and before.own == fingerprint(metadata)", ""),
                lambda: test_an_edit_that_no_watch_told_of_is_woken_and_another_ones_annotation_is_none(
                    {"generation": 2}
                ),
            ),
            (
                rewritten(Operator, "_wake_unheard", "self._lease.is_leader()", "True"),
                test_who_does_not_lead_lists_nothing_and_begins_anew_when_it_leads,
            ),
            (
                rewritten(Operator, "_wake_unheard", "self._unheard.forget()\n        return", "return"),
                test_who_does_not_lead_lists_nothing_and_begins_anew_when_it_leads,
            ),
        ]
    )
    assert not survivors
