"""A WALCluster is pointed at a second database that looks the same: its own etcd, the same table and region ids.

Both databases are written to all the while. Nothing is deleted, the WALCluster says why, and all goes on once the
address is right again. The checker finds every acknowledged row in both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.cluster import make_namespace
from seawall_e2e.commands import kubectl
from seawall_e2e.objects import apply, delete, get, items
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import WAL_CONFIG_MAP, RefDb, RefDbImages, in_sight
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

STAGING_CONFIG = "staging-wal"
OTHER = "is gone from the metadata store"
"""Both etcds were bootstrapped alike, so even their ids are the same: what the second one lacks is the claim."""


def test_a_walcluster_that_is_pointed_at_a_second_database_purges_nothing_and_says_so(
    site: Site, database_in_sight: RefDb, purges: Purges, refdb_images: RefDbImages, checker_image: str
) -> None:
    wal = site.wal_cluster()
    with (
        staging(site, refdb_images) as second,
        AckedRows(database_in_sight, checker_image) as rows,
        AckedRows(second, checker_image) as others,
    ):
        purges.apply_policy()
        ours = f"{site.prefix}_"
        wait_until(
            lambda: min(starts(site, ours)) > 0, "all topics shrink", within=150, every=1, explain=purges.explain
        )
        assert wal.status()["dataPlane"]["claimed"] is True
        before_id = wal.status()["dataPlane"]["identity"]
        point(site, second.namespace)
        stalled = wal.wait("DatabaseChanged")
        before = starts(site, ours)
        rows.wait_for_more(100, readings=1)
        others.wait_for_more(100, readings=1)
        wait_until(
            lambda: finds_another_database(site), "a run finds another database", every=1, explain=purges.explain
        )
        assert starts(site, ours) == before
        point(site, site.namespace)
        wal.wait("Ready")
        wait_until(
            lambda: all(now > then for now, then in zip(starts(site, ours), before, strict=True)),
            "the topics shrink again",
            within=150,
            every=1,
            explain=purges.explain,
        )
        purges.suspend()
        purges.wait_until_over()
        verdicts = [rows.judge(), others.judge()]

    message = next(each["message"] for each in stalled["status"]["conditions"] if each["type"] == "Stalled")
    assert OTHER in message
    assert f"metadata store {before_id}" in message
    assert [verdict["lost"] for verdict in verdicts] == [0, 0]
    assert all(verdict["holds"] and verdict["acked"] >= 200 for verdict in verdicts)


def starts(site: Site, prefix: str) -> list[int]:
    """Where the logs of the first database begin."""
    return [start for topic, start in sorted(site.log_starts().items()) if topic.startswith(prefix)]


def point(site: Site, namespace: str) -> None:
    """Somebody edits the addresses of the database."""
    merge = {"spec": {"dataPlane": {"greptimedb": in_sight(namespace)["greptimedb"]}}}
    kubectl(*site.wal_cluster().patch_command(json.dumps(merge)))


def finds_another_database(site: Site) -> bool:
    """Whether a run waits because another database answers."""
    conditions = (each for run in items(site.namespace, "walpurges") for each in run["status"].get("conditions", ()))
    return any(OTHER in each["message"] for each in conditions)


@contextmanager
def staging(site: Site, images: RefDbImages) -> Iterator[RefDb]:
    """A second database in a namespace of its own, on other topics of the same Kafka: a second WALCluster's."""
    second = site.wal_cluster("staging")
    topics = {**site.pool(4, maxMessageBytes="16Ki"), "prefix": f"{site.namespace}_staging"}
    second.apply(topics, dataPlane={"walConfig": {"configMapName": STAGING_CONFIG}})
    second.wait("Ready")
    namespace = f"{site.namespace}-staging"
    make_namespace(namespace)
    try:
        rendered = get(site.namespace, "configmaps", STAGING_CONFIG)["data"]
        metadata = {"name": WAL_CONFIG_MAP, "namespace": namespace}
        apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": rendered})
        database = RefDb(namespace, images, region_failover=True)
        database.start()
        yield database
    finally:
        for kind in ("deployments", "statefulsets", "pods"):
            delete(namespace, kind, gracePeriodSeconds="0")
        delete(None, "namespaces", namespace)
        site.toolbox.delete_topics(f"{site.namespace}_staging_")
