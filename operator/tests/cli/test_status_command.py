"""`seawall status`: what is wrong, what runs and what it waits for. UPDATE_GOLDEN=1 writes the pages anew."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.resource import Listing, ResourceT
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.cli import status as cli
from seawall.cli.status_text import describe
from seawall.domain.errors import Forbidden, Refused
from tests.cli.status_stories import ALL_WELL, LEASE, NAMESPACE, STORIES, WAL, api_server, row
from tests.fakes.kube import FakeKube
from tests.support.golden import compare_text
from tests.worlds import restart_world

GOLDEN = Path(__file__).parents[1] / "golden" / "status"
NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)


def ask(kube: FakeKube, *words: str, lease: Mapping[str, Any] | None = LEASE, now: datetime = NOW) -> str:
    """What is printed."""
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    arguments = parser.parse_args([WAL.name, "-n", NAMESPACE, *words])
    leases = {"/apis/coordination.k8s.io/v1/namespaces/seawall/leases/seawall": lease}
    return cli.show_status(arguments, kube, leases.get, now)


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("output", ["text", "json"])
def test_a_page_is_as_it_was_reviewed(name: str, output: str) -> None:
    """The JSON is read by programs: a field that goes or changes its name breaks them."""
    story = STORIES[name]
    found = ask(api_server(story), "-o", output, lease=story.lease) + "\n"
    path = GOLDEN / f"{name}.{'txt' if output == 'text' else 'json'}"
    compare_text(path, found)


def test_a_terminal_has_bars() -> None:
    arguments = argparse.Namespace(walcluster=WAL.name, namespace=NAMESPACE, operator="seawall/seawall")
    pages = (cli.read_page(arguments, api_server(story), lambda _: None, NOW) for story in STORIES.values())
    page = next(each for each in pages if any(activity.progress is not None for activity in each.running))
    lines, bars = describe(page).splitlines(), describe(page, bars=True).splitlines()
    added = [line.strip() for line in bars if line not in lines]
    assert added
    assert all(re.fullmatch(r"\[#*\.*\]", line) for line in added)
    assert len(bars) == len(lines) + len([each for each in page.running if each.progress is not None])


def test_what_is_worst_comes_first_whoever_tells_of_it() -> None:
    found = json.loads(ask(api_server(STORIES["trouble"]), "-o", "json"))["findings"]
    assert [finding["severity"] for finding in found] == sorted(
        (finding["severity"] for finding in found),
        key=["Disaster", "Stalled", "Broken", "Unknown", "UnderWay", "ByPerson"].index,
    )
    assert found[0]["condition"] == "WALIntact"


def test_conditions_that_say_the_same_are_one_finding() -> None:
    page = json.loads(ask(api_server(STORIES["kafka_down"]), "-o", "json"))
    (finding,) = [each for each in page["findings"] if each["message"] == "no broker answers at kafka:9092"]
    assert {"Ready", "KafkaReachable"} == {*finding["condition"].split(", ")}
    assert finding["severity"] == "Broken"


@pytest.mark.parametrize(
    ("kind", "reason", "severity"),
    [
        ("DataPlaneConfigDiffers", "SecondPruner", "Stalled"),
        ("DataPlaneConfigDiffers", "ConfigDiffers", "Broken"),
        ("NearLimit", "LargeAnswer", "Stalled"),
        ("SharedWithStrimzi", "TopicsManagedByStrimzi", "Stalled"),
        ("SharedWithStrimzi", "RebalanceRunning", "UnderWay"),
    ],
)
def test_a_condition_that_is_named_after_what_is_wrong_is_well_when_it_is_false(
    kind: str, reason: str, severity: str
) -> None:
    kube = FakeKube()
    kube.apply(WAL, {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}})

    def findings(status: str) -> list[tuple[str, str]]:
        condition = {**ALL_WELL[0], "type": kind, "status": status, "reason": reason, "message": "…"}
        kube.write_raw_status(WAL, WALCluster, {"observedGeneration": 9, "conditions": [*ALL_WELL, condition]})
        page = json.loads(ask(kube, "-o", "json"))
        return [(each["condition"], each["severity"]) for each in page["findings"]]

    assert findings("False") == []
    assert findings("True") == [(kind, severity)]
    assert findings("Unknown") == [(kind, "Unknown")]


def test_a_wal_cluster_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(Refused, match=r"^there is no WALCluster db/wal$"):
        ask(FakeKube())


def test_objects_of_other_wal_clusters_are_not_shown() -> None:
    kube = api_server(STORIES["trouble"])
    kube.apply(Key(NAMESPACE, "other"), {"clusterRef": {"name": "other"}, "topics": {"*": "earliest"}}, kind=WALHold)
    kube.apply(Key("elsewhere", "same"), {"clusterRef": {"name": "wal"}, "topics": {"*": "earliest"}}, kind=WALHold)
    assert ask(kube) == ask(api_server(STORIES["trouble"]))


def test_a_page_stays_a_page_however_much_there_is_to_tell() -> None:
    kube, rows = FakeKube(), [{**row(0), "pod": f"datanode-{number}", "due": number > 2} for number in range(40)]
    kube.apply(WAL, {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}})
    reported_of = {"observedGeneration": 9, "conditions": ALL_WELL, "restart": {"stage": "Waiting", "datanodes": rows}}
    kube.write_raw_status(WAL, WALCluster, reported_of)
    for number in range(30):
        kube.apply(
            Key(NAMESPACE, f"held-{number}"), {"clusterRef": {"name": "wal"}, "topics": {"wal_0": 1}}, {}, WALHold
        )
    reported = ask(kube)
    assert len(reported.splitlines()) < 80
    assert "and 25 more: -o json has all" in reported, "37 datanodes that are due"
    assert reported.count("and 18 more: -o json has all") == 2, "30 holds that nobody has looked at"
    found = json.loads(ask(kube, "-o", "json"))
    assert (len(found["datanodes"]), len(found["holds"]), len(found["findings"])) == (40, 30, 30)


class Guarded(FakeKube):
    """A person may read WALClusters and nothing else."""

    def list(self, resource: type[ResourceT], namespace: str | None = None) -> Listing[ResourceT]:
        raise Forbidden(f"listing {resource.KIND.plural} in {namespace}: 403 forbidden")


def test_what_a_person_may_not_read_is_said_and_the_rest_is_shown() -> None:
    kube = Guarded()
    kube.apply(WAL, {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}})
    reported = ask(kube)
    assert "walholds could not be read: listing walholds in db: 403 forbidden" in reported
    assert reported.count("could not be read") == 8


def test_a_status_of_a_newer_operator_breaks_nothing() -> None:
    kube = FakeKube()
    kube.apply(WAL, {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}, "news": True})
    kube.write_raw_status(WAL, WALCluster, {"conditions": "many", "topics": 7, "kafka": {"clusterId": "one"}})
    assert "no operator has looked at it yet" in ask(kube)


@pytest.mark.parametrize(
    ("lease", "sentence"),
    [
        (None, "there is no Lease seawall/seawall, name it with --operator"),
        ({}, "nobody leads by the Lease seawall/seawall"),
        ({"spec": {"holderIdentity": "", "renewTime": "2026-11-22T09:29:59.000000Z"}}, "nobody leads"),
        (
            {"spec": {"holderIdentity": "pod-0", "renewTime": "2026-11-22T09:20:00.000000Z"}},
            "nobody leads; pod-0 was seen 10 min ago",
        ),
    ],
)
def test_who_tends_it_is_said_and_a_silent_operator_is_a_finding(
    lease: Mapping[str, Any] | None, sentence: str
) -> None:
    reported = ask(api_server(STORIES["healthy"]), lease=lease)
    assert sentence in reported
    assert ("NoLeader" in reported) is (lease is not None)


def test_a_roll_is_shown_datanode_by_datanode_while_it_goes_on() -> None:
    world = restart_world.World()
    world.annotate(restart="monday")
    world.settle(until=lambda: world.restart().stage == "Replaying" and world.restart().restarted == 1)
    page = json.loads(ask(world.kube, "-o", "json", now=world.time.time))
    (roll,) = page["running"]
    assert (roll["what"], roll["stage"], roll["waits"]) == ("Restart", "Replaying", False)
    progress = roll["progress"]
    assert (progress["done"], progress["total"], progress["unit"]) == (1, 3, "datanodes")
    assert datetime.fromisoformat(progress["eta"]) > world.time.time
    states = {line["pod"]: line["state"] for line in page["datanodes"]}
    first, now = world.went
    (last,) = states.keys() - {first, now}
    assert states == {first: "Serves", now: "Replaying", last: "Due"}
    assert page["maintenance_until"] is not None
    world.settle()
    page = json.loads(ask(world.kube, "-o", "json", now=world.time.time))
    assert page["running"] == []
    assert page["maintenance_until"] is None
    assert page["ended"][0]["message"] == "restarted 3 datanodes"
    assert {line["state"] for line in page["datanodes"]} == {"Serves"}


def test_a_roll_that_waits_says_for_what_and_promises_no_end() -> None:
    world = restart_world.World()
    world.kafka.offline.add(3)
    world.annotate(restart="monday")
    world.settle(until=lambda: world.restart().reason == "NotFullyInSync")
    (roll,) = json.loads(ask(world.kube, "-o", "json", now=world.time.time))["running"]
    assert (roll["stage"], roll["waits"]) == ("Waiting", True)
    assert "lacks an in-sync replica" in roll["message"]
    assert roll["progress"] == {"done": 0, "total": 3, "unit": "datanodes", "eta": None}
