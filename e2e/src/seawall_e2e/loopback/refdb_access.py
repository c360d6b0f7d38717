"""A reference database behind TLS and a user provider: what its servers are given, and what a client shows."""

from __future__ import annotations

import base64
import secrets
from pathlib import Path

from seawall_e2e.loopback.pki import Certificate, CertificateAuthority

USER = "seawall"


class RefDbAccess:
    """A CA, certificates of servers and of one client, and a file of users that the frontend watches.

    Attributes:
        authority: signs all certificates, and those of clients.
        client: what a client shows.
        password: of USER, who may read and write.
    """

    def __init__(self, folder: Path) -> None:
        self.authority = CertificateAuthority(folder)
        self._server = self.authority.issue("server", "/CN=refdb")
        self.client = self.authority.issue("client", "/CN=seawall")
        self._users = folder / "users"
        self.password = self.new_password()

    def new_password(self, mode: str = "rw") -> str:
        """Another password for USER from now on; the one of before is worth nothing."""
        self.password = secrets.token_hex()
        self._users.write_text(f"# name:mode=password\n{USER}:{mode}={self.password}\n")
        return self.password

    def tls_flags(self, address: str, server: Certificate | None = None) -> list[str]:
        """Of a server that listens with TLS at this address, too, and asks for client certificates."""
        shown = server or self._server
        files = f"--tls-cert={shown.cert}", f"--tls-key={shown.key}", f"--tls-client-ca={self.authority.cert}"
        return [f"--https={address}", *files]

    def user_flags(self) -> list[str]:
        """Of a frontend."""
        return [f"--user-provider=watch_file_user_provider:{self._users}"]

    def headers(self) -> dict[str, str]:
        """What USER sends."""
        return {"Authorization": f"Basic {base64.b64encode(f'{USER}:{self.password}'.encode()).decode()}"}

    def secrets(self) -> dict[str, dict[str, str]]:
        """The Secrets that `declared` names; `ca_crt` stands for `ca.crt`."""
        cert, key = self.client.cert.read_text(), self.client.key.read_text()
        return {
            "greptimedb-ca": {"ca_crt": self.authority.cert.read_text()},
            "greptimedb-client": {"tls_crt": cert, "tls_key": key},
            "greptimedb-user": {"username": USER, "password": self.password},
        }

    def declared(self) -> dict[str, object]:
        """Of `spec.dataPlane.greptimedb`."""
        tls = {"caSecretRef": {"name": "greptimedb-ca"}, "clientCertSecretRef": {"name": "greptimedb-client"}}
        return {"tls": tls, "auth": {"credentialsSecretRef": {"name": "greptimedb-user"}}}
