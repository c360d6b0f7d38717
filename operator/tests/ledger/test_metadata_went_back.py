"""A database by the contract whose metadata went back: nothing it says counts, until a person says that it is right."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from seawall.controllers.ledger import LedgerWatch
from seawall.domain.cluster.readoption import read_readoption
from seawall.domain.ledger import identities
from seawall.domain.ledger.observation import Unavailable
from seawall.observe import reading
from seawall.observe.reading import LedgerReader
from seawall.reconciler import Reconciler
from tests.ledger.test_ledger_watch import broken, look, until, watch
from tests.support.contract_facade import Ask, Served, served
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.contract_world import ServedWorld
from tests.worlds.purge_world import WAL

YOUNGER, BY = 1026 << 32 | 1, 5


def older(world: ServedWorld) -> Ask:
    """An older copy of the metadata, which lack a region, as do the reports."""
    ask = served(world.facade())

    def other(method: str, path: str, body: bytes) -> Served:
        status, kind, answer = ask(method, path, body)
        found = json.loads(json.dumps(answer))
        if "revision" in found:
            found["revision"] -= BY
        if "regions" in found:
            found["regions"] = without(found["regions"])
        for node in found["nodes"] if path == "/reports" else ():
            node["regions"] = without(node["regions"])
        return status, kind, found

    return other


def without(regions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [region for region in regions if region["id"] != YOUNGER]


def unavailable(watching: LedgerWatch) -> str:
    Reconciler(watching, may_write=lambda: True).tick(WAL)
    found = watching.latest(WAL)
    assert isinstance(found, Unavailable)
    return found.message


def restored() -> tuple[ServedWorld, LedgerWatch, int]:
    """One process has observed it before, and its records have the revision of then."""
    world = ServedWorld()
    with world.serving():
        watching = watch(world)
        look(world, watching, times=3)
        (revision,) = {record.revision for record in world.records().values()}
        world.ask = older(world)
        for _ in range(2):
            assert f"its metadata went back from revision {revision} to" in unavailable(watching)
    assert broken(world) == set(), "nobody has looked at the logs by them"
    assert revision is not None
    return world, watching, revision


def test_one_readoption_is_enough_and_begins_new_records() -> None:
    world, watching, revision = restored()
    with world.serving():
        world.annotate(readopt=until(world, 2))
        page = look(world, watching, times=6)
    assert page.damaged() == ()
    assert broken(world) == set()
    assert {record.revision for record in world.records().values()} == {revision - BY}


def test_a_readoption_that_the_status_has_as_used_still_comes_to_every_record() -> None:
    """Shard after shard is written, and somebody else writes one of them first."""
    world, watching, revision = restored()
    with world.serving():
        world.annotate(readopt=until(world, 2))
        watching.observe(world.cluster())
        use_up(world)
        look(world, watching, times=4)
    assert broken(world) == set()
    assert {record.revision for record in world.records().values()} == {revision - BY}


def use_up(world: ServedWorld) -> None:
    """Another controller of the process has found nothing that waits for the readoption, and pins that."""
    cluster = world.cluster()
    found = read_readoption(cluster, world.time.trusted()).unused
    assert found is not None
    assert cluster.status.data_plane is not None
    used = cluster.status.data_plane.model_copy(update={"readopted": found.token})
    world.kube.replace_status(cluster, cluster.status.model_copy(update={"data_plane": used}))


def test_metadata_that_are_those_of_before_again_count_without_a_word() -> None:
    world, watching, revision = restored()
    world.ask = served(world.facade())
    with world.serving():
        assert look(world, watching, times=2).damaged() == ()
    assert {record.revision for record in world.records().values()} == {revision}


def test_what_goes_back_after_a_readoption_is_not_readopted_with_it() -> None:
    world = ServedWorld()
    with world.serving():
        watching = watch(world)
        look(world, watching, times=3)
        world.annotate(readopt=until(world, 2))
        look(world, watching, times=3)
        world.ask = older(world)
        assert "went back" in unavailable(watching)
        assert "went back" in unavailable(watching)


def test_while_a_restore_makes_logs_nothing_is_readopted(monkeypatch: pytest.MonkeyPatch) -> None:
    world, watching, _ = restored()
    world.annotate(readopt=until(world, 2))
    with world.serving():
        with monkeypatch.context() as patch:
            patch.setattr(reading, "why_not_readopted", lambda *_: "a restore is at work")
            assert "went back" in unavailable(watching)
        assert look(world, watching, times=3).damaged() == ()


def test_each_guard_is_missed() -> None:
    def anew(guard: str, instead: str) -> Callable[[pytest.MonkeyPatch], None]:
        return rewritten(LedgerReader, "_begin_anew", guard, instead)

    def at_work() -> None:
        with pytest.MonkeyPatch.context() as patch:
            test_while_a_restore_makes_logs_nothing_is_readopted(patch)

    mutants = (
        (anew("opened.parts.metadata_store.begin_anew()", "False"), _is_enough),
        (anew("remembered.begun_anew[0] != adoption.token", "True"), _not_with_it),
        (anew("why_not_readopted(self.clusters.kube, cluster) is not None", "False"), at_work),
        (rewritten(identities, "identify", "is_back or ", ""), _is_enough),
    )
    assert find_survivors(mutants) == []


_is_enough = test_one_readoption_is_enough_and_begins_new_records
_not_with_it = test_what_goes_back_after_a_readoption_is_not_readopted_with_it
