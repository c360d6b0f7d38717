"""A TLS context from PEM texts. Private keys never touch a disk."""

from __future__ import annotations

import os
import ssl
from enum import StrEnum

_ADVICE = {
    9: "it is for later: look at the clocks of both sides",
    10: "renew it, where it is served",
    62: "declare a name that it is for, or have one issued for this address",
    64: "declare a name that it is for, or have one issued for this address",
}
"""By OpenSSL's codes (X509_V_ERR_CERT_NOT_YET_VALID, _CERT_HAS_EXPIRED, _HOSTNAME_MISMATCH, _IP_ADDRESS_MISMATCH)."""


class Pem(StrEnum):
    """What a PEM text holds, and where it is declared."""

    CA = "CA certificate (tls.caSecretRef)"
    CLIENT = "client certificate (tls.clientCertSecretRef)"


class UnreadablePem(Exception):  # noqa: N818 - named for what happened
    """A text is no PEM, or certificate and key do not fit."""

    def __init__(self, what: Pem, why: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what = what
        self.why = why


def tls_context(ca_pem: str | None, client_cert_pem: str | None, client_key_pem: str | None) -> ssl.SSLContext:
    """Verifies host names, by the given CA or the system's.

    Raises:
        UnreadablePem: a text makes no sense.
    """
    if ca_pem is not None and "-----BEGIN CERTIFICATE" not in ca_pem:
        raise UnreadablePem(Pem.CA, "it is no PEM text")  # an empty text would mean the system's CAs
    try:
        context = ssl.create_default_context(cadata=ca_pem)
    except (ssl.SSLError, ValueError) as error:
        raise UnreadablePem(Pem.CA, _said(error)) from error
    # Python 3.13 wants key identifiers that many certificates lack; Go and OpenSSL's default do not.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if client_cert_pem is not None and client_key_pem is not None:
        _load_client(context, client_cert_pem, client_key_pem)
    return context


def tls_sentence(error: ssl.SSLError | None, declared: str = "tls") -> str:
    """What is wrong with a handshake, and what to do, as a clause; `declared` is where the spec has the Secrets."""
    if isinstance(error, ssl.SSLCertVerificationError):
        advice = _ADVICE.get(error.verify_code, f"{declared}.caSecretRef must hold the CA that signed it")
        return f"its certificate does not fit ({error.verify_message.rstrip('.')}): {advice}"
    reason = (error.reason if error is not None else "").replace("_", " ").lower()
    if "alert" in reason:
        advice = f"set {declared}.clientCertSecretRef to one that its CA signed and that has not expired"
        return f"it refused our client certificate ({reason}): {advice}"
    return f"the TLS handshake failed ({reason or 'no reason given'}): check that it speaks TLS at this port"


def _load_client(context: ssl.SSLContext, cert: str, key: str) -> None:
    """OpenSSL's binding reads files only: these are in memory, and gone when this returns."""
    file = os.memfd_create("client", os.MFD_CLOEXEC)
    try:
        os.write(file, f"{cert}\n{key}\n".encode())
        context.load_cert_chain(f"/proc/self/fd/{file}", password="")  # else an encrypted key would ask the terminal
    except (ssl.SSLError, OSError, ValueError) as error:
        raise UnreadablePem(Pem.CLIENT, _said(error)) from error
    finally:
        os.close(file)


def _said(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return str(reason).replace("_", " ").lower() if reason else str(error)
