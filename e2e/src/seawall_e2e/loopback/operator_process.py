"""The operator, as the process that its image runs, and what it costs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import ssl
import sys
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from seawall_e2e.loopback.forked import ForkedProcess, Program
from seawall_e2e.loopback.processes import BedError, Process, free_ports
from seawall_e2e.waiting import patience, wait_until

START_BOUND = 60
STOP_BOUND = 30
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_ANY = ssl.create_default_context()
_ANY.check_hostname, _ANY.verify_mode = False, ssl.CERT_NONE  # as the API server's proxy: it verifies no pod
_IDLE = 'seawall_reconcile_duration_seconds_{}{{kind="WALCluster",outcome="waiting"}}'


@dataclass(frozen=True, slots=True)
class IdleTicks:
    """Ticks that found nothing to do, and the seconds that they took together."""

    count: int
    seconds: float


class OperatorProcess:
    """`seawall run`, started by `start()` or on entering the context, killed on leaving it.

    Its settings are the defaults, but for metrics, which are plain.

    Args:
        kubeconfig: who it is.
        name: its identity in the Lease.
        is_forked: from a process with the libraries in it, which saves seconds; not for who measures memory or starts.
        settings: other settings, by the names in `seawall.settings`.
    """

    def __init__(self, kubeconfig: Path, name: str = "operator", *, is_forked: bool = True, **settings: object) -> None:
        self.name, self.namespace = name, str(settings.get("pod_namespace", "default"))
        self._metrics_port, self._health_port, self.pages_port = free_ports(3)
        self._folder = Path(tempfile.mkdtemp(prefix="seawall-operator-"))
        ports = {"metrics": self._metrics_port, "health": self._health_port, "pages": self.pages_port}
        settings = {**{f"{what}_port": port for what, port in ports.items()}, "pod_name": name, **settings}
        settings.setdefault("metrics_secure", False)  # a look at a metric, of which tests have many, asks nobody
        environment = {f"SEAWALL_{key.upper()}": str(value) for key, value in settings.items()}
        environment |= {"KUBECONFIG": str(kubeconfig), "MALLOC_ARENA_MAX": "2", "PYTHONUNBUFFERED": "1"}
        self._process = (
            ForkedProcess(name, Program("seawall", ["run"], environment, "default"), self._folder)
            if is_forked
            else Process(name, [sys.executable, "-m", "seawall", "run"], self._folder, environment)
        )

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
        self._process.stop(STOP_BOUND * patience())
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
        return self._get(self._health_port, "/readyz") is not None

    def why_unready(self) -> str | None:
        """What /readyz says is missing; None when it is ready or nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._health_port}/readyz", timeout=5):
                return None
        except urllib.error.HTTPError as refusal:
            with refusal:
                return str(refusal.read().decode())
        except OSError:
            return None

    def is_leader(self) -> bool:
        """What its metric says."""
        return self.metric("seawall_leader") == 1

    def page(self, path: str) -> str:
        """A page that it serves to people; empty when nobody answers, or it is refused."""
        try:
            with urllib.request.urlopen(
                f"https://127.0.0.1:{self.pages_port}{path}", timeout=5, context=_ANY
            ) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    def metrics(self) -> str:
        """Its /metrics page; empty when nobody answers."""
        return self._get(self._metrics_port, "/metrics") or ""

    def scrape(self, token: str | None) -> tuple[int, str]:
        """Its /metrics page by TLS, as Prometheus asks for it: the status, and the page or why not."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        page = f"https://127.0.0.1:{self._metrics_port}/metrics"
        request = urllib.request.Request(page, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10, context=_ANY) as answer:  # noqa: S310 - https
                return answer.status, str(answer.read().decode())
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()

    def metric(self, series: str) -> float | None:
        """The value of one series, written as on the page; None when it is not there."""
        return _value(self.metrics(), series)

    def idle_ticks(self) -> IdleTicks:
        """The ticks that have found nothing to do so far."""
        page = self.metrics()
        return IdleTicks(int(_value(page, _IDLE.format("count")) or 0), _value(page, _IDLE.format("sum")) or 0)

    def wait_for_idle_ticks(self, count: int = 2, *, since: IdleTicks | None = None) -> None:
        """Waits for this many more ticks that found nothing to do: what has not happened by then will not happen.

        Only one whose objects are the only ones may conclude that. They count from now on, or `since` an earlier look.
        """
        # Each look costs the operator CPU time, which a benchmark counts.
        wanted = (since or self.idle_ticks()).count + count
        wait_until(
            lambda: self.idle_ticks().count >= wanted,
            f"{count} ticks with nothing to do",
            every=0.25,
            explain=self.tail,
        )

    def cpu_seconds(self) -> float:
        """User and system time of all its threads so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def memory_megabytes(self, field: str = "VmRSS") -> float:
        """Its resident set now (VmRSS) or at its largest (VmHWM), in 10⁶ bytes."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
        if found is None:
            raise ValueError(f"/proc/<pid>/status has no {field}")
        return int(found[1]) * 1024 / 1e6

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

    def _get(self, port: int, path: str) -> str | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:  # refused, timed out, or an HTTP error
            return None


def _value(page: str, series: str) -> float | None:
    found = re.search(rf"^{re.escape(series)} (\S+)$", page, re.MULTILINE)
    return float(found[1]) if found else None
