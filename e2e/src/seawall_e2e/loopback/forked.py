"""Python programs of ours as forks of one process that has imported everything already: most of a start is that.

A fork is a process as any other: it has its own memory, log and session, and SIGKILL, SIGSTOP and its exit code are
the kernel's.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Literal

from seawall_e2e.loopback.dies_with_parent import die_with_parent
from seawall_e2e.loopback.processes import STARTER, Process

REFDB = ("refdb.datanode.server", "refdb.frontend.server", "refdb.metasrv.pruner", "refdb.metasrv.server")
OPERATOR = ("seawall.cli.verify", "seawall.handlers.operator")
OF_TESTS = ("hypothesis.stateful", "pytest", "urllib3")
"""What is loaded once, with all that it imports. It starts no thread of its own that a fork would miss."""


def fork_server() -> ForkServerContext:
    """Python's own fork server: one for this process, started by the first who needs it, and ended with us."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["seawall_e2e.loopback.dies_with_parent", *REFDB, *OPERATOR, *OF_TESTS])
    STARTER.submit(forkserver.ensure_running).result()
    return context


@dataclass(frozen=True, slots=True)
class Program:
    """`python -W <warnings> -m <module> <arguments>`, with these variables beside the ones that there are."""

    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    warnings: Literal["default", "error"] = "error"


class ForkedProcess(Process):
    """A program, forked. It dies with the fork server, which dies with us."""

    def __init__(self, name: str, program: Program, folder: Path) -> None:
        super().__init__(name, [program.module, *program.arguments], folder)
        self._target = program, folder, self.log
        self._server = fork_server()

    def _spawn(self) -> Forked:
        self.log.touch()
        fork = self._server.Process(target=_run, args=self._target, daemon=True)
        fork.start()
        return Forked(fork)


class Forked:
    """A fork, as `Process` wants its child."""

    def __init__(self, fork: ForkServerProcess) -> None:
        self._fork = fork

    @property
    def pid(self) -> int:
        """Its id."""
        if self._fork.pid is None:
            raise ValueError("it was never started")
        return self._fork.pid

    def poll(self) -> int | None:
        """What it ended with; None while it runs."""
        return self._fork.exitcode

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, sig: int, /) -> None:
        """Sends a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, sig)

    def wait(self, timeout: float | None = None) -> int:
        """What it ended with, once it has."""
        self._fork.join(timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(self._fork.name, timeout or 0)
        return code


def _run(program: Program, folder: Path, log: Path) -> None:
    """The fork."""
    die_with_parent()
    os.setsid()  # Ctrl-C goes to pytest, which closes its beds in order
    os.chdir(folder)
    os.environ.update(program.environment)
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    for number in (1, 2):
        os.dup2(output, number)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)  # line by line
    sys.argv[1:] = program.arguments
    warnings.simplefilter(program.warnings)
    runpy.run_module(program.module, run_name="__main__", alter_sys=True)
