"""The command line: `seawall run|status|ledger|plan|purge|verify|hold|backup|restore`."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.objects import KubeAdapter
from seawall.cli import backup, hold, ledger, plan, purge, restore, status, verify
from seawall.domain.errors import SeawallError
from seawall.domain.times import CLI_POLL_SECONDS
from seawall.settings import Settings


def build_parser() -> argparse.ArgumentParser:
    """What may be typed."""
    parser = argparse.ArgumentParser(prog="seawall", description="Keeps Kafka write-ahead logs safe and replayable.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run the operator (settings: environment variables SEAWALL_*)")
    status.add_arguments(
        commands.add_parser("status", help="what is wrong, what runs and what it waits for, on a page")
    )
    ledger.add_arguments(commands.add_parser("ledger", help="who holds which records of a WALCluster's topics"))
    plan.add_arguments(commands.add_parser("plan", help="which replicas a reassignment moves, or would move now"))
    purge.add_arguments(commands.add_parser("purge", help="make a run by hand, or say what one would do now"))
    verify.add_arguments(commands.add_parser("verify", help="replay the WAL on Spark, and say whether it can be"))
    hold.add_arguments(commands.add_parser("hold", help="renew a WALHold"))
    backup.add_arguments(commands.add_parser("backup", help="make a restore point, and list backups"))
    restore.add_arguments(commands.add_parser("restore", help="read the plan of a WALRestore, and approve it"))
    return parser


def main() -> int:
    """Parses the command line and runs the command; returns the exit status."""
    arguments = build_parser().parse_args()
    if arguments.command == "run":
        _run_operator()
        return 0
    try:
        for part in _answers(arguments):
            sys.stdout.write(f"{part}\n")
            sys.stdout.flush()
    except SeawallError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _answers(arguments: argparse.Namespace) -> Iterator[str]:
    api = KubeApi(connections=1)
    match arguments.command:
        case "status":
            yield status.show_status(arguments, KubeAdapter(api, ()), api.get, datetime.now(UTC))
        case "ledger":
            yield ledger.show_ledger(arguments, api.get)
        case "plan":
            yield plan.show_plan(arguments, api.get)
        case "purge":
            yield from purge.purge(arguments, api, lambda: time.sleep(CLI_POLL_SECONDS))
        case "verify":
            yield from verify.verify(arguments, api, lambda: time.sleep(CLI_POLL_SECONDS))
        case "backup":
            yield from backup.backup(arguments, api, lambda: time.sleep(CLI_POLL_SECONDS))
        case "restore":
            yield restore.restore(arguments, api)
        case _:
            yield hold.renew_hold(arguments, api)


def _run_operator() -> None:
    asyncio.run(_run(Settings()))


async def _run(settings: Settings) -> None:
    # kopf takes a second that other commands need not pay
    from seawall.handlers.logs import begin_logging  # noqa: PLC0415
    from seawall.handlers.operator import Operator  # noqa: PLC0415

    begin_logging(settings)
    await Operator(settings).run()


if __name__ == "__main__":
    sys.exit(main())
