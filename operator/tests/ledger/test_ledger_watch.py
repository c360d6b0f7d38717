"""The watch of ledgers on the in-memory ports: first records, what people read, and a WAL that is damaged."""

from __future__ import annotations

import argparse
import json
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Condition, ConditionType, Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.cli import ledger as cli
from seawall.controllers.ledger import LedgerWatch
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.status import wal_conditions, wal_event, wal_status
from seawall.domain.conditions import ConditionBuilder, find_condition
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.ledger.observation import Unavailable, UnavailableReason
from seawall.domain.ledger.page import LedgerPage
from seawall.reconciler import Outcome, Reconciler
from tests.fakes.meters import FakeMeters
from tests.support.mortal import Died
from tests.worlds.purge_world import NAMESPACE, TOPICS, WAL, Calls, World


def watch(world: World, woken: list[Key] | None = None) -> LedgerWatch:
    """A new process that watches."""
    return LedgerWatch(
        world.kube, world.observer(), (woken if woken is not None else []).append, lambda _: None, FakeMeters()
    )


def look(world: World, watching: LedgerWatch, times: int = 6) -> LedgerPage:
    """The page after some looks, ten seconds apart, and their writes."""
    process: Reconciler[Any, Any, Any, Any] = Reconciler(watching, may_write=lambda: True)
    for _ in range(times):
        while process.tick(WAL).outcome is Outcome.ACTED:
            pass
        world.time.time += timedelta(seconds=10)
    page = watching.latest(WAL)
    assert isinstance(page, LedgerPage)
    return page


def intact(world: World, watching: LedgerWatch) -> Condition:
    """The condition WALIntact."""
    cluster = world.cluster()
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, world.time.now())
    found = wal_conditions(cluster, Observed(world.time.now(), ledger=watching.latest(WAL)), build)
    (condition,) = found
    return condition


def test_the_first_look_records_the_identity_of_every_log_and_the_next_ones_write_nothing() -> None:
    world = World()
    watching = watch(world)
    look(world, watching, times=1)
    assert world.records().keys() == set(TOPICS)
    before = world.records()
    look(world, watching, times=3)
    assert world.records() == before


def test_a_page_says_of_every_topic_who_holds_it_and_why_it_is_not_shrinking() -> None:
    world = World()
    world.declare_policy(safety={"staleAfter": "60s", "openGrace": "70s"})
    page = look(world, watch(world), times=10)
    assert [line.name for line in page.lines] == list(TOPICS)
    for line in page.lines:
        assert line.reason == "NothingToPurge"
        assert line.held_by.startswith("region ")
        assert line.replay_entries is not None
        assert line.replay_entries > 0
        assert (
            line.message == f"Nothing lies below what is kept. {line.held_by.capitalize()} keeps everything from 0 on."
        )
    world.data_plane.stopped.add(0)
    page = look(world, watch(world), times=10)
    assert {line.reason for line in page.lines} == {"RegionStale"}


def test_a_topic_that_a_hold_or_a_margin_keeps_says_so() -> None:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    world.declare_policy(topics=["wal_2"], safety={"staleAfter": "60s", "openGrace": "70s", "keepEntries": 1000})
    world.declare_policy("plain", topics=["wal_0", "wal_1"], safety={"staleAfter": "60s", "openGrace": "70s"})
    world.hold("spark", {"wal_0": 0})
    held, free, kept = look(world, watch(world), times=10).lines
    assert held.reason == kept.reason == "NothingToPurge"
    assert held.message == "Nothing lies below what is kept. WALHold spark keeps everything from 0 on."
    assert kept.message == f"Nothing lies below what is kept. KeepEntries 1000 are kept below the floor, {kept.floor}."
    assert free.reason is None


def test_a_served_namespace_that_cannot_be_read_is_named_and_nobody_is_told_to_delete_a_walcluster() -> None:
    """It was deleted, and its Role with it; a WALCluster there might have owned the same topics."""
    world = World()
    watching = watch(world)
    look(world, watching)
    world.kube.unreadable = ("gone",)
    process: Reconciler[Any, Any, Any, Any] = Reconciler(watching, may_write=lambda: True)
    process.tick(WAL)
    found = watching.latest(WAL)
    assert isinstance(found, Unavailable)
    assert found.why is UnavailableReason.NAMESPACE_UNREADABLE
    assert found.message == "the WALClusters of namespace gone cannot be read, and one of them may own these topics"
    world.kube.unreadable = ()
    look(world, watching)


