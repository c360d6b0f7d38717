"""Stories of a bucket that is not the one that was written to any more: what was read of that counts for nothing."""

from __future__ import annotations

import json
from typing import Any

from seawall.api.v1alpha1.subscription_status import StopReason, SubscriptionState
from tests.worlds.purge_world import TOPICS
from tests.worlds.table_world import DECLARED, TableWorld
from tests.worlds.verification_world import why

COPIED = 40


def even() -> tuple[TableWorld, Any]:
    """All is committed, by a job that does nothing any more."""
    world = TableWorld()
    world.subscribe()
    process = world.subscriber()
    world.live(world.is_even, process)
    world.spark_operator_runs = False
    return world, process


def declare(world: TableWorld, **s3: Any) -> None:
    """The owner of the WALCluster edits where the bucket is."""
    bucket = {"name": "lake", "s3": {**DECLARED["buckets"][0]["s3"], **s3}}
    world.declare({**DECLARED, "buckets": [bucket]})


def assert_lost(world: TableWorld, process: Any) -> None:
    """At once; and the hold stays where it was."""
    found = world.live(process=process, ticks=3)
    assert {row.reason for row in found.status.worst} == {StopReason.TARGET_LOST}
    assert found.status.state is SubscriptionState.STOPPED
    assert "of wal_0 is gone from the bucket" in found.status.worst[0].message
    assert world.granted() == dict.fromkeys(TOPICS, COPIED)


def another_bucket_of_the_same_name_has_nothing() -> None:
    world, process = even()
    world.buckets.objects["other"] = {}
    declare(world, bucket="other")
    assert_lost(world, process)
    world.declare(DECLARED)
    found = world.live(process=process, ticks=3)
    assert found.status.worst == ()


def test_another_bucket_of_the_same_name_has_nothing() -> None:
    another_bucket_of_the_same_name_has_nothing()


def test_another_prefix_in_the_bucket_has_nothing() -> None:
    world, process = even()
    declare(world, prefix="elsewhere")
    assert_lost(world, process)


def a_bucket_that_somebody_empties_is_lost_and_resync_begins_anew() -> None:
    world, process = even()
    world.subscribe(suspend=True)
    world.live(lambda: not world.spark.applications, process)
    world.objects.clear()
    world.live(process=process, ticks=9)
    assert_lost(world, process)
    world.spark_operator_runs = True
    world.subscribe(suspend=False, resync="the bucket was emptied")
    found = world.live(world.is_even, process)
    assert why(found)[0] == "Streaming"
    assert world.objects
    assert all("/1/log/" in path for path in world.objects)


def test_a_bucket_that_somebody_empties_is_lost_and_resync_begins_anew() -> None:
    a_bucket_that_somebody_empties_is_lost_and_resync_begins_anew()


def a_bucket_that_was_moved_is_read_anew() -> None:
    """What it has of a commit of the same number is what counts."""
    world, process = even()
    moved = dict(world.objects)
    newest = max(path for path in moved if "/wal_0/" in path)
    moved[newest] = json.dumps({**json.loads(moved[newest]), "position": 10, "readFrom": 10}).encode()
    world.buckets.objects["other"] = moved
    declare(world, bucket="other")
    found = world.live(process=process, ticks=3)
    assert [(row.topic, row.applied, row.reason) for row in found.status.worst] == [("wal_0", 10, None)]
    assert world.granted() == dict.fromkeys(TOPICS, COPIED)


def test_a_bucket_that_was_moved_is_read_anew() -> None:
    a_bucket_that_was_moved_is_read_anew()


def a_commit_that_could_not_be_read_is_read_again() -> None:
    world, process = even()
    newest = max(path for path in world.objects if "/wal_0/" in path)
    body = json.loads(world.objects[newest])
    following = newest[:-25] + f"{body['number'] + 1:020}.json"
    world.write("wal_0", 30)
    world.objects[following] = b"{}"
    world.live(process=process, ticks=9)
    assert world.granted()["wal_0"] == COPIED
    commit = {**body, "number": body["number"] + 1, "position": 70, "readFrom": 70}
    world.objects[following] = json.dumps(commit).encode()
    world.committed[body["sourceTopicId"], f"wal_0/{body['generation']}"] = commit
    world.live(lambda: world.granted()["wal_0"] == 70, process)


def test_a_commit_that_could_not_be_read_is_read_again() -> None:
    a_commit_that_could_not_be_read_is_read_again()
