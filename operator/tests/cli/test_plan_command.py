"""`seawall plan`: what it shows is what a run then does, frozen or not; nothing changes by it."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from seawall.api.meta import Key
from seawall.cli import plan as cli
from seawall.controllers.preview import ReassignmentPreview
from seawall.controllers.reassignment import ReplicationController
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.partitions import PartitionId
from seawall.domain.reassignment.journal import Journal, PlannedMove
from seawall.domain.reassignment.preview import PlannedReassignment
from seawall.handlers.access import Gate
from seawall.handlers.pages import add_reassignment_page
from seawall.observe.partitions import PartitionObserver
from tests.fakes.access import FakeAccessReviews
from tests.fakes.kafka import FakeKafkaClusters
from tests.worlds.reassignment_world import TOPICS, WAL, World


def preview(world: World) -> ReassignmentPreview:
    clusters = FakeKafkaClusters({"kafka:9092": world.kafka})
    return ReassignmentPreview(
        ReplicationController(world.kube, PartitionObserver(world.kube, clusters), world.time, world.meters)
    )


def plan(world: World) -> PlannedReassignment:
    found = preview(world).plan(WAL)
    assert found is not None
    return found


def wanted(found: PlannedReassignment) -> dict[str, tuple[int, ...]]:
    return {} if found.journal is None else {move.id.topic: move.wanted for move in found.journal.moves}


def test_what_would_be_planned_now_is_what_a_run_then_does() -> None:
    world = World()
    before = world.placed()
    world.declare(replicationFactor=3)
    found = plan(world)
    assert (found.stage, found.digest) == (None, None)
    assert world.placed() == before
    world.settle()
    assert world.placed() == wanted(found)


def test_moves_are_shown_in_the_order_of_the_numbers_of_topics() -> None:
    moves = [PlannedMove(PartitionId(f"wal_{number}", 0), (1,), (2,), 1) for number in (1, 10, 2)]
    journal = Journal(datetime(2026, 11, 22, tzinfo=UTC), ("Drain",), frozenset(), tuple(moves))
    shown: Any = PlannedReassignment(None, None, "", journal, 1).to_json()
    assert [move["topic"] for move in shown["moves"]] == ["wal_1", "wal_2", "wal_10"]


def test_a_frozen_plan_is_shown_with_the_digest_that_an_approval_must_name() -> None:
    world = World()
    world.declare({"approval": "Manual"}, replicationFactor=3)
    world.settle(until=lambda: world.stage() == "AwaitingApproval")
    found = plan(world)
    assert (found.stage, found.digest) == ("AwaitingApproval", world.run().digest)
    world.annotate(approve_reassignment=found.digest)
    world.settle()
    assert world.placed() == wanted(found)


def test_when_all_is_as_declared_the_plan_says_so() -> None:
    assert plan(World()).message == "nothing to move: replicas are where they should be"


def test_what_cannot_be_planned_says_why() -> None:
    world = World()
    world.declare(replicationFactor=5)
    assert plan(world).message == "5 replicas need as many brokers, and Kafka has 4"


def test_what_somebody_else_moves_is_told() -> None:
    world = World()
    world.move_by_hand(TOPICS[0], (4,))
    assert plan(world).message == "somebody else moves these partitions: it is planned when that has ended"


def serve(plan_of: Callable[[Key], Any], path: str) -> tuple[int, str]:
    """What the operator's page answers."""

    async def ask() -> tuple[int, str]:
        app = web.Application()
        add_reassignment_page(app, plan_of, Gate(FakeAccessReviews(), "k&y"))
        async with TestClient(TestServer(app)) as client, client.get(path, params={"key": "k&y"}) as answer:
            return answer.status, await answer.text()

    return asyncio.run(ask())


def say(page: dict[str, Any] | None, *words: str) -> str:
    """What `seawall plan` prints of the operator's answer."""
    asked = "/api/v1/namespaces/seawall/pods/https:seawall-0:8443/proxy/reassignment/db/wal?key=k%26y"
    answers: dict[str, dict[str, Any] | None] = {
        "/apis/coordination.k8s.io/v1/namespaces/seawall/leases/seawall": {
            "metadata": {"annotations": {"seawall.dev/page-key": "k&y"}},
            "spec": {"holderIdentity": "seawall-0"},
        },
        asked: page,
        "/apis/seawall.dev/v1alpha1/namespaces/db/walclusters/wal": None,
    }
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return cli.show_plan(parser.parse_args(["wal", "-n", "db", *words]), lambda path: answers[path])


def test_the_plan_is_printed_with_its_bytes_and_the_time_that_it_takes_at_least() -> None:
    world = World()
    world.declare(replicationFactor=3)
    status, text = serve(preview(world).plan, "/reassignment/db/wal")
    assert status == 200
    header, *rows, _, sums, reported = say(json.loads(text)).splitlines()
    assert header.split() == [*cli.COLUMNS]
    assert [row.split()[0] for row in rows] == list(TOPICS)
    assert rows[0].split()[1:] == ["0", "1", ",".join(map(str, wanted(plan(world))[TOPICS[0]])), "20000"]
    assert sums == (
        "6 partitions, 12 replicas to copy (Raise): about 120000 bytes, at 1048576 bytes/s of each broker at least 1 s."
    )
    assert reported == "No run: not begun: what would be planned now"
    assert json.loads(say(json.loads(text), "-o", "json")) == json.loads(text)


def test_what_hinders_a_plan_is_said() -> None:
    world = World()
    assert serve(preview(world).plan, "/reassignment/db/other")[0] == 404
    world.kafka.offline |= {1, 2, 3, 4}
    with pytest.raises(OutsideUnavailable):
        preview(world).plan(WAL)
    assert serve(preview(world).plan, "/reassignment/db/wal")[0] == 503
    with pytest.raises(Refused, match="knows no WALCluster db/wal"):
        say(None)
