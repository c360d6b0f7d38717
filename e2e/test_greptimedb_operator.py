"""The real greptimedb-operator runs the reference database: Seawall finds it, purges it, and gates its restarts.

An edit of the GreptimeDBCluster restarts nobody by itself, because its partition keeps all datanodes. Seawall lets them
through one by one, when their WAL can be replayed, by the partitions of the StatefulSets. Kafka is reached by users,
Secrets and CRDs of Strimzi (docs/examples/strimzi); in the soak also in plain text, by a database of one StatefulSet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from seawall_e2e import kafka_users
from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.cluster import broker_away
from seawall_e2e.commands import kubectl
from seawall_e2e.greptimedb_operator import ManagedRefDb, install_greptimedb_operator
from seawall_e2e.invariants import InvariantSampler
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import RefDbImages
from seawall_e2e.restarts import SAFETY, DownSampler, Restarts
from seawall_e2e.shell import Shell
from seawall_e2e.site import Site
from seawall_e2e.strimzi import AUTHORITY, OPERATOR, StrimziExample, crds
from seawall_e2e.toolbox import Toolbox
from seawall_e2e.waiting import wait_until

RIGHTS = "greptimedbOperator.enabled=true"
GROUPS = {"a": 2, "b": 1}


@pytest.fixture(scope="module")
def initializer(image: str) -> str:  # noqa: ARG001 - the cluster is up
    """greptimedb-operator is there; the image of its init container."""
    return install_greptimedb_operator()


@contextmanager
def strimzi(site: Site, toolbox: Toolbox) -> Iterator[StrimziExample]:
    """Its example stands in the site's namespace. Its CRDs go: operators of other tests may not list what is theirs."""
    folder = str(crds())
    kubectl("apply", "--server-side", "-f", folder)
    try:
        kubectl("wait", "--for=condition=Established", "crd", "-l", "app=strimzi", "--timeout=30s")
        with closing(
            Shell(toolbox.namespace, "toolbox", ("python", "-c", Path(kafka_users.__file__).read_text()))
        ) as at:
            example = StrimziExample(site.namespace, site.prefix, at)
            example.start()
            try:
                yield example
            finally:
                example.stop()
    finally:
        kubectl("delete", "-f", folder, timeout=120)


def declare(site: Site, database: ManagedRefDb, example: StrimziExample | None) -> None:
    """The WALCluster of the documented example, with this site's topics, before there is a database."""
    values, kafka = [RIGHTS, "datanodes.statefulSets={" + ",".join(database.stateful_sets) + "}"], None
    if example is not None:
        kafka = example.external_kafka()
        values += ["strimzi.enabled=true", "secrets.names={" + f"{AUTHORITY},{example.name(OPERATOR)}" + "}"]
    site.install(*values)
    pool = site.pool(4, maxMessageBytes="16Ki")
    site.wal_cluster().apply(pool, kafka, dataPlane=database.data_plane())
    site.wal_cluster().wait("Ready")


def edited(database: ManagedRefDb, **changes: Any) -> dict[str, Any]:
    """The part of a GreptimeDBCluster's spec that an edit of all datanodes changes."""
    spec = database.spec()
    if database.groups:
        return {"datanodeGroups": [{**group, **changes} for group in spec["datanodeGroups"]]}
    return {"datanode": changes}


def config_of(spec: Mapping[str, Any]) -> str:
    """Of the first datanodes."""
    found = spec["datanode"] if "datanode" in spec else spec["datanodeGroups"][0]
    return str(found["config"])


