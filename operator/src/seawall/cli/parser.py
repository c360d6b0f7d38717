"""The commands and their flags."""

from __future__ import annotations

import argparse
from enum import IntEnum
from importlib.metadata import version

from seawall.cli import annotate, backup, hold, ledger, plan, purge, restore, status, verify
from seawall.cli.annotation_verbs import VERBS


class Exit(IntEnum):
    """What a command ends with: `MEANING` says what that means."""

    DONE = 0
    REFUSED = 1
    MISTYPED = 2
    NO_ANSWER = 3
    INTERRUPTED = 130


MEANING = {
    Exit.DONE: "it is done, or what was asked for is printed",
    Exit.REFUSED: "the answer is no, what was waited for failed, or somebody changed the object meanwhile",
    Exit.MISTYPED: "there is no such command or flag",
    Exit.NO_ANSWER: "the API server or the operator did not answer: a change may be done or not; look, and try again",
    Exit.INTERRUPTED: "somebody pressed Ctrl-C",
}


def build_parser() -> argparse.ArgumentParser:
    """All commands."""
    parser = argparse.ArgumentParser(prog="seawall", description="Keeps Kafka write-ahead logs safe and replayable.")
    parser.add_argument("--version", action="version", version=f"seawall {version('seawall')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("run", help="run the operator (settings: environment variables SEAWALL_*)")
    status.add_arguments(
        commands.add_parser("status", help="what is wrong, what runs and what it waits for, on a page")
    )
    ledger.add_arguments(commands.add_parser("ledger", help="who holds which records of a WALCluster's topics"))
    plan.add_arguments(commands.add_parser("plan", help="which replicas a reassignment moves, or would move now"))
    purge.add_arguments(commands.add_parser("purge", help="make a run by hand, or say what one would do now"))
    verify.add_arguments(commands.add_parser("verify", help="replay the WAL on Spark, and say whether it can be"))
    hold.add_arguments(commands.add_parser("hold", help="place, list, renew and release WALHolds"))
    backup.add_arguments(commands.add_parser("backup", help="make a restore point, and list backups"))
    restore.add_arguments(commands.add_parser("restore", help="read the plan of a WALRestore, and approve it"))
    for name, verb in VERBS.items():
        annotate.add_arguments(commands.add_parser(name, help=verb.summary, description=verb.allows), verb)
    return parser
