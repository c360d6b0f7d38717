"""Who may connect to a Kafka that Seawall runs: certificates of its nodes, and users of its clients."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StrictBool, StrictStr

from seawall.api.meta import APIModel, Name, Rule
from seawall.api.unique import Unique

MOST_USERS = 32


class ClientAuthentication(StrEnum):
    """How clients say who they are, at the port for clients."""

    SCRAM = "Scram"
    """By name and password (SCRAM-SHA-512), over TLS."""
    MUTUAL_TLS = "MutualTLS"
    """By a certificate of the CA that signed those of the nodes."""


class UserAccess(StrEnum):
    """What a user may do with the topics of the pool, and with nothing else."""

    WAL = "WAL"
    """Read and write records, as the database does."""
    READ_ONLY = "ReadOnly"
    """Read records, as the jobs of verifications and backups do."""


class CertificateSecret(APIModel):
    """A certificate in a Secret of the same namespace, as cert-manager writes it: tls.crt, tls.key, ca.crt (PEM)."""

    secret_name: Name
    """Name of the Secret. Seawall reads it, and never writes it."""


class ManagedUser(APIModel):
    """A user of Kafka."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$")]
    """Its name; in a certificate CN=<name>,OU=<namespace>."""
    access: UserAccess
    """What it may do."""
    secret_name: Name
    """The Secret with what its client needs: password (Scram) or tls.crt and tls.key (MutualTLS), and ca.crt. Of it
    Seawall reads the password; the rest is for the client."""


class ManagedSecurity(APIModel):
    """Who may connect."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.insecure ? !has(self.tls) && !has(self.operatorTls) && (!has(self.users) || self.users.size() == 0)"
            " : has(self.tls) && has(self.operatorTls)",
            "security has tls and operatorTls, or insecure: true and nothing else: no Kafka is secured by half",
            lambda security: (
                (security.tls is None and security.operator_tls is None and not security.users)
                if security.insecure
                else (security.tls is not None and security.operator_tls is not None)
            ),
        ),
        Rule(
            "self.insecure || (has(self.users) && self.users.exists(u, u.access == 'WAL'))",
            "security.users has one with access WAL, as which the database writes",
            lambda security: security.insecure or any(user.access is UserAccess.WAL for user in security.users),
        ),
        Rule(
            "!has(self.tls) || !has(self.operatorTls) || self.tls.secretName != self.operatorTls.secretName",
            "operatorTls needs a Secret of its own: who has that of a node is a node",
            lambda security: (
                security.tls is None
                or security.operator_tls is None
                or security.tls.secret_name != security.operator_tls.secret_name
            ),
        ),
        Rule(
            "self.insecure == oldSelf.insecure && self.authentication == oldSelf.authentication",
            "security.insecure and security.authentication are immutable: nodes with either do not understand each"
            " other, nor their clients",
        ),
    )

    tls: CertificateSecret | None = None
    """The certificate of all nodes: its subject is CN=seawall:<walcluster>:node,OU=<namespace>, and it has the names
    of all Services. `seawall kafka certificate` prints what cert-manager needs for it."""
    operator_tls: CertificateSecret | None = None
    """Seawall's own certificate, of the same CA: its subject is CN=seawall:<walcluster>:operator,OU=<namespace>."""
    authentication: ClientAuthentication = ClientAuthentication.SCRAM
    """How clients say who they are, at port 9092. Immutable."""
    users: Annotated[
        tuple[ManagedUser, ...], Field(max_length=MOST_USERS, json_schema_extra={"map_keys": ["name"]}), Unique
    ] = ()
    """Who may do what. One that is taken out loses its rights and its password."""
    insecure: StrictBool = False
    """true: no TLS, no users, no rights: whoever reaches a port may do anything. Immutable."""

    @property
    def database(self) -> ManagedUser | None:
        """As whom the database writes."""
        return next((user for user in self.users if user.access is UserAccess.WAL), None)
