"""TLS for pages: each process makes a certificate at its start that nobody has to trust.

Only the API server's proxy comes, and it verifies no pod's certificate (kube-apiserver 1.34.4). So this keeps people's
tokens from whoever listens on the pods' network, and not from whoever can take the pod's place there.
"""

from __future__ import annotations

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from seawall.adapters.times import CERTIFICATE_LIFE

MOST_OF_A_NAME = 64
"""Characters that a common name may have (RFC 5280, ub-common-name)."""


def serving_context(name: str) -> ssl.SSLContext:
    """What a server needs; the private key is on no disk but for the moment in which OpenSSL reads it."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:MOST_OF_A_NAME])])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + CERTIFICATE_LIFE)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory(prefix="seawall-") as folder:
        path = Path(folder) / "pages.pem"
        path.touch(mode=0o600)
        path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
        context.load_cert_chain(path)
    return context
