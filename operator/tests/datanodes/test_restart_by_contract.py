"""Pods of a database that serves the contract restart as those of GreptimeDB do, if it has a switch of maintenance."""

from __future__ import annotations

from typing import NoReturn

import pytest

from seawall.api.v1alpha1.rollout import RestartStatus, RollStage
from seawall.domain.datanodes.maintenance import by_hand
from seawall.domain.dataplane.connection import NotReached, PartRefused, contract_address
from seawall.observe.datanodes import DatanodeObserver
from tests.datanodes.test_restart import ALL
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
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
    lease = world.restart().maintenance
    assert lease is not None
    served = lease.model_copy(update={"database": "http/queue-1"})
    where = f"curl -X PUT {URL}/seawall/v1/maintenance --json"
    command = f'{where} \'{{"database": "queue-1", "enabled": false}}\''
    assert by_hand(world.restart().model_copy(update={"maintenance": served})) == command
    assert by_hand(RestartStatus(), contract_address(URL), "http/queue-1") == command
    assert '"<identity>"' in by_hand(RestartStatus(), contract_address(URL))


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


def test_the_database_is_asked_as_the_one_that_is_meant_or_nothing_is_turned() -> None:
    """The fake answers 409 where another one is meant, as the contract wants."""

    def entered() -> None:
        world = queue()
        end = world.time.now().timestamp() + 120
        world.settle(until=lambda: world.data_plane.maintenance or world.time.now().timestamp() >= end)
        assert world.data_plane.maintenance

    def ended() -> None:
        """Where another database is pinned by now."""
        world = queue()
        world.settle(until=lambda: world.restart().stage is RollStage.RESTARTING and world.data_plane.maintenance)
        world.apply(http=None, greptimedb=DATABASE)
        world.add_database(DATABASE["metasrv"]).wal = None
        world.adopt(world.stores[DATABASE["metasrv"]])
        end = world.time.now().timestamp() + 300
        world.settle(until=lambda: not world.data_plane.maintenance or world.time.now().timestamp() >= end)
        assert not world.data_plane.maintenance

    for story in (entered, ended):
        story()
    of_nobody = rewritten(DatanodeObserver, "maintenance_of", MEANT, "None")
    of_the_pinned = rewritten(DatanodeObserver, "maintenance_of", "lease_of(obj)", "None")
    assert find_survivors(((of_nobody, entered), (of_the_pinned, ended))) == []


MEANT = "meant_by(lease_of(obj), Pin.of(obj.status.data_plane).identity)"
