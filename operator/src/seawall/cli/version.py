"""`seawall version`: of this command, and of the operator that leads, which writes it on its Lease."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib.metadata import version

from seawall.api.meta import VERSION_ANNOTATION
from seawall.cli.connection import add_connection, add_operator
from seawall.cli.ledger import Get, read_lease
from seawall.cli.session import Session
from seawall.domain.errors import SeawallError


def add_arguments(parser: argparse.ArgumentParser, _: str = "version") -> None:
    """The arguments of `seawall version`."""
    add_connection(parser)
    add_operator(parser)
    parser.add_argument("--client", action="store_true", help="ask nobody for the operator's")


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed: the client's first, because nobody may answer for the operator."""
    yield f"seawall   {version('seawall')}"
    if arguments.client:
        return
    try:
        yield f"operator  {operator_version(session.api.get, arguments.operator)}"
    except SeawallError as error:
        yield f"operator  not known: {error}"


def operator_version(get: Get, operator: str) -> str:
    """Of the operator that leads by this Lease, or why it is not known."""
    lease = read_lease(get, operator)
    if lease is None:
        return f"not known: there is no Lease {operator}, name it with --operator"
    found = (lease["metadata"].get("annotations") or {}).get(VERSION_ANNOTATION)
    return str(found or f"not known: it does not write it on its Lease {operator}")
