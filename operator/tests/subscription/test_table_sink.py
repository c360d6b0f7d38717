"""Stories of WALSubscriptions whose rows go to a bucket, on the in-memory ports."""

from __future__ import annotations

import json

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.subscription_status import HandedOn, StopReason, SubscriptionState
from seawall.observe.chains import find_newest
from tests.fakes.object_store import FakeObjectStores
from tests.subscription.test_records_sink import begins_what_has_a_gap_anew, begins_with_a_snapshot, make_table
from tests.worlds.purge_world import NAMESPACE, TOPICS
from tests.worlds.table_world import BUCKET, DECLARED, KEY, PASSWORD, SPEC, TableWorld
from tests.worlds.verification_world import why


def put_key(world: TableWorld, secret: str) -> None:
    """Seawall's own."""
    key = {"accessKeyId": KEY.encode(), "secretAccessKey": secret.encode()}
    world.kube.secrets[Key(NAMESPACE, "reader-key")] = key


def test_rows_go_to_a_bucket_from_the_log_start_and_the_hold_follows_the_commits() -> None:
    world = TableWorld()
    world.subscribe()
    found = world.live(world.is_even)
    assert why(found) == ("Streaming", "the rows of 3 topics go to bucket lake")
    assert {name: world.rows_of(name) for name in TOPICS} == {name: list(range(40)) for name in TOPICS}
    (request,) = world.requests()
    assert (request["sink"], "target" in request, "records" in request) == ("Table", False, False)
    assert request["table"]["s3"]["bucket"] == BUCKET
    assert (request["table"]["commitMilliseconds"], request["table"]["maxFileBytes"]) == (30_000, 128 << 20)
    assert world.target.topics == {}, "no Kafka is written to"
    assert found.status.target_cluster_id is None
    world.live(lambda: world.subscription().status.handed_on == HandedOn(rows=120, dead_letters=0))


def test_nothing_is_read_before_the_hold_is_granted() -> None:
    world = TableWorld(auto_prune="Physical")
    world.subscribe()
    found = world.live(ticks=40)
    assert (world.objects, world.spark.specs) == ({}, {})
    assert found.status.state is SubscriptionState.HOLDING


def test_the_hold_stays_where_an_entry_began_that_is_not_whole() -> None:
    world = TableWorld(open_from={"wal_1": 33})
    world.subscribe()
    world.live(lambda: world.needed_from() == {"wal_0": 40, "wal_1": 33, "wal_2": 40} == world.granted())


def test_a_table_that_is_made_later_is_in_from_its_first_row() -> None:
    world = TableWorld()
    process = world.subscriber()
    world.subscribe(tables={"include": ["public.*"]})
    world.live(world.is_even, process)
    make_table(world)
    world.live(world.is_even, process)
    assert world.rows_of("wal_0") == list(range(45))


def test_what_is_no_commit_of_its_own_moves_no_hold() -> None:
    world = TableWorld()
    world.subscribe()
    world.live(world.is_even)
    world.spark_operator_runs = False
    world.write("wal_0", 30)
    newest = max(name for name in world.objects if "/wal_0/" in name)
    body = json.loads(world.objects[newest])
    number = body["number"]
    for foreign in ({"writer": "somebody"}, {"topic": "wal_1"}, {"generation": 7}, {"readFrom": -1}, {"version": 2}):
        number += 1
        forged = {**body, "position": 70, "readFrom": 70, **foreign}
        world.objects[newest[:-25] + f"{number:020}.json"] = json.dumps(forged).encode()
        world.live(ticks=30)
        assert world.granted()["wal_0"] == 40


def test_it_begins_with_a_snapshot_whose_volume_all_pods_have_and_another_one_is_another_run() -> None:
    begins_with_a_snapshot(TableWorld())


def test_a_gap_begins_anew_as_another_chain() -> None:
    begins_what_has_a_gap_anew(TableWorld())


def test_a_record_without_rows_stops_its_topic_until_it_may_be_put_aside() -> None:
    world = TableWorld(unreadable={"wal_1": 17})
    world.subscribe()
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.STOPPED)
    (stopped,) = [row for row in found.status.topics if row.stopped]
    assert (stopped.stopped, stopped.offset) == (StopReason.UNREADABLE, 17)
    world.subscribe(sink={"table": {**SPEC["sink"]["table"], "deadLetters": True}}, resync="put it aside")
    world.live(world.is_even)
    assert world.rows_of("wal_1") == list(range(40))


def test_seawall_reads_with_a_key_of_its_own_and_says_what_the_store_says() -> None:
    s3 = {**DECLARED["buckets"][0]["s3"], "readerCredentialsSecretRef": {"name": "reader-key"}}
    world = TableWorld(declared={**DECLARED, "buckets": [{"name": "lake", "s3": s3}]})
    world.buckets.secrets[KEY] = PASSWORD
    world.subscribe()
    found = world.live(lambda: why(world.subscription())[0] == "TargetAccess")
    assert "reader-key" in why(found)[1]
    put_key(world, "other-password")
    found = world.live(lambda: "SignatureDoesNotMatch" in why(world.subscription())[1])
    assert why(found)[0] == "TargetAccess"
    assert "other-password" not in why(found)[1]
    put_key(world, PASSWORD)
    world.live(world.is_even)


def test_while_the_store_is_silent_the_hold_stays_and_what_runs_goes_on() -> None:
    world = TableWorld()
    world.subscribe()
    world.live(world.is_even)
    world.buckets.is_silent = True
    world.write("wal_1", 10)
    found = world.live(lambda: why(world.subscription())[0] == "TargetUnreachable")
    assert found.status.state is SubscriptionState.STREAMING
    assert world.granted()["wal_1"] == 40
    world.buckets.is_silent = False
    world.live(world.is_even)


def test_a_bucket_that_is_not_declared_is_not_written_to() -> None:
    world = TableWorld(declared={**DECLARED, "buckets": [{**DECLARED["buckets"][0], "name": "sea"}]})
    world.subscribe()
    found = world.live(lambda: why(world.subscription())[0] == "TargetNotDeclared")
    assert "does not declare a bucket lake in spec.subscription.buckets" in why(found)[1]


@pytest.mark.parametrize("count", [0, 1, 999, 1_000, 1_001, 2_000, 31_337])
@pytest.mark.parametrize("known", [-1, 0, 998])
def test_the_newest_commit_is_found_in_a_chain_of_any_length(count: int, known: int) -> None:
    stores = FakeObjectStores()
    stores.objects["b"] = {f"chain/{number:020}.json": b"" for number in range(count)}
    asked = []

    class Counting:
        def names(self, folder: str, after: str = "") -> list[str]:
            asked.append(after)
            found = sorted(name.removeprefix(f"{folder}/") for name in stores.objects["b"])
            return [name for name in found if name > after][:1_000]

        def get(self, path: str) -> bytes | None:
            raise AssertionError(path)

    known = min(known, count - 1)
    assert find_newest(Counting(), "chain", known) == count - 1
    assert len(asked) < 20
