"""A database's log is mirrored by Spark on pods to a second Kafka, whose driver dies; then the copy is promoted."""

from __future__ import annotations

import pytest

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.cluster import PLAINTEXT
from seawall_e2e.commands import kubectl
from seawall_e2e.mirrors import Mirror, build_subscription_image, digests, second_kafka
from seawall_e2e.purges import FAST, Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.site import Site
from seawall_e2e.verifications import install_spark_operator
from seawall_e2e.waiting import wait_until


@pytest.fixture(scope="module")
def subscription_image(image: str) -> str:  # noqa: ARG001 - the cluster is up
    """The image of subscriptions, in the cluster, on which the Spark Operator is."""
    install_spark_operator()
    return build_subscription_image()


def mirror_while_rows_are_written(
    site: Site, purges: Purges, mirror: Mirror, servers: str, writing: AckedRows
) -> dict[str, int]:
    """Purged logs are mirrored, and the driver dies; what the source held for it at last."""
    with writing as rows:
        purges.apply_policy(topics=sorted(site.topics()), safety=FAST)
        wait_until(purges.entries_deleted, "records are purged", within=150, explain=purges.explain)
        purges.suspend()
        mirror.begin(servers)
        number = mirror.wait("Streaming", within=120)["run"]["number"]
        rows.wait_until_written_everywhere()
        kubectl("-n", site.namespace, "delete", "pod", f"dr-{number}-driver", "--force", "--grace-period=0")
        mirror.wait("Lagging")
        mirror.wait("Streaming", within=240)
        starts = site.log_starts()
        wait_until(
            lambda: all(offset > starts[topic] for topic, offset in mirror.held().items()),
            "the source keeps less, as the target has more",
            explain=mirror.explain,
        )
        rows.wait_until_written_everywhere()
    return mirror.held()


@pytest.mark.timeout(1200)
@pytest.mark.helm_values("replayVerification.create=true")
def test_a_mirror_has_every_record_at_its_offset_and_is_promoted(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str, subscription_image: str
) -> None:
    mirror = Mirror(site.wal_cluster(), subscription_image, "walsub")
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
