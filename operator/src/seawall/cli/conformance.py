"""`seawall conformance <url>`: does this server keep the contract of databases (docs/any-database.md)?"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

from seawall.adapters.conformance.examine import CHECKS, Finding, Result, examine
from seawall.adapters.conformance.server import Server
from seawall.cli.output import table
from seawall.cli.session import Session
from seawall.domain.dataplane.connection import ClientTLS, HTTPConnection, User
from seawall.domain.errors import Refused

PASSWORD = "SEAWALL_DATABASE_PASSWORD"  # noqa: S105 - where it is, no password
COLUMNS = {"CHECK": "check", "RESULT": "result", "WHAT MUST BE SO, OR WHAT IS NOT": "said"}


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall conformance`."""
    parser.add_argument("url", help="http://host:port of the server; its paths begin with /seawall/v1")
    parser.add_argument(
        "--write",
        action="store_true",
        help="also try what changes something: flushes, claims, markers, maintenance (of a database for tests)",
    )
    parser.add_argument("--ca-file", type=Path, help="CA certificates (PEM) of an https:// URL; default: the system's")
    parser.add_argument("--user", help=f"user name; the password is in {PASSWORD}")


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed.

    Raises:
        Refused: something is not as the contract says, or there is no such file.
    """
    del session
    server = Server(_connection(arguments), may_write=arguments.write, pause=time.sleep)
    try:
        found = tuple(examine(server))
    finally:
        server.close()
    yield table([_line(each) for each in found], COLUMNS)
    counts = {result: sum(each.result is result for each in found) for result in Result}
    said = f"{counts[Result.PASSED]} of {len(CHECKS)} passed, {counts[Result.SKIPPED]} skipped"
    if counts[Result.BROKEN]:
        raise Refused(f"{said}, {counts[Result.BROKEN]} broken: this server does not keep the contract")
    yield said


def _line(finding: Finding) -> dict[str, str]:
    return {"check": finding.check, "result": finding.result.value, "said": finding.detail or finding.promise}


def _connection(arguments: argparse.Namespace) -> HTTPConnection:
    ca = None if arguments.ca_file is None else _read(arguments.ca_file)
    user = None if arguments.user is None else User(arguments.user, os.environ.get(PASSWORD, ""))
    return HTTPConnection(arguments.url.rstrip("/"), ClientTLS(ca), user)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path} cannot be read: {error}") from error
