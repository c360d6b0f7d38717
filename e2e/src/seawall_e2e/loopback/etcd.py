"""An etcd of its own on loopback."""

from __future__ import annotations

import base64
import json
import secrets
import shutil
import signal
import ssl
import tempfile
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.processes import FEWER_COLLECTIONS, Process, answers_ok, binaries_folder, free_ports

START_TIMEOUT = 60
TOKEN_SECONDS = 2
"""For how long a token lives that nobody uses, in an etcd with users."""


@dataclass(frozen=True, slots=True)
class SecureAccess:
    """What a client needs for an etcd with mutual TLS and users: it may do all to keys that begin with `prefix`.

    The client certificate has no common name: with users, the JSON gateway refuses those that have one, as `named_…`.
    """

    ca_pem: str
    client_cert_pem: str
    client_key_pem: str
    named_cert_pem: str
    named_key_pem: str
    username: str
    password: str
    prefix: str
    root_password: str
    trust: ssl.SSLContext


class EtcdProcess:
    """One etcd member. Data survive kill and start, not `close()`. A secure one has mutual TLS and users."""

    def __init__(self, *, secure: bool = False) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="seawall-etcd-"))
        port, peer_port = free_ports(2)
        scheme = "https" if secure else "http"
        self.url, peer = f"{scheme}://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
        self._access: SecureAccess | None = None
        command: list[str | Path] = [
            binaries_folder() / "etcd",
            f"--data-dir={self._folder / 'data'}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",  # the data need not outlive the machine
            *(self._secure_flags() if secure else ()),
        ]
        self._process = Process("etcd", command, self._folder, FEWER_COLLECTIONS)
        try:
            self.start()
            if self._access is not None:
                self._make_users(self._access)
        except BaseException:
            self.close()
            raise

    @property
    def access(self) -> SecureAccess:
        """How to get into a secure one."""
        if self._access is None:
            raise ValueError("this etcd is open to everybody")
        return self._access

    def start(self) -> None:
        """Starts it and waits until it answers."""
        self._process.start()
        self._process.wait_ready(self._is_ready, START_TIMEOUT)

    def kill(self) -> None:
        """Ends it by SIGKILL."""
        self._process.kill()

    def pause(self) -> None:
        """Freezes it (SIGSTOP)."""
        self._process.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        self._process.signal(signal.SIGCONT)

    def put(self, key: str, value: str) -> None:
        """Writes a key, as root where there are users."""
        self._call("kv/put", {"key": _base64(key), "value": _base64(value)}, self._token())

    def delete(self, key: str) -> None:
        """Removes a key."""
        self._call("kv/deleterange", {"key": _base64(key)}, self._token())

    def get(self, key: str) -> str | None:
        """A key's value; None when it is not there."""
        pairs = self._call("kv/range", {"key": _base64(key)}, self._token()).get("kvs", ())
        return next((base64.b64decode(pair.get("value", "")).decode() for pair in pairs), None)

    def compact(self) -> None:
        """Forgets all older revisions."""
        revision = self._call("kv/range", {"key": _base64("x")}, self._token())["header"]["revision"]
        self._call("kv/compaction", {"revision": revision, "physical": True}, self._token())

    def add_user(self, name: str) -> None:
        """Adds a user: the tokens that were given before are void then."""
        self._call("auth/user/add", {"name": name, "password": secrets.token_hex()}, self._token())

    def close(self) -> None:
        """Ends it and removes its data."""
        self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_ready(self) -> bool:
        return answers_ok(f"{self.url}/health", self._trust)

    @property
    def _trust(self) -> ssl.SSLContext | None:
        return self._access.trust if self._access is not None else None

    def _secure_flags(self) -> list[str]:
        authority = CertificateAuthority(self._folder)
        server, client = authority.issue("server", "/CN=etcd"), authority.issue("client", "/O=wal")
        named = authority.issue("named", "/CN=wal")
        trust = ssl.create_default_context(cafile=authority.cert)
        trust.load_cert_chain(client.cert, client.key)
        self._access = SecureAccess(
            ca_pem=authority.cert.read_text(),
            client_cert_pem=client.cert.read_text(),
            client_key_pem=client.key.read_text(),
            named_cert_pem=named.cert.read_text(),
            named_key_pem=named.key.read_text(),
            username="seawall",
            password=secrets.token_hex(),
            prefix="greptime/",
            root_password=secrets.token_hex(),
            trust=trust,
        )
        tls = [f"--cert-file={server.cert}", f"--key-file={server.key}", f"--trusted-ca-file={authority.cert}"]
        return [*tls, "--client-cert-auth", f"--auth-token-ttl={TOKEN_SECONDS}", "--bcrypt-cost=4"]

    def _make_users(self, access: SecureAccess) -> None:
        range_end = access.prefix[:-1] + chr(ord(access.prefix[-1]) + 1)
        permission = {"permType": "READWRITE", "key": _base64(access.prefix), "range_end": _base64(range_end)}
        for path, body in (
            ("auth/role/add", {"name": "root"}),
            ("auth/role/add", {"name": "wal"}),
            ("auth/role/grant", {"name": "wal", "perm": permission}),
            ("auth/user/add", {"name": "root", "password": access.root_password}),
            ("auth/user/grant", {"user": "root", "role": "root"}),
            ("auth/user/add", {"name": access.username, "password": access.password}),
            ("auth/user/grant", {"user": access.username, "role": "wal"}),
            ("auth/enable", {}),
        ):
            self._call(path, body)

    def _token(self) -> str | None:
        if self._access is None:
            return None
        body = {"name": "root", "password": self._access.root_password}
        return str(self._call("auth/authenticate", body)["token"])

    def _call(self, path: str, body: Mapping[str, Any], token: str | None = None) -> Any:
        headers = {"Authorization": token} if token else {}
        request = urllib.request.Request(f"{self.url}/v3/{path}", json.dumps(body).encode(), headers)  # noqa: S310 - http
        with urllib.request.urlopen(request, timeout=10, context=self._trust) as answer:  # noqa: S310 - http or https
            return json.load(answer)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
