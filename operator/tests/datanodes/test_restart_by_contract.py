"""Pods of a database that serves the contract restart as those of GreptimeDB do, if it has a switch of maintenance."""

from __future__ import annotations

from typing import NoReturn

import pytest

from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.datanodes.maintenance import by_hand
from seawall.domain.dataplane.connection import NotReached, PartRefused, contract_address
from tests.datanodes.test_restart import ALL
from tests.worlds.contract_world import PLAIN, said
from tests.worlds.restart_world import DATA_PLANE, DATABASE, World

URL = "http://queue:8080"
HTTP = {"http": {"url": URL}, "datanodes": DATA_PLANE["datanodes"]}


def queue() -> World:
    world = World(data_plane_spec=dict(HTTP))
    world.data_plane.wal = said(PLAIN)
    world.settle()
    world.annotate(restart="monday")
    return world


def test_all_restart_one_by_one_within_maintenance() -> None:
    world = queue()
    world.settle(until=lambda: world.restart().stage is RollStage.RESTARTING)
    lease = world.restart().maintenance
    assert lease is not None
    assert (lease.metasrv, lease.database) == (contract_address(URL), world.store.head().store_id)
    assert world.data_plane.maintenance
    world.settle()
    assert world.went == ALL
    assert not world.data_plane.maintenance
    assert world.restart().maintenance is None


def test_what_a_person_types_is_of_the_contract() -> None:
    world = queue()
    world.settle(until=lambda: world.restart().maintenance is not None)
    command = f"curl -X PUT {URL}/seawall/v1/maintenance --json '{{\"enabled\": false}}'"
    assert by_hand(world.restart()) == command


def test_without_a_switch_nobody_is_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    world = queue()

    def none() -> NoReturn:
        raise PartRefused(NotReached.UNEXPECTED_ANSWER, "the database answers 404 there is no such path")

    monkeypatch.setattr(world.data_plane, "in_maintenance", none)
    end = world.time.now().timestamp() + 600
    world.settle(until=lambda: world.time.now().timestamp() >= end)
    assert world.went == []
    assert not world.data_plane.maintenance


def test_the_maintenance_of_the_contract_ends_where_it_began_when_the_spec_names_a_greptimedb() -> None:
    world = queue()
    world.settle(until=lambda: world.restart().stage is RollStage.RESTARTING and world.data_plane.maintenance)
    other = world.add_database(DATABASE["metasrv"])
    other.wal = None
    world.apply(http=None, greptimedb=DATABASE)
    world.settle(until=lambda: world.restart().maintenance is None)
    assert (world.data_plane.maintenance, other.maintenance) == (False, False)
