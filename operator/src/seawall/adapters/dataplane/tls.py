"""The TLS context of connections to etcd."""

from __future__ import annotations

import ssl

from seawall.adapters.tls import UnreadablePem, tls_context
from seawall.domain.dataplane.connection import EtcdConnection, NotReached, PartRefused


def etcd_tls_context(connection: EtcdConnection) -> ssl.SSLContext:
    """Verifies host names, by the given CA or the system's.

    Raises:
        PartRefused: a text is no PEM, or certificate and key do not fit.
    """
    try:
        return tls_context(connection.ca_pem, connection.client_cert_pem, connection.client_key_pem)
    except UnreadablePem as pem:
        sentence = f"the {pem.what} of etcd cannot be read ({pem.why}): correct the Secret"
        raise PartRefused(NotReached.TLS_FAILED, sentence) from pem
