"""What a WALCluster's status says of certificates and users of a Kafka that Seawall runs (`status.kafkaSecurity`)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1.managed_security import MOST_USERS


class CertificateStatus(StatusModel):
    """A certificate."""

    secret_name: Annotated[str, Field(max_length=253)]
    """The Secret that it is in."""
    expires: datetime
    """When it ends, or the first of the CAs above it does."""


class KafkaSecurityStatus(StatusModel):
    """Certificates and users of a Kafka that Seawall runs."""

    certificates: Annotated[tuple[CertificateStatus, ...], Field(max_length=2)] = ()
    """The certificates that Seawall reads, as they are in their Secrets now."""
    users: Annotated[tuple[Annotated[str, Field(max_length=64)], ...], Field(max_length=2 * MOST_USERS)] = ()
    """The users to which Seawall gives rights, or gave some and has not taken them back yet."""
