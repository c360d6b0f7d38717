"""`make demo`: Seawall's main job, from nothing, on real Kubernetes and real Kafka, step by step.

It may be run again: what a former run left is replaced. It leaves everything running.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import NamedTuple

from seawall_e2e import guide
from seawall_e2e.cluster import (
    BROKERS,
    Operator,
    WALCluster,
    build_operator_image,
    install_crds,
    make_namespace,
    scale_kafka,
    start_platform,
)
from seawall_e2e.commands import refusal_of
from seawall_e2e.demo_former_run import drop_former_run
from seawall_e2e.demo_managed_kafka import NAMESPACE as OWN_KAFKA
from seawall_e2e.demo_managed_kafka import drop_former_kafka, run_kafka
from seawall_e2e.demo_mirror import go_on_with_the_mirror
from seawall_e2e.demo_proof import PAGE, prove_and_purge
from seawall_e2e.demo_replicas import grow_replicas
from seawall_e2e.demo_restarts import meet_a_bad_record, restart_datanodes
from seawall_e2e.demo_restore import lose_kafka
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import INTERNAL_ERROR, WAL_CONFIG_MAP, RefDb, RefDbImages, build_refdb_images, in_sight
from seawall_e2e.restarts import RIGHTS
from seawall_e2e.telling import STARTED, echo, run_and_say, run_and_show, say, step, tell
from seawall_e2e.waiting import wait_until

OPERATOR_NAMESPACE = "seawall"
NAMESPACE = "databases"
SEAWALL = Operator(OPERATOR_NAMESPACE, "")
WAL = WALCluster(NAMESPACE, "wal")
PREFIX = "greptimedb_wal_topic"
RESYNC_SECONDS = 10
GUARDED = "RetentionGuarded"
SEVEN_DAYS_MS = 7 * 24 * 3600 * 1000
BOOTSTRAP = "kafka-0.kafka.kafka:9092"


class Entry(NamedTuple):
    """Where a row is in Kafka."""

    topic: str
    offset: int


def main() -> None:
    """Runs the demo; a failure shows what there is to see and ends with 1."""
    os.environ.setdefault("SEAWALL_STARTED", str(int(time.time())))  # the platform's scripts count from here, too
    try:
        begin()
        grow()
        repair_drift()
        refuse_edits()
        lose_a_broker()
        grow_replicas(NAMESPACE, build_operator_image())
        database, entries = recover_rows()
        purge(database, entries)
        prove_and_purge(database, Purges(WAL, SEAWALL), sorted({each.topic for each in entries}))
        restart_datanodes(WAL, database)
        meet_a_bad_record(WAL, database, Purges(WAL, SEAWALL), build_operator_image())
        lose_kafka(WAL, database)
        go_on_with_the_mirror(WAL, database, PREFIX, 128)
        run_kafka()
    except (AssertionError, subprocess.SubprocessError) as failed:
        print(f"\nFAILED: {failed}\n", flush=True)
        show_everything()
        sys.exit(1)
    print(f"\nDone in {time.monotonic() - STARTED:.0f} s. Everything is left running.\n\n{NEXT}")


def begin() -> None:
    """From nothing to a pool of 64 topics."""
    with step("Kubernetes with three Kafka brokers"):
        start_platform()
    with step(f"Seawall by Helm (resyncSeconds={RESYNC_SECONDS} instead of 60, so that drift is seen soon)"):
        operator = Operator(OPERATOR_NAMESPACE, build_operator_image())
        install_crds()
        make_namespace(OPERATOR_NAMESPACE)
        make_namespace(NAMESPACE)
        drop_former_kafka()
        operator.install(
            f"scope.namespaces={{{NAMESPACE},{OWN_KAFKA}}}",
            "managedKafka.enabled=true",
            "scope.releaseFinalizers=true",
            "replayVerification.create=true",
            RIGHTS,
            f"settings.resyncSeconds={RESYNC_SECONDS}",
        )
        run_and_show("-n", OPERATOR_NAMESPACE, "get", "pods")
        drop_former_run(WAL, PREFIX)
    with step("A WALCluster: 64 topics with 3 replicas each"):
        topics = {"prefix": PREFIX, "count": 64, "replicationFactor": 3}
        WAL.apply(topics, dataPlane=in_sight(NAMESPACE))
        wait_and_tell("Ready")
        show_wal()
        kafka_tool("kafka-topics", "--describe", "--topic", f"{PREFIX}_63")


def grow() -> None:
    """The pool grows by an edit."""
    with step("Grow the pool to 128 topics"):
        run_and_show(*WAL.patch_command('{"spec": {"topics": {"count": 128}}}'))
        wait_and_tell("Ready")
        show_wal()


def repair_drift() -> None:
    """Somebody gives a WAL topic a finite retention; the operator takes it away again."""
    topic = f"{PREFIX}_7"
    with step("Somebody sets retention.ms to 7 days on a topic, behind the operator's back"):
        before = {event["metadata"]["uid"] for event in WAL.events(GUARDED)}
        about_topic = ("--entity-type", "topics", "--entity-name", topic)
        kafka_tool("kafka-configs", "--alter", *about_topic, "--add-config", f"retention.ms={SEVEN_DAYS_MS}")
        changed = time.monotonic()
        event = wait_until(
            lambda: next((each for each in WAL.events(GUARDED) if each["metadata"]["uid"] not in before), None),
            f"the event {GUARDED}",
            within=RESYNC_SECONDS + 60,
        )
        tell(f"seen: event of type {event['type']}, {time.monotonic() - changed:.1f} s later")
        say(f"{event['reason']}: {event['message']}")
        kafka_tool("kafka-topics", "--describe", "--topic", topic)


def refuse_edits() -> None:
    """Edits that would endanger records are refused by the API server itself."""
    with step("Edits that would lose records are refused"):
        for edit in ({"count": 64}, {"config": {"retention.ms": "604800000"}}):
            command = WAL.patch_command(json.dumps({"spec": {"topics": edit}}))
            echo("kubectl", *command)
            say(refusal_of(*command))


def lose_a_broker() -> None:
    """A broker goes, is missed, and comes back."""
    with step("One of three brokers is taken away, and comes back"):
        try:
            tell(f"kafka is scaled to {BROKERS - 1} brokers")
            scale_kafka(BROKERS - 1)
            wait_and_tell("BrokersMissing")
            show_wal("-o", "wide")
        finally:
            tell(f"kafka is scaled to {BROKERS} brokers")
            scale_kafka(BROKERS)
        wait_and_tell("Ready")
        wait_until(WAL.is_fully_replicated, "every replica is in sync again", within=120, explain=WAL.explain)
        show_wal("-o", "wide")


def recover_rows() -> tuple[RefDb, list[Entry]]:
    """The demonstration of the remote-WAL guide: a killed datanode gets its rows back from Kafka.

    Returns the database, and where each row is in Kafka.
    """
    with step(f"A database whose [wal] is the ConfigMap {WAL_CONFIG_MAP}: metasrv, frontend, three datanodes (refdb)"):
        database = RefDb(NAMESPACE, build_refdb_images())
        database.start()
        run_and_show("-n", NAMESPACE, "get", "pods")
    with step("The guide's table in three regions, and its twelve rows"):
        for statement in (guide.CREATE_TABLE, *guide.INSERTS):
            say(statement)
        _, *inserted = database.execute(guide.CREATE_TABLE, *guide.INSERTS)
        before = show_rows(database)
    with step("kill -9 of datanode 0: the query fails; it starts again, and the rows are there"):
        with database.killed(0):
            (refused,) = database.execute(guide.SELECT)
            if refused.get("code") != INTERNAL_ERROR:
                raise AssertionError(f"{guide.SELECT} did not fail: {refused}")
            say(f"{guide.SELECT}\nERROR {refused['code']}: {refused['error']}")
        say("\n".join(line for line in database.log("datanode-0").splitlines() if "refdb.region.opener" in line))
        if show_rows(database) != before:
            raise AssertionError("the rows are not the same")
    return database, [Entry(each["regions"][0]["topic"], each["regions"][0]["entry_id"]) for each in inserted]


def purge(database: RefDb, entries: list[Entry]) -> None:
    """What the database no longer needs is deleted, and what a hold claims is not."""
    purges = Purges(WAL, SEAWALL)
    first, last = entries[0], entries[-1]
    held = min(each.offset for each in entries if each.topic == last.topic) + 2
    with step(f"A backup reads {last.topic} from offset {held}: a WALHold claims it"):
        purges.hold("backup", {last.topic: held}, reason="nightly backup")
        run_and_show("-n", NAMESPACE, "get", "walh")
    with step("A WALPurgePolicy for every hour, and one WALPurge now: regions flush, and what nobody needs goes"):
        purges.apply_policy(interval="1h", entries=1)
        before = database.rows(guide.SELECT)
        asked = {"topics": [first.topic, last.topic], "flush": {"whenBehindEntries": 1, "timeout": "10s"}}
        run = purges.purge_once("demo", **asked)
        run_and_show("-n", NAMESPACE, "get", "walp")
        if run.stage != "Completed" or run.topics.get("purged") != len({first.topic, last.topic}):
            raise AssertionError(f"it did not purge them: {run}\n{purges.explain()}")
        if database.rows(guide.SELECT) != before:
            raise AssertionError("the rows are not the same")
        tell(f"{run.entries_deleted} entries are gone from Kafka; the {len(before)} rows are all there, in Parquet")
    with step(f"Why does {last.topic} not shrink further?"):
        line = purges.ledger()[last.topic]  # by a look that began after the purge, which the command shows then, too
        run_and_say(*map(str, purges.ledger_command("--topic", last.topic)))
        if line["log_start"] != held or "backup" not in str(line["held_by"]):
            raise AssertionError(f"the hold at {held} did not keep it: {line}")


def show_rows(database: RefDb) -> list[list[object]]:
    """Prints the guide's rows, and returns them."""
    rows = database.rows(guide.SELECT)
    say("\n".join([guide.SELECT, *(f"{ts}  {n}  {number:2}" for ts, n, number in rows), f"{len(rows)} rows"]))
    return rows


