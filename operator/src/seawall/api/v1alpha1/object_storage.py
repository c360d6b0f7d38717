"""A bucket of S3, or of a server that speaks S3."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seawall.api.meta import APIModel, DataKey, Name
from seawall.api.text import SPACE
from seawall.api.v1alpha1.secret_refs import SecretKeyRef

Bucket = Annotated[str, Field(min_length=3, max_length=63, pattern=r"^[a-z0-9][a-z0-9.-]*[a-z0-9]$")]
"""As S3 names buckets."""
_FOLDER = r"(\.{0,2}[a-zA-Z0-9_=-]|\.{3})[a-zA-Z0-9._=-]*"
"""No `.` and no `..`: no object has such a path."""
Prefix = Annotated[str, Field(max_length=512, pattern=rf"^({_FOLDER}(/{_FOLDER})*)?$")]
"""Folders without a slash at either end."""
Region = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-zA-Z0-9-]+$")]
HttpEndpoint = Annotated[str, Field(max_length=512, pattern=rf"^https?://[^{SPACE}/]+$")]


class AccessKeySecretRef(APIModel):
    """An access key of S3 in a Secret in the same namespace."""

    name: Name
    """Name of the Secret."""
    access_key_id_key: DataKey = "accessKeyId"
    """Key of the access key's id."""
    secret_access_key_key: DataKey = "secretAccessKey"  # noqa: S105 - the name of a key, no password
    """Key of the secret access key."""


class S3Bucket(APIModel):
    """A bucket, and who the job is to it."""

    bucket: Bucket
    """Name of the bucket."""
    prefix: Prefix = ""
    """Folder in it, below which everything is; absent: the bucket itself."""
    region: Region = "us-east-1"
    """Region of the bucket."""
    endpoint: HttpEndpoint | None = None
    """Address of the server, as `https://s3.example`; absent: that of the region. With one, buckets are paths."""
    ca_secret_ref: SecretKeyRef | None = None
    """CA certificates (PEM) that sign the server's certificate; absent: the image's own."""
    credentials_secret_ref: AccessKeySecretRef | None = None
    """The access key, which only pods of the job mount; absent: the identity of the pod."""

    def describe(self) -> str:
        """The place in one word: what a person types to find it."""
        server = "s3:/" if self.endpoint is None else self.endpoint
        return "/".join(part for part in (server, self.bucket, self.prefix) if part)
