"""What is kept in the binaryData of ConfigMaps and may be large: gzip of JSON, which people can read by `gunzip`.

Deterministic: equal bodies are equal bytes.
"""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from seawall.domain.errors import SeawallError

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
