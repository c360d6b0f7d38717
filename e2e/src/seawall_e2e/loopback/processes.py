"""Processes on loopback that end with their test bed."""

from __future__ import annotations

import os
import random
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Protocol

from seawall_e2e.commands import run
from seawall_e2e.waiting import Bound

PORTS = range(20_000, 32_000)
"""Below Linux's ephemeral ports: no outgoing connection takes a port while its server is being restarted."""

FEWER_COLLECTIONS = {"GOGC": "400"}
"""For programs in Go: memory is there, and time is not."""
TAIL_BYTES = 4_000
BUILD_TIMEOUT = 1_800
"""The first call on a machine builds Kubernetes."""

# PDEATHSIG is sent when the *thread* that forked ends, so all processes are started from one that lives until the end.
STARTER = ThreadPoolExecutor(1, thread_name_prefix="loopback")


class BedError(AssertionError):
    """A test bed does not do what it should; the message has the tail of the process's log."""


class Child(Protocol):
    """A process that was started, as subprocess.Popen has it."""

    @property
    def pid(self) -> int:
        """Its id."""
        ...

    def poll(self) -> int | None:
        """What it ended with (a signal's number is negative); None while it runs."""
        ...

    def kill(self) -> None:
        """SIGKILL."""
        ...

    def send_signal(self, sig: int, /) -> None:
        """Sends a signal, unless it has ended."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """What it ended with, once it has. Raises subprocess.TimeoutExpired."""
        ...


class Process:
    """One program, its log, and how to stop, kill, pause and start it again.

    The kernel kills it when this process dies, however that happens.
    """

    def __init__(
        self, name: str, command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = ["setpriv", "--pdeathsig", "KILL", *map(str, command)]
        self._folder = folder
        self._environment = {**os.environ, **(environment or {})}
        self._popen: Child | None = None
        self._log_start = 0

    @property
    def pid(self) -> int:
        """The process's id."""
        if self._popen is None:
            raise BedError(f"{self.name} was never started")
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """What it ended with (a signal's number is negative); None while it runs."""
        return self._popen.poll() if self._popen is not None else None

    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._popen is not None and self._popen.poll() is None

    def start(self) -> None:
        """Starts it; the log goes on where it ended."""
        if self.is_running():
            raise BedError(f"{self.name} runs already")
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._popen = STARTER.submit(self._spawn).result()

    def _spawn(self) -> Child:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C goes to pytest, which closes its beds in order
            )

    def log_since_start(self) -> str:
        """What it logged since its last start."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def wait_ready(self, is_ready: Callable[[], bool], timeout: float) -> None:
        """Waits until it is ready; its end or the end of the time is an error with the tail of its log."""
        bound = Bound(timeout)
        while not is_ready():
            if not self.is_running():
                raise BedError(f"{self.name} ended while it was starting:\n{self.tail()}")
            if bound.is_over():
                raise BedError(f"{self.name} was not ready within {bound.seconds:.0f} s:\n{self.tail()}")
            time.sleep(0.05)

    def stop(self, timeout: float) -> None:
        """SIGTERM, and waits for its end."""
        self.signal(signal.SIGTERM)
        self.wait_ended(timeout)

    def kill(self) -> None:
        """SIGKILL, and waits for its end. One that has ended already is fine."""
        if self._popen is not None and self._popen.poll() is None:
            self._popen.kill()
            self.wait_ended(10)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to a process that must be running."""
        if self._popen is None or self._popen.poll() is not None:
            raise BedError(f"{self.name} does not run:\n{self.tail()}")
        self._popen.send_signal(number)

    def wait_ended(self, timeout: float) -> None:
        """Waits until it has ended by itself."""
        if self._popen is None:
            raise BedError(f"{self.name} was never started")
        try:
            self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise BedError(f"{self.name} did not end within {timeout} s:\n{self.tail()}") from None

    def tail(self) -> str:
        """The end of its log."""
        if not self.log.exists():
            return "(no log)"
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - TAIL_BYTES))
            return log.read().decode(errors="replace")


def answers_ok(url: str, trust: ssl.SSLContext | None = None) -> bool:
    """Whether a server answers with 200 by now; refused, reset, late and any other status mean no."""
    try:
        with urllib.request.urlopen(url, timeout=2, context=trust) as answer:  # noqa: S310 - http or https
            return bool(answer.status == 200)  # noqa: PLR2004 - OK
    except OSError:
        return False


_GIVEN: set[int] = set()
"""Ports that this process was given: whoever has one may have bound it not yet, or have been killed."""
_GIVING = threading.Lock()


def _own_ports() -> range:
    """Those of this xdist worker: between a look and a bind no other worker must take the same."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return PORTS[worker :: int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))]


def free_ports(count: int) -> list[int]:
    """Free loopback ports, all different, and never given before by this process."""
    chosen: list[int] = []
    with _GIVING, ExitStack() as held:
        left = sorted(set(_own_ports()) - _GIVEN)
        for port in random.SystemRandom().sample(left, len(left)):
            probe = held.enter_context(socket.socket())
            # As servers do: a connection in TIME_WAIT hinders nobody.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            chosen.append(port)
            if len(chosen) == count:
                _GIVEN.update(chosen)
                return chosen
    raise BedError(f"there are no {count} free ports on loopback")


@cache
def platform_folder(script: str, timeout: float, *arguments: str) -> Path:
    """The folder that a script of e2e/platform makes (or made before) and prints."""
    platform = Path(__file__).parents[3] / "platform"
    lines = run(platform / script, *arguments, timeout=timeout).split()
    return Path(lines[-1])


def binaries_folder() -> Path:
    """The folder with the programs of Kubernetes, etcd and Helm."""
    return platform_folder("binaries.sh", BUILD_TIMEOUT)


def cache_folder() -> Path:
    """The folder that the scripts of e2e/platform keep what they build in."""
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SEAWALL_CACHE") or Path(cache_home) / "seawall")
