"""Whether the database is stopped: by its pods and by its reports, of which neither alone says so.

Pods that are gone may be those of another StatefulSet than the datanodes'; reports that do not come may be those of a
metasrv that started a moment ago. How long reports have not advanced is counted by our own monotonic clock: the
database's clock may be another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.restore.case import DatabaseNow
from seawall.domain.rollout.workload import Pod, StatefulSet
from seawall.domain.times import RESTORE_SILENT_AFTER

Newest = tuple[tuple[int, int, str], ...]
"""Of each datanode its epoch and the time of its newest report: what does not change while it is silent."""


@dataclass(frozen=True, slots=True)
class Silence:
    """What was reported last, and since when by our own monotonic clock that is all, in milliseconds."""

    newest: Newest
    since: int


def newest_of(reports: Iterable[DatanodeReport]) -> Newest:
    """What tells reports from later ones."""
    return tuple(sorted((each.datanode_id, each.node_epoch, each.reported_at.isoformat()) for each in reports))


def judge_reports(before: Silence | None, newest: Newest, now: int) -> tuple[Silence, DatabaseNow | None]:
    """What is to be remembered for the next time, and what the reports say; None: there are none (a new metasrv)."""
    # A metasrv forgets datanodes that are gone for long: one report less is no report.
    advances = before is not None and not set(newest) <= set(before.newest)
    silence = Silence(newest, now if before is None or advances else before.since)
    if not newest:
        return silence, None
    if advances:
        return silence, DatabaseNow(runs=True, message="datanodes report: stop all of them")
    wanted = RESTORE_SILENT_AFTER.total_seconds()
    if now - silence.since < wanted * 1000:
        return silence, DatabaseNow(None, f"it waits until no datanode has reported for {wanted:.0f} s")
    return silence, DatabaseNow(runs=False, message="no datanode reports")


PODS_NEEDED = DatabaseNow(
    None, "whether the database is stopped, its metasrv too, is only known by its pods: declare dataPlane.datanodes"
)
"""Of a restore that goes back, without them: a metasrv that remembers must be stopped, and then nobody reports."""


def judge_memory(found: DatabaseNow) -> DatabaseNow:
    """What is there of reports, where the logs will be those of an earlier time: nobody may remember newer ids then."""
    message = "the metasrv knows what the datanodes had, which is newer than what comes back: stop it, too"
    return found if found.runs is not False else DatabaseNow(runs=True, message=message)


def judge_pods(name: str, found: StatefulSet | None, pods: tuple[Pod, ...]) -> DatabaseNow:
    """What the declared StatefulSet says."""
    if found is None:
        message = f"there is no StatefulSet {name}, which the WALCluster names: whether the database runs is not known"
        return DatabaseNow(None, message)
    if pods or found.replicas:
        what = ", ".join(pod.key.name for pod in pods[:3]) or f"StatefulSet {name}"
        return DatabaseNow(runs=True, message=f"{what} runs: scale StatefulSet {name} to 0")
    return DatabaseNow(False, "no pod runs", f"{found.uid}/{found.generation}")


def judge_sets(found: Iterable[DatabaseNow]) -> DatabaseNow:
    """Of several StatefulSets: one that runs, or of which nobody knows, is enough."""
    each = tuple(found)
    worst = next((now for now in each if now.runs), None) or next((now for now in each if now.runs is None), None)
    if worst is not None:
        return worst
    if not each:
        return DatabaseNow(None, "whether the database runs is not known: it has no StatefulSet")
    return DatabaseNow(False, "no pod runs", ",".join(now.stopped_as or "" for now in each))


def judge(pods: DatabaseNow | None, reports: DatabaseNow | None) -> DatabaseNow:
    """Both together; None: no StatefulSet is declared, or nobody answers who knows a datanode."""
    if pods is None:
        return reports or DatabaseNow(None, "whether the database is stopped is not known: no metasrv knows a datanode")
    return pods if pods.runs is not False or reports is None or reports.runs is False else reports
