"""What the status of every kind of object has."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seawall.api.meta import Condition, StatusModel

Conditions = Annotated[tuple[Condition, ...], Field(max_length=16, json_schema_extra={"map_keys": ["type"]})]


class ObjectStatus(StatusModel):
    """A status with conditions; a kind says which ones."""

    observed_generation: Annotated[int, Field(ge=0)] = 0
    """The metadata.generation that this status was computed from."""
    conditions: Conditions = ()
    """Ready, Reconciling and Stalled (kstatus)."""
