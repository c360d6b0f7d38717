"""What people see of a database comes of the looks by which is decided: one reader; a silent part hides no other."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from seawall import observe
from seawall.adapters.data_planes import AllDataPlanes
from seawall.api.meta import Key
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.controllers.ledger import LedgerWatch
from seawall.domain.dataplane.connection import NoDataPlane, NotReached, PartUnavailable
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.errors import Forbidden
from seawall.domain.ledger.observation import Unavailable, UnavailableReason
from seawall.observe import topic_logs
from seawall.observe.database import DatabaseAnswers
from seawall.ports import DataPlaneParts
from seawall.reconciler import Reconciler
from tests.fakes.dataplane import FakeDataPlane, FakeMetadataStore, FakeRegion, settings
from tests.fakes.meters import FakeMeters
from tests.support.clock import Time
from tests.worlds.purge_world import NAMESPACE, WAL, World

SILENT = "it does not answer"


def look(watching: LedgerWatch) -> None:
    """One tick."""
    process: Reconciler[Any, Any, Any, Any] = Reconciler(watching, may_write=lambda: True)
    process.tick(WAL)


class Watched:
    """A watch, and who was woken by it."""

    def __init__(self, world: World) -> None:
        self.world, self.woken = world, list[Key]()
        self.watch = LedgerWatch(world.kube, world.observer(), self.woken.append, lambda _: None, FakeMeters())

    def observe(self) -> DataPlaneView | NoDataPlane | None:
        """What is known after a look."""
        look(self.watch)
        self.world.time.time += timedelta(seconds=10)
        return self.watch.latest_database(self.world.cluster())


def answers(data_plane: FakeDataPlane, store: FakeMetadataStore) -> DatabaseAnswers:
    return DatabaseAnswers(DataPlaneParts(data_plane, store))


def test_a_view_counts_the_database_and_its_metadata() -> None:
    time, store, region = Time(), FakeMetadataStore(), 1024 << 32 | 1
    store.put_topic("t_0", 0)
    store.put_region("t_0", region, 0, None)
    data_plane = FakeDataPlane(regions={region: FakeRegion(0, 0, 0)}, now=time.now)
    assert answers(data_plane, store).view(time.now()) == DataPlaneView(
        datanodes=3,
        reporting=3,
        regions=1,
        topics_in_use=1,
        store_id=store.snapshot().store_id,
        claims={},
        version="1.1.0",
        wal=settings(),
        datanode_wal=data_plane.datanode_wal,
    )


def test_all_that_is_silent_is_told_the_metasrv_first() -> None:
    time, store = Time(), FakeMetadataStore()
    store.is_silent = True
    found = answers(FakeDataPlane(is_silent=True), store).view(time.now())
    assert found == NoDataPlane(NotReached.METASRV_UNREACHABLE, "; ".join([SILENT] * 3))
    only_store = answers(FakeDataPlane(now=time.now), store).view(time.now())
    assert only_store == NoDataPlane(NotReached.METADATA_STORE_UNREACHABLE, SILENT)


def test_a_store_that_is_silent_is_told_before_the_frontend_though_that_is_asked_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()

    def silent() -> None:
        raise PartUnavailable(NotReached.FRONTEND_UNREACHABLE, "the frontend is silent")

    monkeypatch.setattr(world.data_plane, "nodes", silent)
    world.store.is_silent = True
    found = Watched(world).observe()
    assert found == NoDataPlane(NotReached.METADATA_STORE_UNREACHABLE, f"{SILENT}; the frontend is silent")


def test_a_bug_in_a_part_is_told_and_is_no_database_that_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    watched = Watched(world)

    def broken() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(world.data_plane, "nodes", broken)
    found = watched.observe()
    assert isinstance(found, NoDataPlane)
    assert found.why is NotReached.UNEXPECTED_ANSWER
    assert "nodes failed (ZeroDivisionError)" in found.message


def test_nothing_is_known_before_the_first_look_and_only_news_wakes() -> None:
    watched = Watched(World())
    assert watched.watch.latest_database(watched.world.cluster()) is None
    assert isinstance(watched.observe(), DataPlaneView)
    for _ in range(5):
        watched.observe()
    calm = len(watched.woken)
    watched.observe()
    assert len(watched.woken) == calm
    watched.world.data_plane.is_silent = True
    assert isinstance(watched.observe(), NoDataPlane)
    assert len(watched.woken) == calm + 1


def test_what_was_found_by_another_spec_is_nobodys() -> None:
    watched = Watched(World())
    watched.observe()
    watched.world.kube.apply(WAL, {**watched.world.spec(), "verification": {"spark": {"image": "other:1"}}})
    assert isinstance(watched.watch.latest_database(watched.world.cluster()), DataPlaneView), "it is where it was"
    other = {"etcd": {"endpoints": ["http://etcd:2379"], "prefix": "other/"}}
    watched.world.kube.apply(WAL, watched.world.spec(metadataStore=other))
    assert watched.watch.latest_database(watched.world.cluster()) is None
    assert isinstance(watched.observe(), DataPlaneView)
    user = {"credentialsSecretRef": {"name": "user"}, "insecure": True}
    watched.world.kube.apply(WAL, watched.world.spec(auth=user))
    assert watched.watch.latest_database(watched.world.cluster()) is None
    assert why(watched.observe()) is NotReached.SECRET_MISSING


def test_the_database_is_looked_at_whatever_keeps_from_looking_at_the_ledger() -> None:
    world = World()
    watched = Watched(world)
    world.kube.apply(Key(NAMESPACE, "newer"), {"clusterRef": {"name": "wal"}, "newField": 1}, kind=WALPurgePolicy)
    assert isinstance(watched.observe(), DataPlaneView)
    page = watched.watch.latest(WAL)
    assert isinstance(page, Unavailable)
    assert page.why is UnavailableReason.POLICY_INVALID


def test_an_api_server_that_forbids_a_secret_and_a_key_that_makes_no_sense_are_told_by_their_own_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    etcd = {"endpoints": ["https://127.0.0.1:1"], "tls": {"caSecretRef": {"name": "ca"}}}
    world.kube.apply(WAL, world.spec(metadataStore={"etcd": etcd}))
    monkeypatch.setattr(world, "open_databases", lambda _: AllDataPlanes())
    watched = Watched(world)
    assert why(watched.observe()) is NotReached.SECRET_MISSING
    world.kube.secrets[Key(NAMESPACE, "ca")] = {"ca.crt": b"no PEM"}
    assert why(watched.observe()) is NotReached.TLS_FAILED

    def forbidden(*_: Any) -> None:
        raise Forbidden("secrets is forbidden")

    monkeypatch.setattr(world.kube, "get_secret", forbidden)
    assert why(watched.observe()) is NotReached.SECRET_FORBIDDEN


def why(found: DataPlaneView | NoDataPlane | None) -> NotReached:
    assert isinstance(found, NoDataPlane)
    return found.why


def test_a_bug_in_the_look_hides_nothing_of_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    watched = Watched(world)
    assert isinstance(watched.observe(), DataPlaneView)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    def silent() -> None:
        raise PartUnavailable(NotReached.FRONTEND_UNREACHABLE, "the frontend is silent")

    monkeypatch.setattr(observe.reading, "read_logs", broken)
    monkeypatch.setattr(world.data_plane, "nodes", silent)
    with pytest.raises(ZeroDivisionError):
        watched.watch.observe(world.cluster())
    assert isinstance(watched.watch.latest_database(world.cluster()), NoDataPlane)


def test_a_kafka_that_takes_its_time_makes_no_report_old(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    watched, read = Watched(world), topic_logs.read_logs

    def slow(*asked: Any) -> Any:
        world.time.time += timedelta(seconds=90)
        return read(*asked)

    monkeypatch.setattr(observe.reading, "read_logs", slow)
    found = watched.observe()
    assert isinstance(found, DataPlaneView)
    assert found.reporting == found.datanodes
