"""The command line: `seawall run`, and the commands for people (docs/cli.md)."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from seawall.cli.parser import COMMANDS, Exit, parse
from seawall.domain.errors import OutsideUnavailable, SeawallError, Unauthenticated


def main() -> int:
    """Parses the command line and runs the command; returns the exit status."""
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what may come next
        from seawall.cli.completion import complete  # noqa: PLC0415 - as below

        complete()
    arguments = parse(sys.argv[1:])
    try:
        if arguments.command == "run":
            operator = _import_operator()
        else:
            _print_answers(arguments)
            return Exit.DONE
    except SeawallError as error:
        sys.stderr.write(f"error: {error}\n")
        is_silence = isinstance(error, OutsideUnavailable) and not isinstance(error, Unauthenticated)
        return Exit.NO_ANSWER if is_silence else Exit.REFUSED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:  # whoever reads has enough, and what was to come may have been the change
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.NOT_READ
    except Exception as error:
        if os.environ.get("SEAWALL_TRACEBACK"):
            raise
        fault = f"{type(error).__name__}: {error}".replace("\n", " ")
        sys.stderr.write(f"error: a fault of seawall itself, please report it ({fault})\n")
        return Exit.FAULT
    asyncio.run(operator())
    return Exit.DONE


def _print_answers(arguments: argparse.Namespace) -> None:
    # The API server's client takes half a second that `seawall --help` need not pay.
    from seawall.cli.session import Session  # noqa: PLC0415

    session = Session(arguments)
    try:
        for part in COMMANDS[arguments.command].answers(arguments, session):
            session.show("")
            sys.stdout.write(f"{part}\n")
            sys.stdout.flush()
    finally:
        session.show("")


def _import_operator() -> Callable[[], Coroutine[Any, Any, None]]:
    from seawall.cli.libraries import operators_libraries  # noqa: PLC0415

    gc.disable()  # what is imported stays: to look for garbage in it takes half a second of a start, and again later
    with operators_libraries("`seawall run`"):
        from seawall.handlers.logs import begin_logging  # noqa: PLC0415
        from seawall.handlers.operator import Operator  # noqa: PLC0415
        from seawall.settings import Settings  # noqa: PLC0415
    gc.freeze()
    gc.enable()

    async def run() -> None:
        settings = Settings()
        begin_logging(settings)
        await Operator(settings).run()

    return run


if __name__ == "__main__":
    sys.exit(main())
