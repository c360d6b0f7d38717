"""`seawall ledger <walcluster>`: why is this topic not shrinking?

The leading operator answers, over the API server's pod proxy: so a person needs `kubectl`'s rights (`get` on the
operator's Lease, and on `pods/proxy` in its namespace, and on the WALCluster), and no way to Kafka or to the database.
The proxy does not tell the operator who asks: the person's token does, which the connection shows it, or for people
without one (a client certificate) the key to its pages, which is in the Lease.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from seawall.adapters.kube.objects import path_of
from seawall.api.meta import PAGE_KEY_ANNOTATION, Key
from seawall.api.pages import PAGES_PORT, PAGES_PORT_ANNOTATION
from seawall.api.v1alpha1.cluster import WAL_CLUSTER
from seawall.api.v1alpha1.purge_template import matches_any
from seawall.cli.connection import add_connection, add_operator, add_topics, add_walcluster
from seawall.cli.output import add_output, as_data, table
from seawall.cli.session import Session
from seawall.domain.errors import Forbidden, OutsideUnavailable, Refused
from seawall.domain.times import LEASE_SILENT

Get = Callable[[str], Mapping[str, Any] | None]
"""Reads a path of the API server; None when there is nothing."""

COLUMNS = {
    "TOPIC": "name",
    "START": "log_start",
    "END": "high_watermark",
    "FLOOR": "floor",
    "MARKER": "marker",
    "PURGE-TO": "purge_to",
    "BYTES": "size_bytes",
    "REPLAY": "replay_entries",
    "HELD BY": "held_by",
    "REASON": "reason",
}
"""Heading → field of the operator's answer."""
WIDE = {
    "BELOW": "bytes_below",
    "ABOVE": "bytes_above",
    "TO PURGE": "bytes_to_purge",
    "HOLD LAG": "hold_lag_entries",
    "MESSAGE": "message",
}
"""Those that `-o wide` has beside them."""
_SENTENCES = ("message", "remedy")


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall ledger`."""
    add_walcluster(parser)
    add_connection(parser)
    add_topics(parser, "only these topics, a glob; one by its name: with the reason in full; may be repeated")
    add_output(parser)
    add_operator(parser)


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed: `show_ledger`."""
    yield show_ledger(arguments, session.api.get)


def show_ledger(arguments: argparse.Namespace, get: Get) -> str:
    """What is printed.

    Raises:
        Refused: there is no such WALCluster, topic or operator, or the person may not look.
        OutsideUnavailable: the API server or the operator did not answer.
    """
    page, globs = ask_operator(get, arguments, "ledger"), arguments.topic
    lines: list[dict[str, Any]] = [line for line in page["topics"] if not globs or matches_any(line["name"], globs)]
    if globs and not lines:
        raise Refused(f"WALCluster {arguments.walcluster} has no topic {', '.join(globs)}")
    match arguments.output:
        case "json" | "yaml":
            return as_data({**page, "topics": lines}, arguments.output)
        case "name":
            return "\n".join(line["name"] for line in lines)
        case "table" if [line["name"] for line in lines] == globs:
            text = _explained(lines[0])
        case _:
            text = table(lines, {**COLUMNS, **(WIDE if arguments.output == "wide" else {})})
    return f"{text}\n\nas of {page['lookedAt']}"


def ask_operator(
    get: Get, arguments: argparse.Namespace, page: str, query: Sequence[tuple[str, str]] = ()
) -> Mapping[str, Any]:
    """A page of the leading operator about a WALCluster.

    Raises:
        Refused: there is no such WALCluster or operator, or the person may not look.
        OutsideUnavailable: the API server or the operator did not answer, or the operator cannot look, or not yet.
    """
    lease = leading_lease(get, arguments.operator)
    found = get(pages_path(arguments.operator, lease, f"{page}/{arguments.namespace}/{arguments.walcluster}", query))
    if found is None:
        _require_alive(lease)
        key = Key(arguments.namespace, arguments.walcluster)
        if _is_there(get, key):
            raise OutsideUnavailable(
                f"the operator has not looked at WALCluster {key} yet: ask again in some seconds; or it does not serve "
                f"namespace {key.namespace}, and another one is to be named with --operator"
            )
        raise Refused(f"the operator knows no WALCluster {key}")
    if "cannotLook" in found:
        raise OutsideUnavailable(f"{found['cannotLook']}: {found['message']}")
    return found


def pages_path(operator: str, lease: Mapping[str, Any], page: str, query: Sequence[tuple[str, str]] = ()) -> str:
    """The path, by the API server, of a page of the process that leads."""
    annotations = lease["metadata"].get("annotations") or {}
    port, key = annotations.get(PAGES_PORT_ANNOTATION, PAGES_PORT), annotations.get(PAGE_KEY_ANNOTATION, "")
    pod = f"/api/v1/namespaces/{operator.rpartition('/')[0]}/pods/https:{lease['spec']['holderIdentity']}:{port}"
    return f"{pod}/proxy/{page}?{urlencode([*query, ('key', key)])}"


def _is_there(get: Get, key: Key) -> bool:
    """An operator that has just begun answers as if there were none; who has its key only may not read it."""
    try:
        return get(path_of(WAL_CLUSTER, key)) is not None
    except Forbidden:
        return False


def _require_alive(lease: Mapping[str, Any]) -> None:
    """A pod that is gone is not found, either: then it is not the WALCluster that is missing."""
    spec = lease["spec"]
    if spec.get("renewTime") is None:
        return
    silent = datetime.now(UTC) - datetime.fromisoformat(spec["renewTime"])
    if silent > LEASE_SILENT:
        raise OutsideUnavailable(
            f"no operator leads: {spec['holderIdentity']} renewed its Lease {int(silent.total_seconds())} s ago"
        )


def read_lease(get: Get, operator: str) -> Mapping[str, Any] | None:
    """The operator's Lease, by `namespace/name`; None: there is none."""
    namespace, _, name = operator.rpartition("/")
    return get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")


def leading_lease(get: Get, operator: str) -> Mapping[str, Any]:
    """The Lease of the operator that leads.

    Raises:
        Refused: nobody does; a Lease that somebody made, or left, may have no spec at all.
    """
    lease = read_lease(get, operator)
    if lease is None or not (lease.get("spec") or {}).get("holderIdentity"):
        raise Refused(f"no Seawall operator leads by the Lease {operator}: name it with --operator")
    return lease


def _explained(line: Mapping[str, Any]) -> str:
    """One topic, one field a line; the answer to "why is this topic not shrinking?" comes last."""
    rows = [
        f"{field.replace('_', ' '):<17}{line[field] if line[field] is not None else '-'}"
        for field in line
        if field not in _SENTENCES
    ]
    return "\n".join([*rows, "", *(line[field] for field in _SENTENCES if line[field])])
