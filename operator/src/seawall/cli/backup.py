"""`seawall backup begin|end|list`: a restore point around the database's own snapshot, and what there is to go back to.

seawall backup begin before-upgrade --cluster wal
<take the database's own snapshot, of its metadata first and then of its files>
seawall backup end before-upgrade --snapshot s3://snapshots/2026-11-25
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from seawall.api.meta import GROUP, MAX_SNAPSHOT, SNAPSHOT_ANNOTATION, VERSION, ConditionType
from seawall.api.v1alpha1.backup import WAL_BACKUP, is_snapshot_name
from seawall.api.v1alpha1.backup_template import BackupLevel
from seawall.api.v1alpha1.spark_job import OVER, JobStage
from seawall.cli.connection import add_connection
from seawall.cli.follow import ChangingApi, Status, condition_of, follow, message_of
from seawall.cli.listing import ObjectList
from seawall.cli.session import Session
from seawall.domain.errors import Refused

COLUMNS = {
    "NAME": "name",
    "STAGE": "stage",
    "CHAIN": "chain",
    "POINT": "point",
    "SNAPSHOT": "snapshot",
    "VERIFIED": "verified",
    "RECORDS": "records",
    "STORED": "stored",
    "COMPLETED": "completed",
}
"""Heading → field of a row."""
WIDE = {"CLUSTER": "cluster", "PARENT": "parent", "MESSAGE": "message"}


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall backup`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    begin = verbs.add_parser("begin", help="hold the log for a restore point, and wait until the snapshot may be taken")
    end = verbs.add_parser("end", help="say that the snapshot is taken, and wait until the log is backed up beyond it")
    listed = verbs.add_parser("list", help="the backups of a namespace, and their restore points")
    for verb in (begin, end):
        verb.add_argument("name", help="of the restore point, and of its WALBackup")
    for verb in (begin, end):
        add_connection(verb)
    BACKUPS.add_arguments(listed)
    begin.add_argument("--cluster", required=True, help="name of the WALCluster")
    begin.add_argument("--continues", help="name of a WALBackup whose chain goes on; default: a full backup")
    begin.add_argument("--timeout", default="1h", help="how long the snapshot may take")
    levels = [level.value for level in BackupLevel]
    begin.add_argument("--level", choices=levels, default=BackupLevel.CHECKSUMS.value, help="what is proved of it")
    end.add_argument("--snapshot", required=True, help="what the snapshot is called: whoever restores needs it")


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed, piece by piece: `backup`."""
    yield from backup(arguments, session.api, session.pause)


def backup(arguments: argparse.Namespace, api: ChangingApi, pause: Callable[[], None]) -> Iterator[str]:
    """What is printed, piece by piece; `pause` passes the time between two looks at the backup.

    Raises:
        Refused: there is no such backup, it holds no log now, the person may not, or it failed.
        Conflict: it changed meanwhile.
        OutsideUnavailable: the API server did not answer.
    """
    where = f"/apis/{GROUP}/{VERSION}/namespaces/{arguments.namespace}/{WAL_BACKUP.plural}"
    match arguments.verb:
        case "begin":
            yield from _begin(arguments, api, where, pause)
        case "end":
            yield from _end(arguments, api, f"{where}/{arguments.name}", pause)
        case _:
            yield from BACKUPS.show(arguments, api.get, pause)


def _begin(arguments: argparse.Namespace, api: ChangingApi, where: str, pause: Callable[[], None]) -> Iterator[str]:
    spec: dict[str, Any] = {
        "clusterRef": {"name": arguments.cluster},
        "bracket": {"name": arguments.name, "timeout": arguments.timeout},
        "verify": {"level": arguments.level},
    }
    if arguments.continues is not None:
        spec["parentRef"] = {"name": arguments.continues}
    kind = {"apiVersion": f"{GROUP}/{VERSION}", "kind": WAL_BACKUP.kind}
    api.create(where, {**kind, "metadata": {"name": arguments.name}, "spec": spec})
    yield f"walbackup/{arguments.name} created"
    status = yield from follow(api, f"{where}/{arguments.name}", "backup", pause, _may_go_on)
    if not _is_bracketed(status):
        raise Refused(f"the backup is {status.get('stage')}: {message_of(status)}")
    yield (
        "The log is held: take the snapshot now, of the metadata first and then of the files; "
        f"then `seawall backup end {arguments.name} --snapshot <its name>`."
    )


def _end(arguments: argparse.Namespace, api: ChangingApi, path: str, pause: Callable[[], None]) -> Iterator[str]:
    found = api.get(path)
    if found is None:
        raise Refused(f"there is no WALBackup {arguments.namespace}/{arguments.name}")
    if not _is_recorded(found, arguments.snapshot):
        _record(found, arguments, api, path)
    status = yield from follow(api, path, "backup", pause, _is_over)
    if status.get("stage") == JobStage.FAILED:
        raise Refused(f"there is no restore point {arguments.name}: {message_of(status)}")
    yield f"Completed: {message_of(status)}"
    yield f"Restore point {arguments.name} belongs to snapshot {arguments.snapshot}: keep the two together."


def _is_recorded(found: Mapping[str, Any], snapshot: str) -> bool:
    """Whether somebody has said so before: whoever was interrupted asks again, and follows."""
    return bool(found["metadata"].get("annotations", {}).get(SNAPSHOT_ANNOTATION) == snapshot)


def _record(found: Mapping[str, Any], arguments: argparse.Namespace, api: ChangingApi, path: str) -> None:
    status = found.get("status", {})
    if not _is_bracketed(status):
        raise Refused(f"WALBackup {arguments.name} holds no log for a snapshot now: {message_of(status)}")
    if not is_snapshot_name(arguments.snapshot):
        raise Refused(f"a snapshot's name has at most {MAX_SNAPSHOT} printable characters of ASCII")
    version = found["metadata"]["resourceVersion"]
    annotations = {SNAPSHOT_ANNOTATION: arguments.snapshot}
    api.merge(path, {"metadata": {"resourceVersion": version, "annotations": annotations}})


def _is_bracketed(status: Status) -> bool:
    return condition_of(status, ConditionType.BRACKETED).get("status") == "True"


def _is_over(status: Status) -> bool:
    return status.get("stage") in OVER


def _may_go_on(status: Status) -> bool:
    return _is_bracketed(status) or _is_over(status)


def _row(backup_: Mapping[str, Any]) -> dict[str, Any]:
    status = backup_.get("status", {})
    point, counts = status.get("restorePoint", {}), status.get("counts", {})
    is_whole = status.get("stage") == JobStage.COMPLETED
    return {
        "name": backup_["metadata"]["name"],
        "stage": status.get("stage"),
        "chain": status.get("chain"),
        "point": point.get("name") if is_whole else None,
        "snapshot": point.get("snapshot") if is_whole else None,
        "verified": status.get("verified", {}).get("level"),
        "records": counts.get("records"),
        "stored": counts.get("storedBytes"),
        "completed": status.get("completionTime"),
        "cluster": backup_["spec"]["clusterRef"]["name"],
        "parent": backup_["spec"].get("parentRef", {}).get("name"),
        "message": message_of(status) or None,
    }


BACKUPS = ObjectList(WAL_BACKUP, _row, COLUMNS, WIDE, lambda line: line["completed"] or "~")
