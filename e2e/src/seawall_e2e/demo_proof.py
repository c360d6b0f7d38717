"""The last part of the demo: a purge that waits for the proof that the log replays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seawall_e2e import guide
from seawall_e2e.cluster import REPOSITORY, build_operator_image
from seawall_e2e.commands import kubectl
from seawall_e2e.purges import FAST, Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.telling import run_and_show, say, step, tell
from seawall_e2e.toolbox import Toolbox, toolbox_shell
from seawall_e2e.verifications import Verification, Verifications, build_verification_image, install_spark_operator

PAGE = REPOSITORY / "verification.html"
"""Where the report's page is put for people; git ignores it."""
FLUSH = "ADMIN flush_table('dist_table')"
GATE = {**FAST, "requireVerification": {"level": "Integrity", "maxAge": "24h"}}


def prove_and_purge(database: RefDb, purges: Purges, topics: list[str]) -> None:
    """A gated purge refuses, a verification on Spark reads the log, and the same purge goes as far as it proved."""
    with step("Spark on the cluster: the Spark Operator, and the image of the replay verification"):
        install_spark_operator()
        verifications = Verifications(purges.wal, build_verification_image())
        run_and_show("-n", "spark-operator", "get", "pods")
    with step("The backup is done, rows are written; and from now on a purge needs proof that the log replays"):
        purges.let_go("backup")
        purges.apply_policy(interval="1h", entries=1, safety=GATE)
        _flush(database, purges, _newest(database.execute(*guide.INSERTS)))
        database.execute(*guide.INSERTS)
        run = purges.purge_once("unproved", topics=topics)
        _show(purges, "walp", run.name)
        say("\n".join(f"{topic}: {reason}" for topic, reason in run.skipped.items()))
        if set(run.skipped.values()) != {"VerificationMissing"} or run.entries_deleted:
            raise AssertionError(f"it was not refused: {run}\n{purges.explain()}")
    with step("A WALVerification: Spark reads what a restart of every region would read"):
        verifications.request("demo")
        seen = verifications.wait_until_over("demo")
        _show(purges, "walv", seen.name)
        _keep_report(verifications, seen)
    with step("The rest is flushed, too; the same purge goes as far as was proved, and no further"):
        _flush(database, purges, {topic: seen.verified_from[topic] for topic in topics})
        run = purges.purge_once("proved", topics=topics)
        _show(purges, "walp", run.name)
        ledger = purges.ledger()
        for topic in topics:
            line, proved = ledger[topic], seen.verified_from[topic]
            tell(f"{topic} starts at {line['log_start']}; the verification began to read at {proved}")
            if line["log_start"] != proved:
                raise AssertionError(f"it is not where the verification began: {line}\n{purges.explain()}")

    refuse_a_hole(database, purges, verifications, topics[0])


def refuse_a_hole(database: RefDb, purges: Purges, verifications: Verifications, topic: str) -> None:
    """A log with an offset that has no record would stop a restart for ever: it is no proof, and no purge goes on."""
    toolbox = Toolbox(purges.wal.namespace, build_operator_image(), toolbox_shell(purges.wal.namespace))
    toolbox.start()
    with step(f"Somebody writes to {topic} in a transaction, behind rows that only the log has: that leaves a hole"):
        database.execute(*guide.INSERTS)
        hole = toolbox.pierce(topic)
        answers = database.execute(*guide.INSERTS)
        verifications.request("holed", topics=[topic])
        seen = verifications.wait_until_over("holed")
        _show(purges, "walv", seen.name)
        tell(str(seen.message))
        found = [(each["kind"], each["topic"], each["offset"]) for each in seen.findings]
        if seen.outcome != "Failed" or ("OffsetsMissing", topic, hole) not in found:
            raise AssertionError(f"the hole at {hole} was not found: {seen}\n{verifications.explain()}")
    with step(
        "The rows are flushed, so that no restart reads the hole; and still nothing is deleted without a new proof"
    ):
        _flush(database, purges, _newest(answers))
        run = purges.purge_once("holed", topics=[topic])
        say("\n".join(f"{name}: {reason}" for name, reason in run.skipped.items()))
        if run.skipped != {topic: "VerificationMissing"} or run.entries_deleted:
            raise AssertionError(f"it was not refused: {run}\n{purges.explain()}")
    toolbox.shell.close()
    kubectl("-n", purges.wal.namespace, "delete", "pod", "toolbox", "--grace-period=1")


def _flush(database: RefDb, purges: Purges, needed: Mapping[str, int]) -> None:
    """Flushes what is in memory, and waits until the operator knows that these entries are no longer needed."""
    database.execute(FLUSH)
    purges.wait_until_unneeded(needed)


def _newest(answers: list[dict[str, Any]]) -> dict[str, int]:
    """Topic → the last entry of what was inserted."""
    entries = [region for answer in answers for region in answer["regions"]]
    return {each["topic"]: each["entry_id"] for each in sorted(entries, key=lambda each: int(each["entry_id"]))}


def _keep_report(verifications: Verifications, seen: Verification) -> None:
    if seen.outcome != "Passed":
        raise AssertionError(f"the log was not verified: {seen}\n{verifications.explain()}")
    tell(str(seen.message))
    _, page = verifications.report(seen)
    PAGE.write_text(page)
    tell(f"the report for people: {PAGE}")


def _show(purges: Purges, kind: str, name: str) -> None:
    run_and_show("-n", purges.wal.namespace, "get", kind, name)
