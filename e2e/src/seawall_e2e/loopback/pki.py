"""A throw-away certificate authority, by the openssl command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seawall_e2e.commands import run

DAYS = "2"


@dataclass(frozen=True, slots=True)
class Certificate:
    """Files of a certificate and its private key (PKCS#8), both PEM."""

    cert: Path
    key: Path


class CertificateAuthority:
    """Signs certificates in a folder of its own."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._self = Certificate(folder / f"{name}.crt", folder / f"{name}.key")
        _new_key(self._self.key)
        usage = "keyUsage=critical,keyCertSign,digitalSignature"
        subject = f"/CN=loopback-{name}"
        run(
            *("openssl", "req", "-x509", "-new", "-key", self._self.key, "-days", DAYS, "-subj", subject),
            *("-addext", usage, "-out", self._self.cert),
        )

    @property
    def cert(self) -> Path:
        """The CA's own certificate."""
        return self._self.cert

    def issue(self, name: str, subject: str, alt_names: str | None = None, *, days: str = DAYS) -> Certificate:
        """A certificate for servers and clients; without `alt_names` it is good for loopback, with -1 days expired."""
        issued = Certificate(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        request, extensions = self._folder / f"{name}.csr", self._folder / f"{name}.ext"
        _new_key(issued.key)
        run("openssl", "req", "-new", "-key", issued.key, "-subj", subject, "-out", request)
        extensions.write_text(
            "keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n"
            f"subjectAltName={alt_names or 'IP:127.0.0.1,DNS:localhost'}\n"
        )
        run(
            *("openssl", "x509", "-req", "-in", request, "-days", days, "-extfile", extensions),
            *("-CA", self._self.cert, "-CAkey", self._self.key, "-CAcreateserial", "-out", issued.cert),
        )
        return issued


def _new_key(path: Path) -> None:
    run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
    path.chmod(0o600)
