"""A part of the demo: datanodes restart when their WAL can be read, and one meets a record that it cannot read."""

from __future__ import annotations

import json

from seawall_e2e import guide
from seawall_e2e.acked_rows import AckedRows, build_checker_image
from seawall_e2e.bad_records import copy_rows, crash, region_of, step_over, wait_for_diagnosis
from seawall_e2e.cluster import WALCluster, broker_away
from seawall_e2e.commands import Object, kubectl
from seawall_e2e.purges import SEAWALL, Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.restarts import STATEFUL_SET, follow_roll, roll_of
from seawall_e2e.telling import run_and_say, run_and_show, say, step, tell
from seawall_e2e.toolbox import Toolbox, toolbox_shell
from seawall_e2e.waiting import wait_until

WITHIN = 240.0
REQUEST = "kernel-update"


def restart_datanodes(wal: WALCluster, database: RefDb) -> None:
    """A roll under load, which first waits for a replica; its progress as the status tells it."""
    image = build_checker_image()
    with step(f"Seawall may restart the datanodes: spec.dataPlane.datanodes names StatefulSet {STATEFUL_SET}"):
        named = {"datanodes": {"statefulSetRef": {"name": STATEFUL_SET}}, "restart": {"replayBudget": "5m"}}
        run_and_show(*wal.patch_command(json.dumps({"spec": {"dataPlane": named}})))
        wal.wait("Serving", kind="DatanodesHealthy")
    with AckedRows(database, image) as rows:
        with (
            step("A restart of all datanodes is asked for while rows are written, and a broker is away: it is refused"),
            broker_away(),
        ):
            _ask(wal)
            refused = wait_until(lambda: _with_reason(wal, "NotFullyInSync"), "it is refused", explain=wal.explain)
            say(f"{refused['reason']}: {refused['message']}")
            tell("the broker comes back")
        with step("It goes on by itself, one datanode at a time: flush, maintenance, evict, replay, the next"):
            follow_roll(wal, REQUEST, within=WITHIN, explain=wal.explain)
            rows.wait_until_written_everywhere()
    with step("Was an acknowledged row lost?"):
        verdict = rows.judge()
        if not verdict["holds"] or verdict["lost"]:
            raise AssertionError(f"rows were lost: {verdict}")
        if database.in_maintenance():
            raise AssertionError("the database is still in maintenance")


def meet_a_bad_record(wal: WALCluster, database: RefDb, purges: Purges, image: str) -> None:
    """A crash loop, what Seawall says of it, what it keeps away, and how a person ends it without the loss of a row."""
    toolbox = Toolbox(wal.namespace, image, toolbox_shell(wal.namespace))
    toolbox.start()
    wrote = database.execute(*guide.INSERTS)[0]["regions"][0]
    before = database.rows(guide.SELECT)
    region = region_of(database, wrote)
    with step(f"Somebody writes a record without a key into {region.topic}, behind rows that only the log has"):
        bad = crash(database, toolbox, region)
        tell(f"it is at {bad.where}; datanode {region.datanode} starts, reads it, and ends, again and again")
        told = wait_for_diagnosis(wal)
        say(f"{told['reason']}: {told['message']}")
        if bad.where not in told["message"]:
            raise AssertionError(f"the diagnosis does not name {bad.where}: {told}")
        run_and_show("-n", wal.namespace, "get", "pods", "-l", "app.kubernetes.io/component=datanode")
        run_and_say(str(SEAWALL), "status", wal.name, "-n", wal.namespace)
    with step("Meanwhile no purge takes away what it still has to read"):
        run = purges.purge_once("meanwhile", topics=[region.topic])
        say("\n".join(f"{topic}: {reason}" for topic, reason in run.skipped.items()))
        if set(run.skipped) != {region.topic} or run.entries_deleted:
            raise AssertionError(f"something was deleted: {run}\n{purges.explain()}")
    with step("The way out (docs/restarting.md): copy the region's rows behind the record, and let it begin there"):
        tell(f"{copy_rows(toolbox, bad)} records from {bad.first} on are appended once more")
        step_over(database, bad)
        tell(f"the region's checkpoint is {bad.offset}, and datanode {region.datanode} is ready")
        wal.wait("Serving", kind="DatanodesHealthy")
        if database.rows(guide.SELECT) != before:
            raise AssertionError("the rows are not the same")
        tell(f"the {len(before)} rows are all there")
    toolbox.shell.close()
    kubectl("-n", wal.namespace, "delete", "pod", "toolbox", "--grace-period=1")


def _ask(wal: WALCluster) -> None:
    run_and_show("-n", wal.namespace, "annotate", "walc", wal.name, "--overwrite", f"seawall.dev/restart={REQUEST}")


def _with_reason(wal: WALCluster, reason: str) -> Object | None:
    status = roll_of(wal)
    return status if status.get("reason") == reason else None
