"""An etcd of its own on loopback."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Self

from seawall_e2e.loopback.processes import Process, answers_ok, binaries_folder, free_ports

START_TIMEOUT = 60


class EtcdProcess:
    """One etcd member. Data survive kill and start, not `close()`."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="seawall-etcd-"))
        port, peer_port = free_ports(2)
        self.url, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
        command: list[str | Path] = [
            binaries_folder() / "etcd",
            f"--data-dir={self._folder / 'data'}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",  # the data need not outlive the machine
        ]
        self._process = Process("etcd", command, self._folder)
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Starts it and waits until it answers."""
        self._process.start()
        self._process.wait_ready(self._is_ready, START_TIMEOUT)

    def kill(self) -> None:
        """Ends it by SIGKILL."""
        self._process.kill()

    def close(self) -> None:
        """Ends it and removes its data."""
        self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_ready(self) -> bool:
        return answers_ok(f"{self.url}/health")
