"""The command line: `seawall run`, and the commands for people (docs/cli.md)."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from seawall.adapters.kube.objects import KubeAdapter
from seawall.cli import annotate, backup, hold, ledger, plan, purge, restore, status, verify
from seawall.cli.annotation_verbs import VERBS
from seawall.cli.connection import connect
from seawall.cli.parser import Exit, build_parser
from seawall.domain.errors import OutsideUnavailable, SeawallError
from seawall.domain.times import CLI_POLL_SECONDS
from seawall.settings import Settings


def main() -> int:
    """Parses the command line and runs the command; returns the exit status."""
    arguments = build_parser().parse_args()
    if arguments.command == "run":
        _run_operator()
        return Exit.DONE
    try:
        for part in _answers(arguments):
            sys.stdout.write(f"{part}\n")
            sys.stdout.flush()
    except SeawallError as error:
        sys.stderr.write(f"error: {error}\n")
        return Exit.NO_ANSWER if isinstance(error, OutsideUnavailable) else Exit.REFUSED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:  # whoever reads has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.DONE


def _answers(arguments: argparse.Namespace) -> Iterator[str]:
    api = connect(arguments)
    match arguments.command:
        case "status":
            yield status.show_status(arguments, KubeAdapter(api, ()), api.get, datetime.now(UTC))
        case "ledger":
            yield ledger.show_ledger(arguments, api.get)
        case "plan":
            yield plan.show_plan(arguments, api.get)
        case "purge":
            yield from purge.purge(arguments, api, _pause)
        case "verify":
            yield from verify.verify(arguments, api, _pause)
        case "backup":
            yield from backup.backup(arguments, api, _pause)
        case "restore":
            yield restore.restore(arguments, api)
        case "hold":
            yield from hold.hold(arguments, api, _pause)
        case name if name in VERBS:
            yield from annotate.annotate(arguments, api, input, datetime.now(UTC))


def _pause() -> None:
    time.sleep(CLI_POLL_SECONDS)


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
