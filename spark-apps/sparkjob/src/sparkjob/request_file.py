"""The file of a request: its bytes, its digest, and the JSON in it."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

from sparkjob.errors import Refused
from sparkjob.fields import Fields


def read_bytes(path: str) -> bytes:
    """The content of a request file, uncompressed when its name ends in `.gz`.

    Raises:
        Refused: It cannot be read.
    """
    try:
        content = Path(path).read_bytes()
        return gzip.decompress(content) if path.endswith(".gz") else content
    except (OSError, EOFError, zlib.error) as error:
        raise Refused(f"the request {path} cannot be read: {error}") from error


def parse_json(content: bytes) -> Fields:
    """The JSON object of a request.

    Raises:
        Refused: It is none.
    """
    try:
        data: Any = json.loads(content)
    except ValueError as error:
        raise Refused(f"the request is not JSON: {error}") from error
    return Fields.of(data, "request")


def digest_of(content: bytes) -> str:
    """SHA-256 of the uncompressed bytes: by it a verdict names what was asked."""
    return hashlib.sha256(content).hexdigest()


def check_digest(found: str, wanted: str | None) -> None:
    """Refuses a request that is not the one it was started for: it could send the password in the Secret anywhere.

    Raises:
        Refused: its digest is another one.
    """
    if wanted is not None and found != wanted:
        raise Refused(f"the request has digest {found}, and this application was made for {wanted}")
