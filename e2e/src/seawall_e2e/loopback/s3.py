"""An S3 server of its own on loopback: versitygw, whose buckets are folders."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import json
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from seawall_e2e.loopback.pki import Certificate
from seawall_e2e.loopback.processes import FEWER_COLLECTIONS, Process, free_ports, platform_folder

BUILD_TIMEOUT = 1_800
START_TIMEOUT = 60
_S3 = "http://s3.amazonaws.com/doc/2006-03-01/"


class S3Process:
    """One server. Its objects survive kill and start, not `close()`.

    Attributes:
        endpoint: its URL.
        access_key_id, secret_access_key: those of the user who may do all.
    """

    def __init__(self, certificate: Certificate | None = None) -> None:
        """With a certificate it speaks TLS; then only `make_bucket` makes something in it, and no users."""
        self._folder = Path(tempfile.mkdtemp(prefix="seawall-s3-"))
        (self._port,) = free_ports(1)
        self.endpoint = f"{'https' if certificate else 'http'}://127.0.0.1:{self._port}"
        self.access_key_id, self.secret_access_key = secrets.token_hex(8), secrets.token_hex(16)
        self.region = "us-east-1"
        data, users = self._folder / "data", self._folder / "users"
        data.mkdir()
        users.mkdir()
        self._program = platform_folder("store.sh", BUILD_TIMEOUT) / "versitygw"
        command: list[str | Path] = [
            self._program,
            f"--port=127.0.0.1:{self._port}",
            f"--region={self.region}",
            f"--iam-dir={users}",
            "--quiet",
            *((f"--cert={certificate.cert}", f"--key={certificate.key}") if certificate else ()),
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
        """Freezes it (SIGSTOP), and waits until each of its threads is: one that runs may answer meanwhile."""
        self._process.signal(signal.SIGSTOP)
        self._process.wait_ready(self._is_frozen, START_TIMEOUT)

    def resume(self) -> None:
        """Lets it go on."""
        self._process.signal(signal.SIGCONT)

    def make_bucket(self, name: str) -> Path:
        """Makes a bucket; the folder in which its objects are."""
        folder = self._folder / "data" / name
        folder.mkdir()
        return folder

    def make_user(self) -> tuple[str, str]:
        """A user who may do nothing before a policy says so; its keys."""
        key, secret = secrets.token_hex(8), secrets.token_hex(16)
        command = [str(self._program), "admin", "--access", self.access_key_id, "--secret", self.secret_access_key]
        command += [
            "--endpoint-url",
            self.endpoint,
            "create-user",
            "--access",
            key,
            "--secret",
            secret,
            "--role",
            "user",
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=START_TIMEOUT)
        return key, secret

    def set_policy(self, bucket: str, policy: Mapping[str, Any]) -> None:
        """Who else may do what with a bucket: PutBucketPolicy.

        Raises:
            urllib.error.HTTPError: the server does not take it.
        """
        self._put(f"/{bucket}", "policy", json.dumps(policy).encode())

    def make_locked_bucket(self, name: str) -> None:
        """Makes a bucket that keeps each object for a day, whoever wants to delete it (Object Lock, COMPLIANCE).

        Raises:
            urllib.error.HTTPError: the server does not take it.
        """
        self._put(f"/{name}", "", b"", {"x-amz-bucket-object-lock-enabled": "true"})
        retention = "<DefaultRetention><Mode>COMPLIANCE</Mode><Days>1</Days></DefaultRetention>"
        rule = f"<ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>{retention}</Rule>"
        body = f'<ObjectLockConfiguration xmlns="{_S3}">{rule}</ObjectLockConfiguration>'.encode()
        md5 = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        self._put(f"/{name}", "object-lock", body, {"content-md5": md5})

    def _put(self, path: str, query: str, body: bytes, more: Mapping[str, str] | None = None) -> None:
        headers = dict(self._signed(path, query, body, more or {}))
        url = f"{self.endpoint}{path}?{query}" if query else f"{self.endpoint}{path}"
        request = urllib.request.Request(url, body, headers, method="PUT")  # noqa: S310 - our own server
        with urllib.request.urlopen(request, timeout=START_TIMEOUT):  # noqa: S310 - as above
            pass

    def _signed(self, path: str, query: str, body: bytes, more: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The headers of a PUT: AWS signature version 4 (docs of Amazon S3, "Signature calculations")."""
        now = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%SZ")
        digest, scope = hashlib.sha256(body).hexdigest(), f"{now[:8]}/{self.region}/s3/aws4_request"
        given = {"host": f"127.0.0.1:{self._port}", "x-amz-content-sha256": digest, "x-amz-date": now, **more}
        headers = dict(sorted(given.items()))
        names = ";".join(headers)
        said = "".join(f"{name}:{value}\n" for name, value in headers.items())
        canonical = f"PUT\n{path}\n{query and f'{query}='}\n{said}\n{names}\n{digest}"
        hashed = hashlib.sha256(canonical.encode()).hexdigest()
        key = f"AWS4{self.secret_access_key}".encode()
        for part in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashed}"):
            key = hmac.digest(key, part.encode(), "sha256")
        yield from headers.items()
        signed = f"Credential={self.access_key_id}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
        yield "authorization", f"AWS4-HMAC-SHA256 {signed}"

    def close(self) -> None:
        """Ends it and removes its objects."""
        self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_frozen(self) -> bool:
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/stat")
        return all(thread.read_text().rpartition(")")[2].split()[0] == "T" for thread in threads)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self._port)) == 0
