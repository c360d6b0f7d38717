"""What a command has of the outside: the API server, the person who types, and time."""

from __future__ import annotations

import argparse
import sys
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
        self._shown = ""

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

    @property
    def has_terminal(self) -> bool:
        """Whether a person looks at what is printed, and it may have bars."""
        return sys.stdout.isatty()

    def show(self, text: str) -> None:
        """Shows a line until the next one, or until something is printed; nothing where there is no terminal."""
        if self.has_terminal and (text or self._shown):
            sys.stdout.write(f"\r\x1b[2K{text}")
            sys.stdout.flush()
            self._shown = text

    def pause(self) -> None:
        """Passes the time between two looks."""
        time.sleep(CLI_POLL_SECONDS)

    def now(self) -> datetime:
        """This machine's time."""
        return datetime.now(UTC)
