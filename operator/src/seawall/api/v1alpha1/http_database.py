"""A database that serves the contract of docs/any-database.md over HTTP."""

from __future__ import annotations

from typing import ClassVar

from pydantic import StrictBool

from seawall.api.meta import APIModel, Rule
from seawall.api.v1alpha1.metadata_store import URL
from seawall.api.v1alpha1.secret_refs import ClientCertSecretRef, CredentialsSecretRef, SecretKeyRef


class HTTPDatabaseTLS(APIModel):
    """TLS to the database. PEM material is read from Secrets again at every reconciliation."""

    ca_secret_ref: SecretKeyRef | None = None
    """CA certificates (PEM) that sign the server's certificate; absent means the system's trust store."""
    client_cert_secret_ref: ClientCertSecretRef | None = None
    """Client certificate for mutual TLS; absent means none."""


class HTTPDatabaseAuth(APIModel):
    """Who Seawall is to the database, sent as HTTP Basic authentication."""

    credentials_secret_ref: CredentialsSecretRef
    """Where the user name and password are."""
    insecure: StrictBool = False
    """Allows a password without TLS, which sends it in clear text over the network."""


class HTTPDatabase(APIModel):
    """Any database that keeps its WAL in these topics and serves the contract of docs/any-database.md."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.tls) || self.url.startsWith('https://')",
            "tls needs an https:// URL",
            lambda database: database.tls is None or database.url.startswith("https://"),
        ),
        Rule(
            "!has(self.auth) || self.auth.insecure || self.url.startsWith('https://')",
            "auth without TLS sends the password in clear text: use an https:// URL, or auth.insecure: true",
            lambda database: database.auth is None or database.auth.insecure or database.url.startswith("https://"),
        ),
    )

    url: URL
    """Where the database serves the contract: http://host:port, below which all paths begin with /seawall/v1."""
    tls: HTTPDatabaseTLS | None = None
    """TLS to an https:// URL; absent means the system's trust store."""
    auth: HTTPDatabaseAuth | None = None
    """User name and password; absent means none."""

    @property
    def addresses(self) -> object:
        """Where it is: at another place it may be another database."""
        return self.url, self.tls, self.auth