def test_a_hold_that_cannot_be_read_is_named() -> None:
    world = World()
    world.hold("spark", {"wal_0": 5})
    world.kube.write_raw_status(Key(NAMESPACE, "spark"), WALHold, {"state": "Cherished"})
    line = look(world, watch(world)).lines[0]
    assert line.reason == "HoldsUnreadable"
    assert "Found: WALHold spark cannot be read: status.state" in line.message


def test_a_flushed_database_is_purgeable_and_the_status_counts_it() -> None:
    world = World()
    world.declare_policy(safety={"staleAfter": "60s", "openGrace": "70s"})
    for region in world.data_plane.regions:
        world.flush(region)
    watching = watch(world)
    page = look(world, watching, times=10)
    assert all(line.purge_to is not None and line.entries_to_purge > 0 for line in page.lines)
    status = wal_status(world.cluster(), Observed(world.time.now(), ledger=page))
    assert status is not None
    assert (status.topics, status.purgeable, status.held_back) == (len(TOPICS), len(TOPICS), 0)
    assert intact(world, watching).status == "True"


def test_a_log_that_starts_beyond_what_a_restart_reads_is_a_disaster_that_is_said_first() -> None:
    world = World()
    woken: list[Key] = []
    watching = watch(world, woken)
    look(world, watching)
    before = len(woken)
    world.foreign.add("wal_1")
    world.kafka.topics["wal_1"].log.log_start = world.kafka.topics["wal_1"].log.end - 1
    look(world, watching)
    assert len(woken) == before + 1
    condition = intact(world, watching)
    assert (condition.status, condition.reason) == ("False", "LogStartBeyondReplay")
    assert "wal_1" in condition.message
    cluster = world.cluster()
    event = wal_event(cluster, cluster.status.model_copy(update={"conditions": (condition,)}))
    assert event is not None
    assert event.type.value == "Warning"


def test_nothing_is_known_of_a_wal_that_nobody_can_look_at() -> None:
    world = World()
    watching = watch(world)
    look(world, watching)
    world.data_plane.is_silent = True
    Reconciler(watching, may_write=lambda: True).tick(WAL)
    assert isinstance(watching.latest(WAL), Unavailable)
    assert intact(world, watching).status == "Unknown"


def test_a_paused_cluster_is_watched_and_nothing_is_written() -> None:
    world = World()
    world.annotate(paused="true")
    look(world, watch(world))
    assert world.records() == {}


