"""A ConfigMap as a value, and how what may be large is packed into its binaryData.

Deterministic: equal bodies are equal bytes.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from seawall.api.meta import Key
from seawall.domain.errors import SeawallError


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """A ConfigMap's data, the UID of the object that controls it, and the version read (None: not there yet)."""

    key: Key
    data: Mapping[str, str]
    controller_uid: str | None = None
    resource_version: str | None = None
    binary_data: Mapping[str, bytes] = field(default_factory=dict)
    is_immutable: bool = False
    """Whether the API server refuses every later change of its data."""


T = TypeVar("T")


class Damaged(SeawallError):  # noqa: N818 - named for what happened
    """Bytes are not what `pack` made of such a body; the message goes on from the name of what is damaged."""


def plain(body: object) -> bytes:
    """The JSON of a body, as short as it gets."""
    return json.dumps(body, separators=(",", ":")).encode()


def pack(body: object) -> bytes:
    """The bytes to keep."""
    return gzip.compress(plain(body), compresslevel=6, mtime=0)


def unpack(data: bytes, shape: TypeAdapter[T], longest: int) -> T:
    """What `pack` packed.

    Args:
        data: as it was read.
        shape: of the body.
        longest: bytes of JSON; what unpacks to more was not written by us.

    Raises:
        Damaged: it is cut, too long, or of another shape.
    """
    try:
        unpacker = zlib.decompressobj(wbits=31)
        found = unpacker.decompress(data, longest)
        if not unpacker.eof:
            raise Damaged("is cut, or far too long")
        return shape.validate_json(found)
    except (zlib.error, ValidationError) as error:
        raise Damaged(f"is damaged: {str(error).splitlines()[0]}") from error
