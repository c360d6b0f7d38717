"""`seawall restore plan <walrestore>`, `seawall restore approve <walrestore> <digest>`: read the plan, let it begin."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.objects import KubeAdapter, path_of
from seawall.api.meta import RESTORE_ANNOTATION, Key
from seawall.api.v1alpha1.restore import WAL_RESTORE, WALRestore
from seawall.api.v1alpha1.restore_status import RestoredTopic, RestorePlanStatus, RestoreStage
from seawall.cli.connection import add_connection
from seawall.cli.session import Session
from seawall.domain.errors import Refused


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall restore`."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    plan = verbs.add_parser("plan", help="what would come back, and what it takes")
    approve = verbs.add_parser("approve", help="let the plan with this digest begin")
    for verb in (plan, approve):
        verb.add_argument("walrestore", help="name of the WALRestore")
        add_connection(verb)
    approve.add_argument("digest", help="of the plan, as `seawall restore plan` prints it")


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed: `restore`."""
    yield restore(arguments, session.api)


def restore(arguments: argparse.Namespace, api: KubeApi) -> str:
    """What is printed.

    Raises:
        Refused: there is no such restore, or it has no such plan that waits.
        Conflict: it changed meanwhile.
        OutsideUnavailable: the API server did not answer: it may be approved or not.
    """
    key = Key(arguments.namespace, arguments.walrestore)
    found = KubeAdapter(api, ()).get(WALRestore, key)
    if found is None:
        raise Refused(f"there is no WALRestore {key}")
    if arguments.verb == "plan":
        return describe(found)
    api.merge(path_of(WAL_RESTORE, key), approval(found, arguments.digest))
    return f"walrestore/{key.name} approved: it begins when the database is stopped"


def approval(obj: WALRestore, digest: str) -> dict[str, Any]:
    """The patch, which only the object as it was read takes.

    Raises:
        Refused: no plan of this digest waits for it.
    """
    stage, plan = obj.status.stage, obj.status.plan
    if plan is None or stage is not RestoreStage.AWAITING_APPROVAL:
        raise Refused(f"WALRestore {obj.metadata.key} is {stage or 'not begun'}: no plan waits for an approval")
    if plan.digest != digest:
        raise Refused(f"the plan of WALRestore {obj.metadata.key} has digest {plan.digest}: read it again")
    version = obj.metadata.resource_version
    return {"metadata": {"resourceVersion": version, "annotations": {RESTORE_ANNOTATION: digest}}}


def describe(obj: WALRestore) -> str:
    """The plan in lines. From, end and padding of each topic are in the plan itself, and in its driver's log.

    Raises:
        Refused: there is none yet.
    """
    status, plan = obj.status, obj.status.plan
    if plan is None:
        raise Refused(f"WALRestore {obj.metadata.key} is {status.stage or 'not begun'}, and has no plan yet")
    width = max(len(row.name) for row in status.topics)
    return "\n".join(
        (
            f"WALRestore {obj.metadata.key}: {status.stage}",
            f"Plan       {plan.digest}",
            f"           {plan.name} at {status.location}",
            f"Back       {plan.records} records of {plan.topics} topics, {plan.bytes} bytes at most",
            f"Padding    {plan.padding} records of null",
            f"Lost       {plan.lost_at_most} offsets at most",
            *_point(plan),
            *("", *(_line(row, width) for row in status.topics)),
        )
    )


def _point(plan: RestorePlanStatus) -> tuple[str, ...]:
    point = plan.restore_point
    if point is None:
        return ()
    return (f"Point      {point.name}: restore snapshot {point.snapshot} of the database before you start it",)


def _line(row: RestoredTopic, width: int) -> str:
    if not row.planned:
        return f"  {row.name:{width}}  the backup does not have it"
    reads = "not known" if row.reads_from is None else str(row.reads_from)
    has = "" if row.compared else ", or more"
    return f"  {row.name:{width}}  the database reads from {reads} and has entries below {row.needed_end or 0}{has}"
