"""The command line: `seawall run`."""

from __future__ import annotations

import argparse
import asyncio
import logging

from seawall.handlers.operator import Operator
from seawall.settings import Settings


def main() -> None:
    """Parses the command line and runs the command."""
    parser = argparse.ArgumentParser(prog="seawall", description="Keeps Kafka write-ahead logs safe and replayable.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run the operator (settings: environment variables SEAWALL_*)")
    parser.parse_args()
    settings = Settings()
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)  # one line per event says nothing of our work
    asyncio.run(_run(settings))


async def _run(settings: Settings) -> None:
    await Operator(settings).run()


if __name__ == "__main__":
    main()
