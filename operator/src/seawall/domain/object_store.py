"""A bucket of S3, as values: how it is reached, what hinders that, and how much of it is read at once."""

from __future__ import annotations

from dataclasses import dataclass, field

PAGE = 1_000
"""So many names a list has at most; S3 gives no more in one answer."""
MAX_OBJECT_BYTES = 4 << 20
"""A larger object is not read: it would be in memory, once for each object of the API that looks at it."""


@dataclass(frozen=True, slots=True)
class S3Connection:
    """All that is needed to connect to a bucket. Equal ones may be one connection.

    Attributes:
        prefix: folder in the bucket, without a slash at either end; empty: the bucket itself.
        endpoint: address of the server, as `https://s3.example`; None: that of the region. With one, buckets are paths.
        ca_pem: CA certificates that may have signed the server's certificate, beside those that the system trusts.
        access_key_id, secret_access_key: both or none; without them the pod's own identity counts.
    """

    bucket: str
    prefix: str
    region: str
    endpoint: str | None = None
    ca_pem: str | None = field(default=None, repr=False)
    access_key_id: str | None = field(default=None, repr=False)
    secret_access_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class NoStore:
    """A bucket cannot be asked, and why in one sentence."""

    message: str