def wait_and_tell(reason: str) -> None:
    """Waits until the WALCluster has a reason, and says how long that took."""
    started = time.monotonic()
    WAL.wait(reason, within=RESYNC_SECONDS + 120)
    tell(f"seen: {reason}, {time.monotonic() - started:.1f} s later")


def show_wal(*options: str) -> None:
    """Prints the WALCluster as `kubectl get` does."""
    run_and_show("-n", NAMESPACE, "get", "walc", WAL.name, *options)


def kafka_tool(tool: str, *options: str) -> None:
    """Runs one of Kafka's tools in a broker's pod; prints the command and what it says."""
    run_and_show("-n", "kafka", "exec", "kafka-0", "--", tool, "--bootstrap-server", BOOTSTRAP, *options)


def show_everything() -> None:
    """Prints what helps to understand a failure, as far as it is there."""
    database = RefDb(NAMESPACE, RefDbImages("none", "none"))
    for look in (WAL.explain, SEAWALL.log, database.explain):
        try:
            print(look(), flush=True)
        except AssertionError as failed:
            print(failed, flush=True)


NEXT = f"""\
Next, in a shell at the repository's root:

  eval "$(e2e/platform/cluster env)"                           # kubectl and helm for this cluster
  kubectl -n {NAMESPACE} get walc -w                             # watch it while you break things
  kubectl -n {NAMESPACE} describe walc wal                       # conditions and events
  kubectl -n {NAMESPACE} get configmap greptimedb-wal -o yaml    # the [wal] configuration for GreptimeDB
  kubectl -n {NAMESPACE} logs datanode-0                         # the replay of a region
  .venv/bin/seawall status wal -n {NAMESPACE}                    # what is wrong, what runs, what it waits for
  kubectl -n {NAMESPACE} annotate --field-manager=by-hand walc wal --overwrite seawall.dev/restart=again  # another roll
  kubectl -n {NAMESPACE} get walp,walv                           # the runs, and the proof that the last one waited for
  xdg-open {PAGE.name}                                   # what Spark read, and what a restart would replay
  kubectl -n kafka scale statefulset kafka --replicas=2        # lose a broker; --replicas=3 brings it back
  kubectl -n {OPERATOR_NAMESPACE} logs deployment/seawall -f
  .venv/bin/seawall report wal -n {NAMESPACE}                    # one archive: ledger, events, metrics, log
  kubectl explain walc.spec.topics
  .venv/bin/pytest -m soak e2e/test_greptimedb_operator.py     # a GreptimeDBCluster of greptimedb-operator
  make cluster-down                                            # stop everything"""


if __name__ == "__main__":
    main()
