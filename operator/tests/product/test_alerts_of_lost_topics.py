"""The alert of a WAL that is not intact, judged by promtool on what the operator itself publishes of a lost topic."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from seawall.controllers.ledger import LedgerWatch
from seawall.handlers.metrics.object_labels import OBJECT
from seawall.handlers.metrics.telemetry import Telemetry
from seawall.reconciler import Reconciler
from tests.cluster.test_lost_topics import BARE, assert_lost, lose, recorded
from tests.cluster.test_topic_deletion import controller
from tests.product.test_alerts import Story, judge, rules
from tests.product.test_chart import helm, render
from tests.worlds.purge_world import CLUSTER, WAL, World

__all__ = ["helm", "render", "rules"]  # fixtures
MINUTES = 2
TICKS = 8


class Scraped:
    """A process that manages topics and watches the ledger, and what Prometheus gets of it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.telemetry = Telemetry(per_topic=False)
        ledger = LedgerWatch(world.kube, world.observer(), lambda _: None, lambda _: None, self.telemetry.wal)
        reconcilers: dict[str, Reconciler[Any, Any, Any, Any]] = {
            "Ledger": Reconciler(ledger, may_write=lambda: True),
            "WALCluster": Reconciler(controller(world), may_write=lambda: True),
        }
        self.ticks = [self.telemetry.measured(kind, each.tick) for kind, each in reconcilers.items()]

    def series(self) -> Mapping[str, str]:
        """Of the WALCluster, after some ticks."""
        for _ in range(TICKS):
            for tick in self.ticks:
                tick(WAL)
            self.world.time.time += timedelta(seconds=10)
        found = {}
        for sample in (sample for metric in self.telemetry.registry.collect() for sample in metric.samples):
            if sample.name in {"seawall_object_condition", "seawall_wal_intact"}:
                own = ",".join(f'{name}="{value}"' for name, value in sample.labels.items() if name not in OBJECT)
                found[f"{sample.name}{{{own}}}"] = f"{sample.value:g}+0x{MINUTES}"
        return found


@pytest.mark.parametrize("spec", [CLUSTER, BARE], ids=["with a database", "without one"])
def test_a_lost_topic_raises_the_alert(
    rules: Mapping[str, dict[str, Any]], tmp_path: Path, spec: dict[str, Any]
) -> None:
    world = recorded()
    world.kube.apply(WAL, spec)
    scraped = Scraped(world)
    quiet = scraped.series()
    lose(world)
    lost = scraped.series()
    assert_lost(world)
    assert [value for name, value in lost.items() if name.startswith("seawall_wal_intact")] in ([], ["1+0x2"])
    rule, story = rules["SeawallWALNotIntact"], Story(lost, quiet, MINUTES, 0)
    assert not judge(rule, story, tmp_path)
    assert judge({**rule, "expr": "seawall_wal_intact == 0"}, story, tmp_path), "the ledger knows of no lost topic"
