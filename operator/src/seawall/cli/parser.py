"""The commands, and what they end with.

A command's arguments and code are imported when it is typed: `seawall --help`, and each press of Tab, costs no more
than the names in this file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seawall.cli.session import Session


class Exit(IntEnum):
    """What a command ends with: `MEANING` says what that means."""

    DONE = 0
    REFUSED = 1
    MISTYPED = 2
    NO_ANSWER = 3
    FAULT = 4
    INTERRUPTED = 130
    NOT_READ = 141


MEANING = {
    Exit.DONE: "it is done, or what was asked for is printed",
    Exit.REFUSED: "the answer is no (no such object, no right to it, credentials that were refused, no such "
    "kubeconfig, context or operator), what was waited for failed, or somebody changed the object meanwhile",
    Exit.MISTYPED: "there is no such command or flag",
    Exit.NO_ANSWER: "the API server or the operator did not answer: a change may be done or not; look, and try again",
    Exit.FAULT: "a fault of the command itself: SEAWALL_TRACEBACK=1 shows where; please report it",
    Exit.INTERRUPTED: "somebody pressed Ctrl-C",
    Exit.NOT_READ: "who read the answer went away before its end, as `head` does (128 + SIGPIPE): a change may be done "
    "or not",
}


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its line of the help, and the module of `seawall.cli` that has the rest.

    Such a module has `add_arguments(parser, command)` and `answers(arguments, session)`.
    """

    summary: str
    module: str

    def add_arguments(self, parser: argparse.ArgumentParser, name: str) -> None:
        """Adds its arguments to a parser of its own."""
        import_module(f"seawall.cli.{self.module}").add_arguments(parser, name)

    def answers(self, arguments: argparse.Namespace, session: Session) -> Iterator[str]:
        """What is printed, piece by piece."""
        yield from import_module(f"seawall.cli.{self.module}").answers(arguments, session)


COMMANDS = {
    "run": Command("run the operator (settings: environment variables SEAWALL_*)", "run"),
    "status": Command("what is wrong, what runs and what it waits for, on a page", "status"),
    "ledger": Command("who holds which records of a WALCluster's topics", "ledger"),
    "ui": Command("open a page to look at: topics as bars, what runs, what is wrong", "ui"),
    "plan": Command("which replicas a reassignment moves, or would move now", "plan"),
    "purge": Command("make a run by hand, or say what one would do now", "purge"),
    "verify": Command("replay the WAL on Spark, and say whether it can be", "verify"),
    "hold": Command("place, list, renew and release WALHolds", "hold"),
    "backup": Command("make a restore point, and list backups", "backup"),
    "restore": Command("read the plan of a WALRestore, and approve it", "restore"),
    "kafka": Command("what a Kafka that Seawall runs needs: Certificates for cert-manager, or the Secrets", "kafka"),
    "readopt": Command("say that logs, or a database, which are not those of before are right", "annotate"),
    "dead-regions": Command("say that nobody has these regions any more, nor will have", "annotate"),
    "purge-unused": Command("say that nobody needs what is in topics without regions", "annotate"),
    "override-restart-gate": Command("let restarts of datanodes through a shut gate", "annotate"),
    "stop-deletes": Command("delete no records of its topics from now on", "annotate"),
    "restart-kafka": Command("restart all nodes of a managed Kafka, one by one, through the gate", "annotate"),
    "approve-rollout": Command("let nodes of a managed Kafka become what a newer Seawall makes of them", "annotate"),
    "format-volume": Command("let nodes of a managed Kafka format an empty volume, whatever is lost", "annotate"),
    "restart": Command("restart all datanodes, one by one, through the gate", "annotate"),
    "rebalance": Command("make the brokers' loads even by one reassignment", "annotate"),
    "approve": Command("let the planned reassignment with this digest begin", "annotate"),
    "abort": Command("take a reassignment back, and begin none", "annotate"),
    "pause": Command("write nothing to Kafka or ConfigMaps; restores and jobs go on", "annotate"),
    "resume": Command("go on after `seawall pause`", "annotate"),
    "report": Command("one archive for a bug report, without secrets and records", "report"),
    "explain": Command("what a reason means and what to do, or what is known of lines of a log", "explain"),
    "conformance": Command("does a server keep the contract that any database can serve", "conformance"),
    "completion": Command("what a shell sources, so that Tab completes names of the cluster, too", "completion"),
    "version": Command("the versions of this command and of the operator", "version"),
}


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """All commands, with the arguments of all, or of one only."""
    parser = argparse.ArgumentParser(prog="seawall", description="Keeps Kafka write-ahead logs safe and replayable.")
    parser.add_argument("--version", action="store_true", help="as `seawall version`")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        one = commands.add_parser(name, help=command.summary)
        if only in {None, name}:
            command.add_arguments(one, name)
    return parser


def parse(words: Sequence[str]) -> argparse.Namespace:
    """What was typed, without the program's name; ends the process where that is no command."""
    typed = command_of(words)
    parser = build_parser(typed)
    arguments = parser.parse_args(words)
    if arguments.command is not None:
        return arguments
    if not arguments.version:
        parser.error("name a COMMAND")
    return build_parser("version").parse_args(["version"])


def command_of(words: Sequence[str]) -> str:
    """The command that was typed, or is being typed."""
    return next((word for word in words if not word.startswith("-")), "")
