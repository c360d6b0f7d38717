"""A bucket, as a request names it. Keys are in files, and belong into no log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sparkjob.errors import Refused
from sparkjob.fields import Fields


@dataclass(frozen=True, slots=True, repr=False)
class S3:
    """A bucket; without keys the pod's own identity counts. It has no repr: keys belong into no log.

    Attributes:
        path_style: whether the bucket is in the path of the address, not in its host; None: with an endpoint it is,
            and where its name has dots, as no certificate is of such a host.
    """

    bucket: str
    prefix: str
    region: str
    endpoint: str | None = None
    ca_file: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = None
    path_style: bool | None = None

    @property
    def is_path_style(self) -> bool:
        """What that comes to."""
        is_host = self.endpoint is None and "." not in self.bucket
        return not is_host if self.path_style is None else self.path_style


def parse_s3(fields: Fields) -> S3:
    """The `s3` of a request. Keys are read from the files that it names.

    Raises:
        Refused: it is incomplete, or a file cannot be read.
    """
    key_id, secret = (fields.text_or_none(name) for name in ("accessKeyIdFile", "secretAccessKeyFile"))
    if (key_id is None) != (secret is None):
        raise Refused(f"{fields.where} must have both accessKeyIdFile and secretAccessKeyFile, or none of them")
    return S3(
        fields.text("bucket"),
        fields.text_or_none("prefix") or "",
        fields.text("region"),
        fields.text_or_none("endpoint"),
        fields.text_or_none("caFile"),
        None if key_id is None else _read(key_id),
        None if secret is None else _read(secret),
        None if fields.members.get("pathStyle") is None else fields.flag("pathStyle"),
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise Refused(f"{path}, which the request names for the store, cannot be read: {error.strerror}") from None
