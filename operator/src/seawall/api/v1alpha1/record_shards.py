"""Which ConfigMaps of intents and identities there are, as a status says; and what of it outlives a damaged one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

RecordShards = Annotated[tuple[Annotated[int, Field(ge=0, le=15)], ...], Field(max_length=16)]
ALL: RecordShards = tuple(range(16))

_SHARDS: TypeAdapter[tuple[int, ...]] = TypeAdapter(RecordShards)


def read_record_shards(wal: object) -> tuple[int, ...]:
    """Those of `status.wal`, of a status of which some part does not fit.

    What cannot be read is all of them: nobody knows then that one was never there, and it is no first contact.
    """
    if wal is None:
        return ()
    try:
        return _SHARDS.validate_python(wal.get("recordShards", ())) if isinstance(wal, Mapping) else ALL
    except ValidationError:
        return ALL
