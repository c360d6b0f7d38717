"""`seawall status <walcluster>`: one page for a person on call: what is wrong, what runs, and what it waits for.

It reads objects of the API server and asks nobody else: a person needs `get` and `list` of Seawall's kinds, which the
operator's Role has as well, and `get` of its Lease to be told who leads. What may not be read is said, and left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WAL_CLUSTER, WALCluster
from seawall.cli.connection import add_connection, add_operator, add_walcluster
from seawall.cli.follow import condition_of
from seawall.cli.ledger import Get, read_lease
from seawall.cli.listing import ObjectList, add_all_namespaces
from seawall.cli.output import FORMATS, add_output, as_data
from seawall.cli.session import Session
from seawall.cli.status_text import describe
from seawall.domain.errors import Forbidden, Refused
from seawall.domain.overview.page import StatusPage, build_page
from seawall.domain.overview.snapshot import Leader
from seawall.observe.overview import read_snapshot

if TYPE_CHECKING:
    from seawall.ports.kube import Kube  # its package needs what only the operator installs


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall status`."""
    add_walcluster(parser, may_be_all=True)
    add_connection(parser)
    add_all_namespaces(parser)
    add_output(parser, ("text", *FORMATS))
    add_operator(parser)


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed: a line for each WALCluster, or the page of one."""
    if arguments.walcluster is None:
        yield from CLUSTERS.show(arguments, session.api.get, session.pause)
        return
    if arguments.all_namespaces:
        raise Refused("a WALCluster has one namespace: -n, or no name")
    kube = KubeAdapter(session.api, ())
    shown = None
    while True:
        page = read_page(arguments, kube, session.api.get, session.now())
        if (found := describe(page)) != shown:
            yield _printed(page, arguments.output, bars=session.has_terminal)
        shown = found
        if not arguments.watch:
            return
        session.pause()


def show_status(arguments: argparse.Namespace, kube: Kube, get: Get, now: datetime) -> str:
    """The page of one WALCluster as it is printed; raises as `read_page` does."""
    return _printed(read_page(arguments, kube, get, now), arguments.output)


def _printed(page: StatusPage, output: str, *, bars: bool = False) -> str:
    match output:
        case "text":
            return describe(page, bars=bars)
        case "json" | "yaml":
            return as_data(page.to_json(), output)
        case _:
            raise Refused(f"the page of one WALCluster is text, json or yaml, and no {output}")


def read_page(arguments: argparse.Namespace, kube: Kube, get: Get, now: datetime) -> StatusPage:
    """The page of one WALCluster; `kube` reads objects of our kinds, `get` the Lease.

    Raises:
        Refused: there is no such WALCluster, or the person may not read it.
        OutsideUnavailable: the API server did not answer.
    """
    key = Key(arguments.namespace, arguments.walcluster)
    cluster = kube.get(WALCluster, key)
    if cluster is None:
        raise Refused(f"there is no WALCluster {key}")
    snapshot = read_snapshot(kube, cluster, _leader(arguments.operator, get), now)
    return build_page(snapshot)


def _leader(operator: str, get: Get) -> Leader:
    try:
        lease = read_lease(get, operator)
    except Forbidden:
        return Leader(operator, problem=f"not known: you may not read the Lease {operator}")
    if lease is None:
        return Leader(operator, problem=f"not known: there is no Lease {operator}, name it with --operator")
    spec = lease.get("spec") or {}
    renewed = spec.get("renewTime")
    return Leader(operator, spec.get("holderIdentity") or None, datetime.fromisoformat(renewed) if renewed else None)


COLUMNS = {
    "NAME": "name",
    "READY": "ready",
    "REASON": "reason",
    "TOPICS": "topics",
    "DESIRED": "desired",
    "INTACT": "intact",
    "CREATED": "created",
}
"""Heading → field of a row."""
WIDE = {"KAFKA": "kafka", "DATABASE": "database", "BROKERS": "brokers", "MESSAGE": "message"}


def _row(found: Mapping[str, Any]) -> dict[str, Any]:
    status, metadata = found.get("status", {}), found["metadata"]
    ready = condition_of(status, ConditionType.READY)
    return {
        "name": metadata["name"],
        "ready": ready.get("status"),
        "reason": ready.get("reason"),
        "topics": status.get("topics", {}).get("ready"),
        "desired": found["spec"].get("topics", {}).get("count"),
        "intact": condition_of(status, ConditionType.WAL_INTACT).get("status"),
        "created": metadata["creationTimestamp"],
        "kafka": condition_of(status, ConditionType.KAFKA_REACHABLE).get("reason"),
        "database": condition_of(status, ConditionType.DATA_PLANE_REACHABLE).get("reason"),
        "brokers": status.get("kafka", {}).get("brokers", {}).get("online"),
        "message": ready.get("message"),
    }


CLUSTERS = ObjectList(WAL_CLUSTER, _row, COLUMNS, WIDE, lambda line: str(line["name"]))
