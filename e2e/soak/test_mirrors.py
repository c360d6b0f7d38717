"""Spark on pods mirrors a log to a second Kafka, and its driver dies; then the database goes on with the copy.

How long it takes from a driver's death to the next record that is applied: results/mirrors.json.
"""

from __future__ import annotations

import time

import pytest

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.cluster import PLAINTEXT
from seawall_e2e.commands import kubectl
from seawall_e2e.mirrors import Mirror, digests, ends_of, second_kafka
from seawall_e2e.objects import find
from seawall_e2e.purges import FAST, Purges
from seawall_e2e.refdb import DATANODES, WAL_CONFIG_MAP, RefDb, in_sight
from seawall_e2e.site import Site
from seawall_e2e.soak import write_counts
from seawall_e2e.waiting import wait_until

RESTART_SECONDS = 60
"""What a driver that dies may cost."""


def mirror_while_rows_are_written(
    site: Site, purges: Purges, mirror: Mirror, servers: str, writing: AckedRows
) -> dict[str, int]:
    """Purged logs are mirrored, and the driver dies; what the source held for it at last."""
    with writing as rows:
        purges.apply_policy(topics=sorted(site.topics()), safety=FAST)
        wait_until(purges.entries_deleted, "records are purged", within=150, explain=purges.explain)
        purges.suspend()
        mirror.begin(servers)
        mirror.wait("Streaming", within=120)
        rows.wait_until_written_everywhere()
        dark = seconds_until_it_applies(site, mirror, servers)
        print(f"{dark:.1f} s from the driver's death to the next record that is applied")
        write_counts("mirrors", {"seconds without a driver": round(dark, 1), "goal": RESTART_SECONDS})
        mirror.wait("Streaming", within=240)
        starts = site.log_starts()
        wait_until(
            lambda: all(offset > starts[topic] for topic, offset in mirror.held().items()),
            "the source keeps less, as the target has more",
            explain=mirror.explain,
        )
        rows.wait_until_written_everywhere()
    return mirror.held()


def seconds_until_it_applies(site: Site, mirror: Mirror, servers: str) -> float:
    """Kills a driver while rows are written; for how long nothing was applied then, by our own stopwatch."""
    topics = sorted(site.topics())
    killed = time.monotonic()
    mirror.kill_driver()
    mirror.wait("Lagging")  # executors of the driver that is dead may have applied something until now
    before = ends_of(site.toolbox, servers, topics)

    def goes_on() -> bool:
        now = ends_of(site.toolbox, servers, topics)
        return any(now[topic] > before[topic] for topic in topics)

    wait_until(goes_on, "records are applied again", within=240, every=0.2, explain=mirror.explain)
    return time.monotonic() - killed


def goes_on_with_the_copy(site: Site, database: RefDb, rows: AckedRows, servers: str) -> None:
    """A WALCluster of the other Kafka takes the place of the first; all of it is killed once more after new rows."""
    count = len(site.topics())
    database.stop()
    kubectl("-n", site.namespace, "delete", "walc", "wal")
    wait_until(lambda: find(site.namespace, "configmaps", WAL_CONFIG_MAP) is None, "its configuration went with it")
    moved = site.wal_cluster("elsewhere")
    moved.apply(
        site.pool(count, replicationFactor=1), kafka={"bootstrapServers": [servers]}, dataPlane=in_sight(site.namespace)
    )
    wait_until(lambda: find(site.namespace, "configmaps", WAL_CONFIG_MAP), "the other Kafka's is there")
    old = site.toolbox.offsets(f"{site.prefix}_")
    database.start_again()
    moved.wait("Ready", within=120)
    assert rows.judge()["holds"], "a row that was acknowledged on the old Kafka is lost"
    with rows:
        rows.wait_until_written_everywhere()
        with database.killed(*range(DATANODES)):
            pass
        rows.wait_until_written_everywhere()
    assert rows.judge()["holds"], "a row that was acknowledged on the copy is lost"
    assert site.toolbox.offsets(f"{site.prefix}_") == old, "it writes to the old Kafka"


@pytest.mark.timeout(1200)
@pytest.mark.helm_values("replayVerification.create=true")
def test_a_mirror_has_every_record_at_its_offset_and_is_promoted(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str, subscription_image: str
) -> None:
    mirror = Mirror(site.wal_cluster(), subscription_image)
    with second_kafka() as servers:
        rows = AckedRows(database_in_sight, checker_image)
        held = mirror_while_rows_are_written(site, purges, mirror, servers, rows)
        logs = site.toolbox.offsets(f"{site.prefix}_")
        mirror.edit(promote="Switchover")
        done = mirror.wait("Promoted", within=300)
        ours, theirs = digests(site.toolbox, ",".join(PLAINTEXT), logs), digests(site.toolbox, servers, logs)
        print(done, logs, held, sep="\n")
        assert ours == theirs
        assert done["promotion"]["lostEntries"] == 0
        assert all(offset <= logs[topic][1] for topic, offset in held.items())
        wait_until(lambda: mirror.hold() is None, "the hold is gone")
        goes_on_with_the_copy(site, database_in_sight, rows, servers)


@pytest.mark.timeout(600)
@pytest.mark.helm_values("replayVerification.create=true")
def test_a_mirror_that_is_deleted_while_it_streams_leaves_nothing_but_its_copy(
    site: Site, database_in_sight: RefDb, checker_image: str, subscription_image: str
) -> None:
    mirror = Mirror(site.wal_cluster(), subscription_image)
    with second_kafka() as servers:
        with AckedRows(database_in_sight, checker_image) as rows:
            mirror.begin(servers)
            mirror.wait("Streaming", within=120)
            rows.wait_until_written_everywhere()
            held = mirror.held()
            wait_until(lambda: mirror.held() != held, "it copies", explain=mirror.explain)
            kinds = {name.partition("/")[0].partition(".")[0] for name in mirror.left()}
            assert kinds == {"walsubscription", "walhold", "configmap", "sparkapplication", "pod"}
            mirror.delete()
        ends = ends_of(site.toolbox, servers, sorted(site.topics()))
        assert any(ends.values())
        logs = {topic: (0, end) for topic, end in ends.items() if end}
        assert digests(site.toolbox, ",".join(PLAINTEXT), logs) == digests(site.toolbox, servers, logs)
