"""What a command has of the outside: the API server, the person who types, and time."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from functools import cached_property

from seawall.adapters.kube.api import KubeApi
from seawall.cli.connection import connect
from seawall.domain.times import CLI_POLL_SECONDS


class Session:
    """One command's."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments

    @cached_property
    def api(self) -> KubeApi:
        """Connects as the flags say, and fills in the namespace that they leave out.

        Raises:
            Refused: there is no such kubeconfig or context, or it makes no sense.
        """
        return connect(self._arguments)

    def ask(self, question: str) -> str:
        """Puts a question to the person; EOFError: there is none."""
        return input(question)

    def pause(self) -> None:
        """Passes the time between two looks."""
        time.sleep(CLI_POLL_SECONDS)

    def now(self) -> datetime:
        """This machine's time."""
        return datetime.now(UTC)