def recreate(world: World, *topics: str) -> None:
    """Somebody deletes topics and makes them again; others have written to them since."""
    for topic in topics:
        world.foreign.add(topic)
        world.kafka.topics.pop(topic)
        world.kafka.add_topic(topic, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"}).log.append(100)


def broken(world: World) -> set[str]:
    return {topic for topic, record in world.records().items() if record.broken}


def until(world: World, hours: int) -> str:
    """An annotation that expires so many hours from now."""
    return f"checked by hand@{(world.time.now() + timedelta(hours=hours)).isoformat()}"


def test_a_readoption_is_told_as_an_event_and_adopts_nothing_later() -> None:
    world = World()
    watching = watch(world)
    look(world, watching, times=3)
    recreate(world, "wal_0")
    look(world, watching, times=3)
    assert broken(world) == {"wal_0"}
    world.annotate(readopt=until(world, 2))
    look(world, watching, times=3)
    assert broken(world) == set()
    reported = [event for event in world.kube.events if event.reason == "LogsReadopted"]
    assert [event.message for event in reported] == [
        "Readopted topic wal_0, as seawall.dev/readopt says: checked by hand"
    ]
    recreate(world, "wal_1")
    page = look(world, watch(world), times=4)
    assert broken(world) == {"wal_1"}
    assert [line.name for line in page.damaged()] == ["wal_1"]


def test_a_readoption_that_is_not_followed_says_why_where_the_damage_is_said() -> None:
    world = World()
    watching = watch(world)
    look(world, watching, times=3)
    recreate(world, "wal_0")
    world.annotate(readopt=until(world, 25))
    look(world, watching, times=3)
    assert "expires more than 24 hours ahead and is not followed" in intact(world, watching).message
    world.annotate(readopt="soon")
    look(world, watching, times=1)
    assert "must be <reason>@<expiry>" in intact(world, watching).message
    world.annotate(readopt=until(world, -1))
    look(world, watching, times=1)
    assert "But seawall.dev/readopt has expired: set a new one." in intact(world, watching).message
    assert broken(world) == {"wal_0"}


def test_a_paused_cluster_readopts_nothing_until_it_goes_on() -> None:
    world = World()
    watching = watch(world)
    look(world, watching, times=3)
    recreate(world, "wal_0")
    look(world, watching, times=3)
    world.annotate(paused="true", readopt=until(world, 2))
    page = look(world, watching, times=3)
    assert [line.name for line in page.damaged()] == ["wal_0"]
    world.annotate(readopt=until(world, 2))
    assert look(world, watching, times=3).damaged() == ()


def test_a_readoption_ends_the_same_when_the_process_dies_between_two_shards() -> None:
    for death in range(1, 4):
        world = World()
        watching = watch(world)
        look(world, watching, times=3)
        recreate(world, "wal_0", "wal_2")
        look(world, watching, times=3)
        world.annotate(readopt=until(world, 2))
        calls = Calls(lambda _: None)

        def die(name: str, calls: Calls = calls, death: int = death) -> None:
            if name == "write" and calls.names.count("write") == death:
                raise Died

        calls.before = die
        with pytest.raises(Died):
            look(
                world,
                LedgerWatch(world.kube, world.observer(calls), lambda _: None, lambda _: None, FakeMeters()),
                times=1,
            )
        look(world, watch(world), times=3)
        assert broken(world) == set()
        recreate(world, "wal_1")
        look(world, watch(world), times=3)
        assert broken(world) == {"wal_1"}


class Api:
    """Answers as the API server and, behind its proxy, the operator do."""

    def __init__(self, page: dict[str, Any] | None, leader: str | None = "seawall-0") -> None:
        self._page, self._leader = page, leader

    def get(self, path: str) -> dict[str, Any] | None:
        if path == "/apis/coordination.k8s.io/v1/namespaces/seawall/leases/seawall":
            annotations = {"seawall.dev/page-key": "k&y"}
            return {"metadata": {"annotations": annotations}, "spec": {"holderIdentity": self._leader}}
        if path == "/apis/seawall.dev/v1alpha1/namespaces/db/walclusters/wal":
            return None
        assert path == "/api/v1/namespaces/seawall/pods/https:seawall-0:8443/proxy/ledger/db/wal?key=k%26y"
        return self._page


def ask(api: Api, *words: str) -> str:
    """What `seawall ledger` prints."""
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return cli.show_ledger(parser.parse_args(["wal", "-n", "db", *words]), api.get)


def test_one_command_says_why_a_topic_is_not_shrinking() -> None:
    world = World()
    began = f"{world.time.now() + timedelta(seconds=50):%Y-%m-%dT%H:%M:%S}"  # the last of six looks
    page = json.loads(json.dumps(look(world, watch(world)).to_json()))
    *table, _, last = ask(Api(page)).splitlines()
    assert table[0].split() == " ".join(cli.COLUMNS).split()
    assert [line.split()[0] for line in table[1:]] == list(TOPICS)
    assert last == f"as of {began}.000Z"
    reported = ask(Api(page), "--topic", "wal_1")
    assert "No WALPurgePolicy matches this topic." in reported
    assert "Create one" in reported
    assert json.loads(ask(Api(page), "-o", "json"))["topics"] == page["topics"]


def with_a_new_topic(world: World) -> str:
    """The pool grew: the database knows the topic, and has not written to it yet."""
    name = "wal_10"
    world.kafka.add_topic(name, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
    world.store.put_topic(name, None)
    return name


def test_topics_are_shown_in_the_order_of_their_numbers_and_an_empty_one_is_said_to_be() -> None:
    world = World()
    new = with_a_new_topic(world)
    page = json.loads(json.dumps(look(world, watch(world)).to_json()))
    _, *rows = ask(Api(page)).splitlines()[:-2]
    assert [row.split()[0] for row in rows] == [*TOPICS, new]
    assert [row.split()[-2] for row in rows if row.startswith(new)] == ["empty"]
    assert "nobody knows" not in ask(Api(page))
    world.kafka.topics[new].log.append(1)
    page = json.loads(json.dumps(look(world, watch(world)).to_json()))
    assert "nobody knows: there is no floor" in ask(Api(page), "--topic", new)


@pytest.mark.parametrize(
    ("api", "words", "error", "sentence"),
    [
        (Api(None), [], Refused, "knows no WALCluster db/wal"),
        (Api(None, leader=None), [], Refused, "no Seawall operator leads"),
        (Api({"topics": []}), ["--topic", "wal_9"], Refused, "has no topic wal_9"),
        (Api({"cannotLook": "KafkaUnreachable", "message": "no broker"}), [], OutsideUnavailable, "no broker"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_sentence(
    api: Api, words: list[str], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        ask(api, *words)


def test_conditions_other_than_false_raise_no_alarm() -> None:
    world = World()
    watching = watch(world)
    look(world, watching)
    cluster = world.cluster()
    status = cluster.status.model_copy(update={"conditions": (intact(world, watching),)})
    assert wal_event(cluster, status) is None
    assert find_condition(status.conditions, ConditionType.WAL_INTACT) is not None
