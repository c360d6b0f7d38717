"""seawall_object_condition: what an object's conditions say, for as long as there is the object."""

from __future__ import annotations

from datetime import timedelta

import pytest

from seawall.api.meta import Key
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.kinds import RESOURCES
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.controllers.policy import WALPurgePolicyController
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.handlers.metrics.telemetry import Telemetry
from seawall.reconciler import Outcome, Reconciler
from tests.domain.purges import NOON
from tests.fakes.kube import FakeKube
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.meters import FakeMeters
from tests.support.clock import Time

POLICY, WAL = Key("db", "nightly"), Key("db", "wal")
KIND = WALPurgePolicy.KIND.kind
CLUSTER = {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}}


class Bed:
    """A policy, its controller, and what is published of it."""

    def __init__(self, kind: str = KIND) -> None:
        self.telemetry = Telemetry(per_topic=False)
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
