"""References to Secrets in the same namespace. The operator may `get` those that the chart's `secrets.names` lists."""

from __future__ import annotations

from seawall.api.meta import APIModel, DataKey, Name


class SecretKeyRef(APIModel):
    """One key of a Secret in the same namespace."""

    name: Name
    """Name of the Secret."""
    key: DataKey = "ca.crt"
    """Key in the Secret's data."""


class ClientCertSecretRef(APIModel):
    """A client certificate and its private key in a Secret in the same namespace (type kubernetes.io/tls fits)."""

    name: Name
    """Name of the Secret."""
    cert_key: DataKey = "tls.crt"
    """Key of the PEM certificate chain."""
    key_key: DataKey = "tls.key"
    """Key of the PEM private key."""


class CredentialsSecretRef(APIModel):
    """A user name and password in a Secret in the same namespace."""

    name: Name
    """Name of the Secret."""
    username_key: DataKey = "username"
    """Key of the user name."""
    password_key: DataKey = "password"  # noqa: S105 - the name of a key, no password
    """Key of the password."""
