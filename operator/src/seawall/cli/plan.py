"""`seawall plan <walcluster>`: which replicas a reassignment moves, or would move if it began now.

The leading operator answers, as for `seawall ledger`, by the plan that its runs use: nothing is recorded or done.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from seawall.cli.connection import add_connection, add_operator, add_walcluster
from seawall.cli.ledger import Get, ask_operator
from seawall.cli.output import add_output, as_data, table
from seawall.cli.session import Session

COLUMNS = {"TOPIC": "topic", "PARTITION": "partition", "REPLICAS": "original", "WANTED": "wanted", "BYTES": "bytes"}
"""Heading → field of the operator's answer."""


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall plan`."""
    add_walcluster(parser)
    add_connection(parser)
    add_output(parser, ("table", "json", "yaml"))
    add_operator(parser)


def answers(arguments: argparse.Namespace, session: Session) -> Iterator[str]:
    """What is printed: `show_plan`."""
    yield show_plan(arguments, session.api.get)


def show_plan(arguments: argparse.Namespace, get: Get) -> str:
    """What is printed.

    Raises:
        Refused: there is no such WALCluster or operator, or the person may not look.
        OutsideUnavailable: the API server, the operator or Kafka did not answer.
    """
    plan = ask_operator(get, arguments, "reassignment")
    return _describe(plan) if arguments.output == "table" else as_data(plan, arguments.output)


def _describe(plan: Mapping[str, Any]) -> str:
    """The moves, then what they come to."""
    reported = [f"{plan['stage'] or 'No run'}: {plan['message']}"]
    moves = plan["moves"]
    if moves:
        lines = [{**move, **{key: ",".join(map(str, move[key])) for key in ("original", "wanted")}} for move in moves]
        speed = f"at {plan['throttle_bytes_per_second']} bytes/s of each broker at least {plan['estimated_seconds']} s"
        copies = f"{plan['copies']} replicas to copy ({', '.join(plan['why'])}): about {plan['bytes']} bytes"
        reported = [table(lines, COLUMNS), "", f"{len(moves)} partitions, {copies}, {speed}.", *reported]
    if plan["digest"] is not None:
        reported.append(f"Digest: {plan['digest']}")
    return "\n".join(reported)
