"""The operator, as the process that its image runs."""

from __future__ import annotations

import re
import shutil
import signal
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

from seawall_e2e.loopback.processes import BedError, Process, free_ports
from tests.support.waiting import wait_until

START_BOUND = 60
STOP_BOUND = 30
RESYNC_SECONDS = 3


class OperatorProcess:
    """`seawall run`, started by `start()` or on entering the context, killed on leaving it.

    Args:
        kubeconfig: who it is.
        name: its identity in the Lease.
        settings: more of its settings, by the names in `seawall.settings`.
    """

    def __init__(self, kubeconfig: Path, name: str = "operator", **settings: object) -> None:
        self.name = name
        (self._port,) = free_ports(1)
        self._folder = Path(tempfile.mkdtemp(prefix="seawall-operator-"))
        defaults = {"http_port": self._port, "pod_name": name, "resync_seconds": RESYNC_SECONDS}
        environment = {f"SEAWALL_{key.upper()}": str(value) for key, value in {**defaults, **settings}.items()}
        environment |= {"KUBECONFIG": str(kubeconfig), "MALLOC_ARENA_MAX": "2", "PYTHONUNBUFFERED": "1"}
        self._process = Process(name, [sys.executable, "-m", "seawall", "run"], self._folder, environment)

    def start(self, *, wait: bool = True) -> None:
        """Starts it and, unless told otherwise, waits until it watches."""
        self._process.start()
        if wait:
            self._process.wait_ready(self.is_ready, START_BOUND)

    def kill(self) -> None:
        """Kill -9."""
        self._process.kill()

    def terminate(self) -> None:
        """SIGTERM, as Kubernetes does it, and waits for a good end."""
        self._process.stop(STOP_BOUND)
        if self._process.exit_code != 0:
            raise AssertionError(f"{self.name} ended with {self._process.exit_code}\n{self.tail()}")

    def pause(self) -> None:
        """Freezes it (SIGSTOP)."""
        self._process.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        self._process.signal(signal.SIGCONT)

    def is_running(self) -> bool:
        """Whether its process runs."""
        return self._process.is_running()

    def is_ready(self) -> bool:
        """What /readyz says; False as well when nobody answers."""
        return self._get("/readyz") is not None

    def is_leader(self) -> bool:
        """What its metric says."""
        return self.metric("seawall_leader") == 1

    def metrics(self) -> str:
        """Its /metrics page; empty when nobody answers."""
        return self._get("/metrics") or ""

    def metric(self, series: str) -> float | None:
        """The value of one series, written as on the page; None when it is not there."""
        found = re.search(rf"^{re.escape(series)} (\S+)$", self.metrics(), re.MULTILINE)
        return float(found[1]) if found else None

    def idle_ticks(self) -> int:
        """How many ticks have found nothing to do."""
        return int(self.metric(f'seawall_reconcile_duration_seconds_count{{kind="WALCluster",outcome="{_IDLE}"}}') or 0)

    def wait_for_idle_ticks(self, count: int = 2) -> None:
        """Waits for this many more ticks that found nothing to do: what has not happened by then will not happen.

        Only a test whose objects are the only ones may conclude that.
        """
        wanted = self.idle_ticks() + count
        wait_until(lambda: self.idle_ticks() >= wanted, f"{count} ticks with nothing to do", explain=self.tail)

    def resident_megabytes(self) -> float:
        """Its resident set."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    def log(self) -> str:
        """Everything it logged."""
        return self._process.log.read_text(errors="replace") if self._process.log.exists() else ""

    def tail(self) -> str:
        """The end of its log, under a heading."""
        return f"--- log of {self.name} ---\n{self._process.tail()}"

    def close(self) -> None:
        """Kills it and removes its log."""
        try:
            self._process.kill()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BedError:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, path: str) -> str | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:  # refused, timed out, or an HTTP error
            return None


_IDLE = "waiting"
