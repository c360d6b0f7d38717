"""Spark on pods hands rows on to a topic and to a bucket, and drivers die: each row is there once, and in order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from seawall_e2e.acked_rows import TABLE, AckedRows
from seawall_e2e.object_store import USER, start_object_store
from seawall_e2e.objects import find
from seawall_e2e.refdb import RefDb
from seawall_e2e.site import Site
from seawall_e2e.subscriptions import (
    Row,
    RowsInBucket,
    RowsInTopic,
    Subscription,
    digested,
    newest,
    targets_of,
)
from seawall_e2e.waiting import wait_until


def driver_is_another(subscription: Subscription, uid: str) -> bool:
    """Whether there is a driver after that which was killed, and it runs."""
    name = f"{subscription.name}-{subscription.status()['run']['number']}-driver"
    pod = find(subscription.wal.namespace, "pods", name)
    return pod is not None and pod["metadata"]["uid"] != uid and pod["status"]["phase"] == "Running"


def require_once_and_in_order(rows: Sequence[Row]) -> None:
    """No row of the log twice, and those of a topic of the log in its order."""
    places = [row[:3] for row in rows]
    assert len(set(places)) == len(places), "a row is there twice"
    for topic in {row.topic for row in rows}:
        own = [row[:3] for row in rows if row.topic == topic]
        assert own == sorted(own), f"rows of {topic} are not in the order of the log"


@pytest.mark.timeout(1500)
@pytest.mark.helm_values("replayVerification.create=true", f"secrets.names={{{USER}}}")
def test_rows_arrive_once_and_in_order_in_a_topic_and_in_a_bucket_while_drivers_die(
    site: Site, database_in_sight: RefDb, checker_image: str, subscription_image: str, s3_image: str
) -> None:
    store, wal = start_object_store(site.namespace, s3_image), site.wal_cluster()
    changes, lake = RowsInTopic(wal, subscription_image, "changes"), RowsInBucket(wal, subscription_image, "lake")
    changes.allow(**targets_of(store))
    both: tuple[Subscription, ...] = changes, lake
    with AckedRows(database_in_sight, checker_image) as writing:
        changes.begin()
        lake.begin()
        for each in both:
            each.wait("Streaming", within=300)
        writing.wait_until_written_everywhere()
        killed = {each: each.kill_driver() for each in both}
        for each, uid in killed.items():
            wait_until(lambda: driver_is_another(each, uid), "it begins again", within=240, explain=each.explain)  # noqa: B023 - at once
        writing.wait_until_written_everywhere(4)
        for each in both:
            each.wait("Streaming", within=240)
    ends = {topic: end for topic, (_, end) in site.toolbox.offsets(f"{site.prefix}_").items()}
    for each in both:
        wait_until(
            lambda: all(offset >= ends[topic] for topic, offset in each.held().items()),  # noqa: B023 - at once
            "the source keeps nothing for it any more",
            within=180,
            explain=each.explain,
        )
    of_topic, of_bucket = changes.rows(site.toolbox), lake.rows(store)
    require_once_and_in_order(of_topic)
    require_once_and_in_order(of_bucket)
    assert sorted(of_topic) == sorted(of_bucket)
    wanted = {digested(*row) for row in database_in_sight.rows(f"SELECT k, ts, v FROM {TABLE}")}  # noqa: S608 - a test database
    print(f"{len(of_topic)} rows once and in order in both, {len(wanted)} in the database")
    assert newest(of_topic) == newest(of_bucket) == wanted
    assert len(wanted) > 0
    changes.clear(site.toolbox)