# Six minutes. `make test` has both operators' real CRDs at an API server: contracts, examples, what people are told.
@pytest.mark.soak
def test_datanode_groups_restart_one_after_the_other_on_a_kafka_of_strimzi(
    site: Site, toolbox: Toolbox, refdb_images: RefDbImages, checker_image: str, initializer: str
) -> None:
    """Seawall and the database each are a KafkaUser, whose Secret has a password only, and trust the cluster's CA."""
    wal = site.wal_cluster()
    with strimzi(site, toolbox) as example:
        database = ManagedRefDb(
            site.namespace,
            refdb_images,
            region_failover=True,
            initializer=initializer,
            groups=GROUPS,
            patch=example.patch(),
        )
        purge_edit_and_roll(site, database, checker_image, example)
        wal.wait("NotShared", kind="SharedWithStrimzi")
        example.put_topic(f"{site.prefix}_0")
        wal.wait("TopicsManagedByStrimzi", kind="SharedWithStrimzi")
        example.delete_topic()
        wal.wait("NotShared", kind="SharedWithStrimzi")
        open_the_gate(site, database)


@pytest.mark.soak
def test_an_edit_of_the_greptimedbcluster_restarts_one_datanode_after_the_other_and_loses_no_row(
    site: Site, refdb_images: RefDbImages, checker_image: str, initializer: str
) -> None:
    database = ManagedRefDb(site.namespace, refdb_images, region_failover=True, initializer=initializer)
    purge_edit_and_roll(site, database, checker_image)
    open_the_gate(site, database)


def open_the_gate(site: Site, database: ManagedRefDb) -> None:
    """An edit lowers the partition: Seawall says that Kubernetes restarts by itself then."""
    database.edit(edited(database, rollingUpdate={"partition": 0, "maxUnavailable": 1}))
    site.wal_cluster().wait("PartitionOpen", kind="RestartsGated")


def purge_edit_and_roll(
    site: Site, database: ManagedRefDb, checker_image: str, example: StrimziExample | None = None
) -> None:
    """A database is made, its log purged, and an edit rolls it while rows are written."""
    restarts, purges, wal = Restarts(site, database), Purges(site.wal_cluster(), site.operator), site.wal_cluster()
    declare(site, database, example)
    wal.wait("GreptimeDBClusterMissing", kind="DataPlaneReachable")
    database.start()
    for kind, reason in (
        ("DataPlaneReachable", "Connected"),
        ("DataPlaneConfigDiffers", "ConfigNotPasted"),
        ("RestartsGated", "Gated"),
        ("DatanodesHealthy", "Serving"),
    ):
        wal.wait(reason, kind=kind)
    before = restarts.uids()
    with (
        AckedRows(database, checker_image) as rows,
        InvariantSampler(site, rows) as sampler,
        DownSampler(database) as down,
    ):
        purges.apply_policy(safety=SAFETY)
        rows.wait_until_written_everywhere()
        wait_until(purges.entries_deleted, "records are purged", within=150, explain=purges.explain)
        with broker_away():
            # Pasting what was missing is an edit as any other.
            database.edit(edited(database, config=config_of(database.spec()).replace('"1MB"', '"16KB"')))
            refused = restarts.wait_for_reason("NotFullyInSync")
            assert restarts.uids() == before
        done = restarts.wait_for_stage("Completed", within=200)
        wal.wait("AsDeclared", kind="DataPlaneConfigDiffers")
        rows.wait_until_written_everywhere()
        sampler.check()
    purges.suspend()
    purges.wait_until_over()
    verdict = rows.judge()
    print(done, f"{down.samples} samples of pods, {sampler.samples} of invariants", sep="\n")

    assert "lacks an in-sync replica" in refused["message"]
    assert done["restarted"] == database.datanodes
    assert set(before) == down.seen
    assert not set(before.values()) & set(restarts.uids().values())
    assert len(down.most) == 1, f"{sorted(down.most)} were down at once"
    wait_until(
        lambda: database.partitions() == dict.fromkeys(database.stateful_sets, 1000),
        "the gate is shut",
        explain=restarts.explain,
    )
    assert verdict["holds"]
    assert verdict["lost"] == 0
    wait_until(lambda: not database.in_maintenance(), "maintenance is given back", explain=restarts.explain)
