"""`seawall ledger <walcluster>`: why is this topic not shrinking?

The leading operator answers, over the API server's pod proxy: so a person needs `kubectl`'s rights (`get` on the
operator's Lease, and on `pods/proxy` in its namespace), and no way to Kafka or to the database. The proxy does not tell
the operator who asks: the key to its pages, which is in the Lease, does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from seawall.api.meta import PAGE_KEY_ANNOTATION
from seawall.api.v1alpha1.purge_template import matches_any
from seawall.cli.connection import add_connection, add_operator
from seawall.cli.session import Session
from seawall.domain.errors import OutsideUnavailable, Refused

HTTP_PORT = 8080

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
_SENTENCES = ("message", "remedy")


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall ledger`."""
    parser.add_argument("walcluster", help="name of the WALCluster")
    add_connection(parser)
    parser.add_argument("-t", "--topic", help="only these topics, a glob; one by its name: with the reason in full")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
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
    page = ask_operator(get, arguments, "ledger")
    lines: list[dict[str, Any]] = [
        line for line in page["topics"] if arguments.topic is None or matches_any(line["name"], [arguments.topic])
    ]
    if arguments.topic is not None and not lines:
        raise Refused(f"WALCluster {arguments.walcluster} has no topic {arguments.topic}")
    if arguments.output == "json":
        return json.dumps({**page, "topics": lines}, indent=2)
    text = _explained(lines[0]) if [line["name"] for line in lines] == [arguments.topic] else table(lines, COLUMNS)
    return f"{text}\n\nas of {page['lookedAt']}"


def ask_operator(
    get: Get, arguments: argparse.Namespace, page: str, query: Sequence[tuple[str, str]] = ()
) -> Mapping[str, Any]:
    """A page of the leading operator about a WALCluster.

    Raises:
        Refused: there is no such WALCluster or operator, or the person may not look.
        OutsideUnavailable: the API server or the operator did not answer, or the operator cannot look.
    """
    lease = read_lease(get, arguments.operator)
    leader = lease["spec"].get("holderIdentity") if lease is not None else None
    if lease is None or not leader:
        raise Refused(f"no Seawall operator leads by the Lease {arguments.operator}: name it with --operator")
    namespace, _, _ = arguments.operator.rpartition("/")
    path = f"/api/v1/namespaces/{namespace}/pods/{leader}:{HTTP_PORT}/proxy"
    key = (lease["metadata"].get("annotations") or {}).get(PAGE_KEY_ANNOTATION, "")
    asked = urlencode([*query, ("key", key)])
    found = get(f"{path}/{page}/{arguments.namespace}/{arguments.walcluster}?{asked}")
    if found is None:
        raise Refused(f"the operator knows no WALCluster {arguments.namespace}/{arguments.walcluster}")
    if "cannotLook" in found:
        raise OutsideUnavailable(f"{found['cannotLook']}: {found['message']}")
    return found


def read_lease(get: Get, operator: str) -> Mapping[str, Any] | None:
    """The operator's Lease, by `namespace/name`; None: there is none."""
    namespace, _, name = operator.rpartition("/")
    return get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")


def _explained(line: Mapping[str, Any]) -> str:
    """One topic, one field a line; the answer to "why is this topic not shrinking?" comes last."""
    rows = [f"{field.replace('_', ' '):<17}{_cell(line[field])}" for field in line if field not in _SENTENCES]
    return "\n".join([*rows, "", *(line[field] for field in _SENTENCES if line[field])])


def table(lines: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """Lines under headings; columns as wide as what is in them, as kubectl prints."""
    rows = [tuple(columns), *(tuple(_cell(line[field]) for field in columns.values()) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(columns))]
    return "\n".join("   ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _cell(value: object) -> str:
    return "-" if value is None else str(value)
