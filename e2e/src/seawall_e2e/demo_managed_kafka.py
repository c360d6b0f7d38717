"""A part of the demo: a database on a Kafka that Seawall runs, whose nodes are restarted while rows are written."""

from __future__ import annotations

import json

from seawall_e2e import guide
from seawall_e2e.cluster import WALCluster, make_namespace
from seawall_e2e.commands import Object, kubectl
from seawall_e2e.managed_kafka import ManagedKafka, example
from seawall_e2e.refdb import RefDb, build_refdb_images, in_sight
from seawall_e2e.telling import follow, run_and_show, step, tell

NAMESPACE = "orders"
NAME = "managed"
PREFIX = "greptimedb_wal_topic"


def drop_former_kafka() -> None:
    """Removes what a former run left, volumes too; the namespace is there afterwards."""
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=180s", timeout=200)
    make_namespace(NAMESPACE)


def run_kafka() -> None:
    """A Kafka, a database on it, and a roll of its nodes that no row is lost by."""
    kafka = ManagedKafka(WALCluster(NAMESPACE, NAME))
    declared = example(NAMESPACE, PREFIX)
    declared["spec"]["dataPlane"] = in_sight(NAMESPACE)
    with step("A WALCluster that brings its own Kafka: three controllers, three brokers, and 64 topics on them"):
        kafka.apply(declared)
        kafka.wal.wait("AllOnline", kind="KafkaNodesHealthy", within=180)
        kafka.wal.wait("Ready", within=120)
        run_and_show("-n", NAMESPACE, "get", "walc,statefulsets")
    with step("A database on it, with the guide's table and rows"):
        database = RefDb(NAMESPACE, build_refdb_images())
        database.start()
        database.execute(guide.CREATE_TABLE, *guide.INSERTS)
        tell(f"{len(database.rows(guide.SELECT))} rows")
    with step("A config that brokers read at their start is edited: each node is restarted, while rows are written"):
        rows_outlive_a_roll(kafka, declared, database)


def rows_outlive_a_roll(kafka: ManagedKafka, declared: Object, database: RefDb) -> None:
    """Edits a config, inserts rows until all nodes have it, and counts."""
    before, written = len(database.rows(guide.SELECT)), [0]
    config = {**declared["spec"]["kafka"]["managed"]["config"], "num.replica.fetchers": "2"}
    patch = {"spec": {"kafka": {"managed": {"config": config}}}}
    run_and_show(*kafka.wal.patch_command(json.dumps(patch)))

    def look() -> tuple[str, bool]:
        (answer,) = database.execute(guide.INSERTS[0])
        if "code" in answer:
            raise AssertionError(f"a row was refused: {answer}")
        written[0] += 1
        said = kafka.wal.status()["managedKafka"].get("roll", {})
        return f"{said.get('stage')}: {said.get('message')}", said.get("stage") == "Completed"

    follow(look, "all nodes were restarted", within=500, explain=kafka.told)
    found = len(database.rows(guide.SELECT))
    if found != before + written[0]:
        raise AssertionError(f"{before} rows and {written[0]} inserts are {found} rows")
    tell(f"{written[0]} inserts were acknowledged meanwhile, one after another: {before} rows before, {found} now")
