"""A TLS context from PEM texts. Private keys never touch a disk."""

from __future__ import annotations

import os
import ssl

from seawall.domain.dataplane.connection import EtcdConnection, NotReached, PartRefused

CA, CLIENT = "CA certificate (tls.caSecretRef)", "client certificate (tls.clientCertSecretRef)"


def etcd_tls_context(connection: EtcdConnection) -> ssl.SSLContext:
    """Verifies host names, by the given CA or the system's.

    Raises:
        PartRefused: a text is no PEM, or certificate and key do not fit.
    """
    if connection.ca_pem is not None and "-----BEGIN CERTIFICATE" not in connection.ca_pem:
        raise _unreadable(CA, "it is no PEM text")  # an empty text would mean the system's CAs
    try:
        context = ssl.create_default_context(cadata=connection.ca_pem)
    except (ssl.SSLError, ValueError) as error:
        raise _unreadable(CA, _said(error)) from error
    # Python 3.13 wants key identifiers that the certificates of many an etcd lack; Go and OpenSSL's default do not.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if connection.client_cert_pem is not None and connection.client_key_pem is not None:
        _load_client(context, connection.client_cert_pem, connection.client_key_pem)
    return context


def _load_client(context: ssl.SSLContext, cert: str, key: str) -> None:
    """OpenSSL's binding reads files only: these are in memory, and gone when this returns."""
    file = os.memfd_create("client", os.MFD_CLOEXEC)
    try:
        os.write(file, f"{cert}\n{key}\n".encode())
        context.load_cert_chain(f"/proc/self/fd/{file}", password="")  # else an encrypted key would ask the terminal
    except (ssl.SSLError, OSError, ValueError) as error:
        raise _unreadable(CLIENT, _said(error)) from error
    finally:
        os.close(file)


def _said(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return str(reason).replace("_", " ").lower() if reason else str(error)


def _unreadable(what: str, why: str) -> PartRefused:
    return PartRefused(NotReached.TLS_FAILED, f"the {what} of etcd cannot be read ({why}): correct the Secret")
