"""`seawall purge`: a dry run says what a run then does and changes nothing; without it a run is made, and told of."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from seawall.api.meta import Key
from seawall.api.v1alpha1.purge import WALPurge, WALPurgeSpec
from seawall.cli import purge as cli
from seawall.controllers.ledger import LedgerWatch
from seawall.controllers.preview import PurgePreview
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.ledger.observation import Unavailable, UnavailableReason
from seawall.domain.purge.preview import PlannedRun, plan_run
from seawall.handlers.access import Gate
from seawall.handlers.pages import add_plan_page
from tests.fakes.access import FakeAccessReviews
from tests.ledger.test_ledger_watch import look, watch
from tests.worlds.purge_world import RUN, SPEC, TOPICS, WAL, World

RUNS = "/apis/seawall.dev/v1alpha1/namespaces/db/walpurges"
OBSERVERS = 20
"""Ten seconds apart: longer than the default openGrace."""


def preview(world: World, watching: LedgerWatch) -> PurgePreview:
    return PurgePreview(world.kube, watching.observer, world.time)


def plan(world: World, watching: LedgerWatch, *topics: str) -> PlannedRun:
    found = preview(world, watching).plan(WAL, topics)
    assert isinstance(found, PlannedRun)
    return found


def flushed_world() -> tuple[World, LedgerWatch]:
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    watching = watch(world)
    look(world, watching, times=OBSERVERS)
    return world, watching


def test_a_dry_run_says_what_a_run_then_records_and_no_policy_is_needed() -> None:
    world, watching = flushed_world()
    found = plan(world, watching)
    world.start_run(dryRun=True, flush={}, safety={})
    planned = {row.topic: row.purge_to for row in world.settle().status.planned}
    assert {line.name: line.purge_to for line in found.lines} == planned
    assert planned.keys() == set(TOPICS)
    assert all(line.entries_to_purge > 0 for line in found.lines)


def test_a_dry_run_changes_nothing_and_leaves_no_memory() -> None:
    world, watching = flushed_world()
    before = (world.records(), world.log_starts(), world.store.snapshot().topics, world.kube.list(WALPurge, "db").items)
    first, again = plan(world, watching), plan(world, watching)
    assert first == again
    after = (world.records(), world.log_starts(), world.store.snapshot().topics, world.kube.list(WALPurge, "db").items)
    assert after == before


def test_a_dry_run_is_not_looking() -> None:
    """Whoever begins to look and does not go on would believe later that it had watched all the time."""
    world = World()
    watching = watch(world)
    assert preview(world, watching).plan(WAL, ()) is None
    look(world, watching, times=1)
    assert {line.reason for line in plan(world, watching).lines} == {"WatchedTooShortly"}


def test_a_dry_run_looks_at_the_topics_that_are_named() -> None:
    world, watching = flushed_world()
    assert [line.name for line in plan(world, watching, "wal_1", "*_2").lines] == ["wal_1", "wal_2"]
    with pytest.raises(Refused, match="topics"):
        preview(world, watching).plan(WAL, ("wal/1",))


def test_a_dry_run_names_the_regions_that_a_run_would_ask_to_flush() -> None:
    world = World()
    watching = watch(world)
    look(world, watching, times=OBSERVERS)
    world.start_run(dryRun=True)
    run = world.kube.get(WALPurge, RUN)
    assert run is not None
    observation = watching.observer.preview(world.cluster(), run)
    assert observation is not None
    assert not isinstance(observation, Unavailable)
    spec = WALPurgeSpec.model_validate(SPEC)
    assert len(plan_run(observation, spec).flushes) == len(TOPICS), "one region of each topic has flushed nothing"


class Api:
    """Answers as the API server and, behind its proxy, the operator do; runs go on whenever somebody waits."""

    def __init__(self, page: dict[str, Any] | None = None, statuses: Sequence[dict[str, Any] | None] = ()) -> None:
        self.page, self.statuses = page, list(statuses)
        self.asked: list[str] = []
        self.created: list[dict[str, Any]] = []

    def get(self, path: str) -> dict[str, Any] | None:
        self.asked.append(path)
        if path.endswith("/leases/seawall"):
            return {
                "metadata": {"annotations": {"seawall.dev/page-key": "k&y"}},
                "spec": {"holderIdentity": "seawall-0"},
            }
        if path.startswith(RUNS):
            status = self.statuses[0]
            return None if status is None else {"status": status}
        return self.page

    def create(self, path: str, body: Any) -> None:
        assert path == RUNS
        self.created.append(body)


def say(api: Api, *words: str) -> list[str]:
    """What `seawall purge` prints."""

    def pause() -> None:
        api.statuses.pop(0)

    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    arguments = parser.parse_args([*(words if "wal" in words else ("wal", *words)), "-n", "db"])
    return list(cli.purge(arguments, api, pause, lambda _: None))


def test_a_dry_run_is_printed_as_a_table_with_a_sum() -> None:
    world, watching = flushed_world()
    page = json.loads(json.dumps(plan(world, watching).to_json()))
    api = Api(page)
    (text,) = say(api, "--dry-run", "-t", "wal_*")
    assert (
        api.asked[-1]
        == "/api/v1/namespaces/seawall/pods/https:seawall-0:8443/proxy/plan/db/wal?topic=wal_%2A&key=k%26y"
    )
    assert api.created == []
    header, *rows, _, reported = text.splitlines()
    assert header.split() == " ".join(cli.COLUMNS).split()
    assert [row.split()[:2] for row in rows] == [[line["name"], str(line["purge_to"])] for line in page["topics"]]
    entries = sum(line["entries_to_purge"] for line in page["topics"])
    assert reported.startswith(f"3 of 3 topics would be purged: {entries} entries, ")
    (text,) = say(api, "--dry-run", "-o", "json")
    assert json.loads(text) == page


def test_what_hinders_a_dry_run_is_said() -> None:
    with pytest.raises(Refused, match="knows no WALCluster db/wal"):
        say(Api(None), "--dry-run")
    with pytest.raises(OutsideUnavailable, match="no broker"):
        say(Api({"cannotLook": "KafkaUnreachable", "message": "no broker"}), "--dry-run")


def test_without_dry_run_a_run_is_made() -> None:
    api = Api()
    (text,) = say(api, "-t", "wal_1")
    (body,) = api.created
    assert text == f"walpurge/{body['metadata']['name']} created"
    assert WALPurge.KIND.spec.model_validate(body["spec"]).model_dump(include={"topics", "dry_run"}) == {
        "topics": ("wal_1",),
        "dry_run": False,
    }


def test_the_verb_may_be_typed() -> None:
    api = Api()
    say(api, "run", "wal")
    say(api, "wal")
    first, second = (body["spec"] for body in api.created)
    assert first == second
    assert first["clusterRef"] == {"name": "wal"}


def test_a_bar_shows_how_far_a_run_is_and_when_it_should_be_over() -> None:
    shown: list[str] = []
    times = iter(datetime(2026, 11, 22, 9, 30, second, tzinfo=UTC) for second in (0, 10, 20))
    bar = cli.Bar(shown.append, lambda: next(times))
    bar({"stage": "Verification", "frozen": {"topics": 40}})
    for purged in (10, 20, 40):
        bar({"stage": "Purge", "frozen": {"topics": 40}, "topics": {"purged": purged}})
    bar({"stage": "Completed"})
    assert shown == [
        "",
        "[#####...............] 10 of 40 topics (25 %)",
        "[##########..........] 20 of 40 topics (50 %), about 20 s left",
        "[####################] 40 of 40 topics (100 %)",
        "",
    ]


def ready(message: str) -> list[dict[str, str]]:
    return [{"type": "Complete", "status": "False"}, {"type": "Ready", "status": "False", "message": message}]


def test_a_run_is_followed_to_its_end() -> None:
    counts = {"total": 3, "purged": 2, "skipped": 1}
    api = Api(
        statuses=[
            {},
            {"stage": "Preparation", "conditions": ready("waits")},
            {"stage": "Preparation", "conditions": ready("waits")},
            {"stage": "Completed", "conditions": ready(""), "topics": counts, "entriesDeleted": 72},
        ]
    )
    assert say(api, "--wait")[1:] == [
        "Pending: ",
        "Preparation: waits",
        "Completed: 3 topics (2 purged, 0 unchanged, 1 skipped, 0 failed), 72 entries deleted",
    ]


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        ({"stage": "Failed", "conditions": ready("Kafka said no")}, "the run failed: Kafka said no"),
        (None, "was deleted before it was over"),
        (
            {"stage": "Completed", "topics": {"total": 3, "purged": 1, "failed": 2}, "entriesDeleted": 7},
            "2 failed.*, 7 entries deleted; of 2 topics nothing was deleted: status.refused says why",
        ),
    ],
)
def test_a_run_that_fails_or_goes_away_is_an_error(end: dict[str, Any] | None, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        say(Api(statuses=[{"stage": "Purge"}, end]), "--wait")


def serve(plan_of: Callable[[Key, Sequence[str]], Any], path: str) -> tuple[int, str]:
    """What the operator's page answers."""

    async def ask() -> tuple[int, str]:
        app = web.Application()
        add_plan_page(app, plan_of, Gate(FakeAccessReviews(), "k&y"))
        async with TestClient(TestServer(app)) as client, client.get(path, params={"key": "k&y"}) as answer:
            return answer.status, await answer.text()

    return asyncio.run(ask())


def test_the_operator_answers_with_the_plan_or_says_why_not() -> None:
    world, watching = flushed_world()
    world.time.time += timedelta(seconds=10)
    status, text = serve(preview(world, watching).plan, "/plan/db/wal?topic=wal_0&topic=wal_1")
    assert status == 200
    assert [line["name"] for line in json.loads(text)["topics"]] == ["wal_0", "wal_1"]
    assert serve(preview(world, watching).plan, "/plan/db/other")[0] == 404
    assert serve(preview(world, watching).plan, "/plan/db/wal?topic=a%2Fb")[0] == 400
    status, text = serve(lambda *_: Unavailable(UnavailableReason.KAFKA, "no broker"), "/plan/db/wal")
    assert json.loads(text) == {"cannotLook": "KafkaUnreachable", "message": "no broker"}


def test_a_run_that_is_made_is_not_printed_as_data() -> None:
    api = Api()
    with pytest.raises(Refused, match="-o is of a dry run"):
        say(api, "-o", "json")
    assert api.created == []
