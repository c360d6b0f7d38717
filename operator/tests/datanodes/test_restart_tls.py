"""Restarts of a database behind TLS: maintenance is switched with what the Secrets hold at that moment."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.rollout import RollStage
from seawall.controllers.datanodes import RestartController
from seawall.domain.errors import OutsideUnavailable
from tests.datanodes.test_restart import ALL
from tests.worlds.restart_world import DATABASE, NAMESPACE, WAL, World

CA = Key(NAMESPACE, "ca")
BEHIND_TLS = {**DATABASE, "frontend": "https://frontend:4000", "tls": {"caSecretRef": {"name": "ca"}}}


def behind_tls() -> World:
    """A database whose restart is asked for."""
    world = World()
    world.kube.secrets[CA] = {"ca.crt": b"a CA"}
    world.apply(greptimedb=BEHIND_TLS)
    world.settle()
    world.annotate(restart="monday")
    return world


def test_a_database_behind_tls_is_restarted() -> None:
    world = behind_tls()
    world.settle()
    assert world.restart().stage is RollStage.COMPLETED
    assert sorted(world.went) == ALL
    assert world.in_maintenance() == []


def test_nobody_is_restarted_while_a_secret_of_its_tls_is_gone_and_all_goes_on_when_it_is_back() -> None:
    world = behind_tls()
    world.settle(until=lambda: world.restart().stage is RollStage.MAINTENANCE and world.data_plane.maintenance)
    went = list(world.went)
    secret = world.kube.secrets.pop(CA)
    process = world.process()
    for _ in range(20):
        process.tick(WAL)
        world.pass_time(timedelta(seconds=15))
    assert world.went == went
    assert world.data_plane.maintenance, "it was asked of nobody"
    controller = cast("RestartController", process.controller)
    with pytest.raises(OutsideUnavailable, match="Secret ca does not exist"):
        controller.observer.maintenance_of(world.cluster(), DATABASE["metasrv"]).set_maintenance(enabled=False)
    world.kube.secrets[CA] = secret
    world.settle()
    assert world.restart().stage is RollStage.COMPLETED
    assert world.in_maintenance() == []
