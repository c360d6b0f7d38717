"""An S3 server of its own on loopback: versitygw, whose buckets are folders."""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import tempfile
from pathlib import Path
from typing import Self

from seawall_e2e.loopback.processes import FEWER_COLLECTIONS, Process, free_ports, platform_folder

BUILD_TIMEOUT = 1_800
START_TIMEOUT = 60


class S3Process:
    """One server. Its objects survive kill and start, not `close()`.

    Attributes:
        endpoint: its URL.
        access_key_id, secret_access_key: those of its only user, who may do all.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="seawall-s3-"))
        (self._port,) = free_ports(1)
        self.endpoint = f"http://127.0.0.1:{self._port}"
        self.access_key_id, self.secret_access_key = secrets.token_hex(8), secrets.token_hex(16)
        self.region = "us-east-1"
        data, users = self._folder / "data", self._folder / "users"
        data.mkdir()
        users.mkdir()
        command: list[str | Path] = [
            platform_folder("store.sh", BUILD_TIMEOUT) / "versitygw",
            f"--port=127.0.0.1:{self._port}",
            f"--region={self.region}",
            f"--iam-dir={users}",
            "--quiet",
            "posix",
            data,
        ]
        keys = {"ROOT_ACCESS_KEY_ID": self.access_key_id, "ROOT_SECRET_ACCESS_KEY": self.secret_access_key}
        self._process = Process("versitygw", command, self._folder, {**FEWER_COLLECTIONS, **keys})
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Starts it and waits until it listens."""
        self._process.start()
        self._process.wait_ready(self._listens, START_TIMEOUT)

    def kill(self) -> None:
        """Ends it by SIGKILL."""
        self._process.kill()

    def pause(self) -> None:
        """Freezes it (SIGSTOP)."""
        self._process.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        self._process.signal(signal.SIGCONT)

    def make_bucket(self, name: str) -> Path:
        """Makes a bucket; the folder in which its objects are."""
        folder = self._folder / "data" / name
        folder.mkdir()
        return folder

    def close(self) -> None:
        """Ends it and removes its objects."""
        self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self._port)) == 0
