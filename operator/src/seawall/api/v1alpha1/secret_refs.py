"""References to Secrets in the same namespace. The operator may `get` those that the chart's `secrets.names` lists."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.alias_generators import to_camel

from seawall.api.meta import APIModel, DataKey, Name, Rule

USERNAME_KEY = "username"


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
    username_key: DataKey = USERNAME_KEY
    """Key of the user name."""
    password_key: DataKey = "password"  # noqa: S105 - the name of a key, no password
    """Key of the password."""


Username = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[!-~]+$")]
"""A user name of printable ASCII characters, without spaces; any other one can be in the Secret."""


def username_rule(username: str, ref: str) -> Rule:
    """A user name beside a reference to a Secret, by the names of the model's fields: one of the two names the user.

    The default of usernameKey cannot be told from the same text in a manifest, so only another key contradicts.
    """
    name, secret = to_camel(username), to_camel(ref)
    return Rule(
        f"!has(self.{name}) || (has(self.{secret}) && self.{secret}.usernameKey == '{USERNAME_KEY}')",
        f"{name} needs {secret} beside it, for the password, and no usernameKey there: the Secret names no user then",
        lambda model: (
            getattr(model, username) is None
            or ((found := getattr(model, ref)) is not None and found.username_key == USERNAME_KEY)
        ),
    )
