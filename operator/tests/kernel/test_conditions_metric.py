"""seawall_object_condition: what an object's conditions say, for as long as there is the object."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from seawall.api.meta import Key
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.kinds import RESOURCES
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.controllers.policy import WALPurgePolicyController
from seawall.domain.errors import Forbidden, OutsideUnavailable, Refused
from seawall.domain.times import CONDITIONS_UNREAD_SECONDS
from seawall.handlers.metrics.conditions import ConditionTelemetry
from seawall.handlers.metrics.telemetry import Telemetry
from seawall.reconciler import Outcome, Reconciler
from tests.domain.purges import NOON
from tests.fakes.kube import FakeKube
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.meters import FakeMeters
from tests.support.clock import Time
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

POLICY, WAL = Key("db", "nightly"), Key("db", "wal")
KIND = WALPurgePolicy.KIND.kind
CLUSTER = {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}}


class Bed:
    """A policy, its controller, and what is published of it."""

    def __init__(self, kind: str = KIND) -> None:
        self.passed = 0.0
        self.telemetry = Telemetry(per_topic=False, monotonic=lambda: self.passed)
        self.kube = FakeKube(lambda: NOON)
        self.leads = True
        self.time = Time(NOON)
        controller = WALPurgePolicyController(self.kube, self.time, FakeLedgers(), FakeMeters())
        self.tick = self.telemetry.measured(kind, Reconciler(controller, lambda: self.leads).tick)

    def published(self) -> dict[str, tuple[str, str]]:
        """Type → status and reason; each once."""
        samples = [
            sample.labels
            for metric in self.telemetry.registry.collect()
            for sample in metric.samples
            if sample.name == "seawall_object_condition" and sample.value == 1
        ]
        assert all((at["kind"], at["namespace"], at["name"]) == (KIND, *_of(POLICY)) for at in samples)
        found = {at["type"]: (at["status"], at["reason"]) for at in samples}
        assert len(found) == len(samples)
        return found

    def written(self) -> dict[str, tuple[str, str]]:
        """What stands in the status."""
        found = self.kube.get(WALPurgePolicy, POLICY)
        assert found is not None
        return {at.type: (at.status, at.reason) for at in found.status.conditions}

    def declare(self, **spec: object) -> None:
        self.kube.apply(POLICY, {"clusterRef": {"name": "wal"}, **spec}, kind=WALPurgePolicy)


def _of(key: Key) -> tuple[str, str]:
    return key.namespace, key.name


def test_a_condition_is_published_by_the_tick_that_writes_it_and_has_one_series() -> None:
    bed = Bed()
    bed.declare(interval="10m")
    assert bed.tick(POLICY).outcome is Outcome.RECORDED
    assert bed.published() == bed.written()
    assert bed.published()["Stalled"] == ("True", "ClusterMissing")
    bed.kube.apply(WAL, CLUSTER)
    bed.tick(POLICY)
    assert bed.published() == bed.written()
    assert bed.published()["Stalled"] == ("False", "Scheduled")


def test_it_is_published_by_a_new_leader_that_has_nothing_to_write() -> None:
    bed = Bed()
    bed.declare(interval="10m")
    bed.tick(POLICY)
    bed.telemetry.lead(leading=False)
    assert bed.published() == {}
    bed.telemetry.lead(leading=True)
    assert bed.tick(POLICY).outcome is Outcome.WAITING
    assert bed.published() == bed.written()


def test_an_object_that_is_gone_has_no_series() -> None:
    bed = Bed()
    bed.declare(interval="10m")
    bed.tick(POLICY)
    bed.kube.remove(POLICY, WALPurgePolicy)
    assert bed.tick(POLICY).outcome is Outcome.GONE
    assert bed.published() == {}


def test_who_does_not_lead_publishes_nothing() -> None:
    bed = Bed()
    bed.leads = False
    bed.declare(interval="10m")
    assert bed.tick(POLICY).outcome is Outcome.NOT_LEADER
    assert bed.published() == {}


def test_a_tick_that_fails_leaves_what_was_published(monkeypatch: pytest.MonkeyPatch) -> None:
    bed = Bed()
    bed.declare(interval="10m")
    bed.tick(POLICY)
    before = bed.published()

    def silent(*_: object) -> None:
        raise OutsideUnavailable("the API server does not answer")

    monkeypatch.setattr(bed.kube, "get", silent)
    assert bed.tick(POLICY).outcome is Outcome.ERROR
    assert bed.published() == before != {}


class Unreadable(Bed):
    """A policy that has been read, and then is not: its Role is gone, say."""

    def __init__(self) -> None:
        super().__init__()
        self.declare(interval="10m")
        self.tick(POLICY)
        self._honest = self.kube.get
        self.read(may=False)

    def read(self, *, may: bool) -> None:
        """From now on it may be read, or not."""

        def forbidden(*_: object) -> None:
            raise Forbidden("walpurgepolicies.seawall.dev is forbidden")

        setattr(self.kube, "get", self._honest if may else forbidden)  # noqa: B010 - an instance's own

    def types(self, *, after: float) -> set[str]:
        """What is published after a tick, so many seconds after the one before."""
        self.passed += after
        self.tick(POLICY)
        return set(self.published())


def what_nobody_can_read_is_published_for_a_while() -> None:
    bed = Unreadable()
    assert bed.types(after=0)
    assert bed.types(after=CONDITIONS_UNREAD_SECONDS - 1)
    assert bed.types(after=1) == set()
    bed.read(may=True)
    assert bed.types(after=1)
    assert bed.published() == bed.written()


def each_time_that_it_is_read_it_begins_anew() -> None:
    bed = Unreadable()
    for _ in range(4):
        bed.read(may=False)
        assert bed.types(after=CONDITIONS_UNREAD_SECONDS / 2)
        bed.read(may=True)
        assert bed.types(after=CONDITIONS_UNREAD_SECONDS / 2)


def what_was_read_is_published_however_long_writes_fail() -> None:
    bed = Unreadable()
    bed.read(may=True)
    bed.declare(interval="11m")

    def refused(*_: object) -> None:
        raise Refused("a quota")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bed.kube, "replace_status", refused)
        bed.kube.apply(WAL, CLUSTER)
        assert bed.tick(POLICY).outcome is Outcome.ERROR
        assert bed.types(after=2 * CONDITIONS_UNREAD_SECONDS)
        assert bed.types(after=2 * CONDITIONS_UNREAD_SECONDS)


@pytest.mark.parametrize(
    "story",
    [
        what_nobody_can_read_is_published_for_a_while,
        each_time_that_it_is_read_it_begins_anew,
        what_was_read_is_published_however_long_writes_fail,
    ],
    ids=lambda story: story.__name__,
)
def test_an_object_that_cannot_be_read_any_more_has_no_series_for_long(story: Callable[[], None]) -> None:
    story()


def test_no_guard_of_that_can_be_taken_away() -> None:
    mutants: tuple[Mutant, ...] = (
        (
            rewritten(ConditionTelemetry, "miss", "self.measure(kind, key, ())", "pass"),
            what_nobody_can_read_is_published_for_a_while,
        ),
        (
            rewritten(ConditionTelemetry, "miss", "now - since >= CONDITIONS_UNREAD_SECONDS", "True"),
            what_nobody_can_read_is_published_for_a_while,
        ),
        (
            rewritten(ConditionTelemetry, "measure", "self._unread.pop((kind, key), None)", "pass"),
            each_time_that_it_is_read_it_begins_anew,
        ),
        (
            rewritten(Reconciler, "tick", "is_unread = False", "pass"),
            what_was_read_is_published_however_long_writes_fail,
        ),
    )
    assert find_survivors(mutants) == []


def test_a_controller_beside_that_of_the_kind_publishes_none() -> None:
    """It would do so after the other one found the object gone."""
    bed = Bed("Brokers")
    bed.declare(interval="10m")
    assert bed.tick(POLICY).conditions
    assert bed.published() == {}


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each.KIND.kind)
def test_every_kind_has_conditions_to_publish(resource: type[AnyResource]) -> None:
    assert resource.KIND.status.model_fields["conditions"].is_required() is False


def test_an_action_that_is_refused_is_published_as_the_condition_that_it_becomes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bed = Bed()
    bed.kube.apply(WAL, CLUSTER)
    bed.declare(interval="10m")
    bed.tick(POLICY)

    def refuse(*_: object, **__: object) -> None:
        raise Refused("a quota")

    monkeypatch.setattr(bed.kube, "create", refuse)
    bed.time.time += timedelta(minutes=11)
    assert bed.tick(POLICY).outcome is Outcome.RECORDED
    assert bed.tick(POLICY).outcome is Outcome.FAILED
    assert bed.published() == bed.written()
    assert bed.published()["Stalled"] == ("True", "ChangeRefused")
