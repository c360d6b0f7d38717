"""`seawall verify <walcluster>`: makes a WALVerification by hand, as its WALCluster's schedule would make it.

Level, topics and report come from `WALCluster.spec.verification`, as does what Spark runs. With `--local` Spark runs
here (`local_verification.py`).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from seawall.api.meta import GROUP, VERSION, InvalidSpec
from seawall.api.v1alpha1.cluster import WAL_CLUSTER, WALCluster
from seawall.api.v1alpha1.spark_job import OVER, JobStage
from seawall.api.v1alpha1.verification import WAL_VERIFICATION
from seawall.api.v1alpha1.verification_level import VerificationLevel
from seawall.api.v1alpha1.verification_template import VerificationTemplate
from seawall.cli.connection import add_connection, add_topics, add_walcluster
from seawall.cli.follow import Api, follow, message_of
from seawall.cli.libraries import operators_libraries
from seawall.cli.session import Session
from seawall.domain.errors import Refused
from seawall.domain.spark_job.actions import MAX_NAME


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall verify`."""
    add_walcluster(parser)
    add_connection(parser)
    add_topics(parser, "only these topics, a glob; may be repeated")
    levels = [level.value for level in VerificationLevel]
    parser.add_argument("--level", choices=levels, help="how much is looked at; default: the schedule's, or Integrity")
    parser.add_argument("--local", action="store_true", help="run Spark on this machine, and make no WALVerification")
    parser.add_argument("--report", help="with --local: URI of the report; default: none")
    parser.add_argument("--wait", action="store_true", help="say how it goes, until it is over")


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed, piece by piece: `verify`."""
    yield from verify(arguments, session.api, session.pause)


def verify(arguments: argparse.Namespace, api: Api, pause: Callable[[], None]) -> Iterator[str]:
    """What is printed, piece by piece; `pause` passes the time between two looks at the verification.

    Raises:
        Refused: there is no such WALCluster, it declares none, the person may not, or the log does not replay.
        OutsideUnavailable: the API server did not answer.
    """
    if arguments.local:
        yield from _verify_here(arguments, pause)
        return
    if arguments.report is not None:
        raise Refused("--report goes with --local: else spec.verification.report of the WALCluster says where to")
    base = f"/apis/{GROUP}/{VERSION}/namespaces/{arguments.namespace}"
    raw = api.get(f"{base}/{WAL_CLUSTER.plural}/{arguments.walcluster}")
    if raw is None:
        raise Refused(f"there is no WALCluster {arguments.namespace}/{arguments.walcluster}")
    suffix = f"-by-hand-{datetime.now(UTC):%y%m%d%H%M%S}"
    name = f"{arguments.walcluster[: MAX_NAME - len(suffix)].rstrip('-')}{suffix}"
    cluster = WALCluster.parse(raw)
    if isinstance(cluster.spec, InvalidSpec):
        raise Refused(cluster.spec.message)
    if cluster.spec.verification is None:
        raise Refused(f"WALCluster {arguments.walcluster} names no image: set its spec.verification.spark.image")
    spec = {"clusterRef": {"name": arguments.walcluster}, **_reported(arguments, cluster)}
    kind = {"apiVersion": f"{GROUP}/{VERSION}", "kind": WAL_VERIFICATION.kind}
    where = f"{base}/{WAL_VERIFICATION.plural}"
    api.create(where, {**kind, "metadata": {"name": name}, "spec": spec})
    yield f"walverification/{name} created"
    if arguments.wait:
        yield from _follow(api, f"{where}/{name}", pause)


def _reported(arguments: argparse.Namespace, cluster: WALCluster) -> dict[str, Any]:
    """What the schedule says, and the arguments in place of it."""
    schedule = None if isinstance(cluster.spec, InvalidSpec) else cluster.spec.verification
    reported: dict[str, Any] = {}
    if schedule is not None:
        dump = schedule.model_dump(mode="json", by_alias=True, exclude_none=True)
        reported = {field.alias or name: dump.get(field.alias or name) for name, field in _FIELDS.items()}
    asked = {"level": arguments.level, "topics": arguments.topic or None}
    reported |= {name: value for name, value in asked.items() if value is not None}
    return {name: value for name, value in reported.items() if value is not None}


def _verify_here(arguments: argparse.Namespace, pause: Callable[[], None]) -> Iterator[str]:
    """With Spark on this machine, and with this person's rights."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise Refused(f"the Python package {PACKAGE} is not installed here: install spark-apps/replay-verification")
    with operators_libraries("`seawall verify --local`"):
        from seawall.cli.local_verification import verify_here  # noqa: PLC0415 - nobody else here needs its clients

    yield from verify_here(arguments, partial(_reported, arguments), pause, (sys.executable, "-m", PACKAGE))


PACKAGE = "replay_verification"
_FIELDS = VerificationTemplate.model_fields


def _follow(api: Api, path: str, pause: Callable[[], None]) -> Iterator[str]:
    status = yield from follow(api, path, "verification", pause, lambda each: each.get("stage") in OVER)
    yield from _findings(status)
    if status["stage"] == JobStage.FAILED:
        raise Refused(f"the verification failed: {message_of(status)}")
    yield f"Completed: {message_of(status)}"


def _findings(status: Mapping[str, Any]) -> Iterator[str]:
    for finding in status.get("findings", []):
        where = " ".join(f"{name} {finding[name]}" for name in ("topic", "offset", "region") if name in finding)
        yield f"{finding['severity']}: {where}: {finding['kind']}: {finding['message']}"
    if "report" in status:
        yield f"report: {status['report']}"
