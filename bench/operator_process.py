"""The operator as the process that its image runs, and what it costs."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Self

from seawall_e2e.loopback.processes import Process, free_ports

START_SECONDS = 60
PASS_SECONDS = 120
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SERIES = 'seawall_reconcile_duration_seconds_{}{{kind="WALCluster",outcome="waiting"}}'


class OperatorProcess:
    """`python -m seawall run` with its default settings and the image's environment."""

    def __init__(self, kubeconfig: Path) -> None:
        (self._port,) = free_ports(1)
        self._folder = tempfile.TemporaryDirectory(prefix="seawall-bench-")
        environment = {
            "KUBECONFIG": str(kubeconfig),
            "MALLOC_ARENA_MAX": "2",
            "SEAWALL_HTTP_PORT": str(self._port),
            "SEAWALL_LOG_LEVEL": os.environ.get("SEAWALL_LOG_LEVEL", "INFO"),
        }
        command = [sys.executable, "-m", "seawall", "run"]
        self._process = Process("operator", command, Path(self._folder.name), environment)

    def __enter__(self) -> Self:
        self._process.start()
        self._process.wait_ready(self._leads, START_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._folder.cleanup()

    def log(self) -> str:
        """Everything it logged."""
        return self._process.log.read_text(errors="replace")

    def idle_passes(self) -> tuple[int, float]:
        """How many ticks found nothing to do so far, and the seconds that they took together."""
        page = self._metrics()
        return int(_series(page, SERIES.format("count"))), _series(page, SERIES.format("sum"))

    def wait_for_idle_pass(self, since: int) -> None:
        """Waits until more than `since` ticks have found nothing to do."""
        deadline = time.monotonic() + PASS_SECONDS
        while self.idle_passes()[0] <= since:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no idle pass within {PASS_SECONDS} s:\n{self._process.tail()}")
            time.sleep(0.25)  # each look costs the operator CPU time

    def cpu_seconds(self) -> float:
        """User and system time of all its threads so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def memory_mb(self, field: str) -> float:
        """VmRSS (now) or VmHWM (the most so far)."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
        if found is None:
            raise ValueError(f"/proc/<pid>/status has no {field}")
        return int(found[1]) * 1024 / 1e6

    def _leads(self) -> bool:
        return self._get("/readyz") is not None and _series(self._metrics(), "seawall_leader") == 1

    def _metrics(self) -> str:
        return self._get("/metrics") or ""

    def _get(self, path: str) -> str | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:  # refused, timed out, or an HTTP error
            return None


def _series(page: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", page, re.MULTILINE)
    return float(found[1]) if found else 0.0
